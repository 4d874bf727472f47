import { sql } from 'kysely';
import type { Db } from '@opentill/db/database';

/**
 * Their order does not yet reflect the signer's row. Reads a small index of open payouts. Excludes payouts with a
 * pending or made decision, because they do not expire (expire_payouts).
 */
export async function findDuePayouts(db: Db, limit: number): Promise<readonly string[]> {
  const { rows } = await sql<{ order_pk: string }>`
    select o.order_pk from orders o join payout p using (order_pk)
    where o.order_type = 'PAYOUT' and o.status in ('INIT', 'PENDING')
      and (o.status = 'INIT' and p.first_sent_at is not null or p.state in ('REFUSED', 'EXPIRED')
        or p.state in ('REQUESTED', 'AUTHORISED') and p.waiting_since is null and clock_timestamp() >= p.expires_at
          and not (p.state = 'AUTHORISED'
            and (p.obstacle is not distinct from 'NEEDS_DECISION' or attempt_is_decided(p.order_pk))))
    limit ${limit}`.execute(db);
  return rows.map((row) => row.order_pk);
}

export interface FatePosition {
  /** Postgres text of a timestamptz, which keeps microseconds. */
  readonly updatedAt: string;
  readonly chain: string;
  readonly txHash: string;
}

export interface UnsettledFate extends FatePosition {
  readonly orderPk: string | null;
  readonly isSettled: boolean;
  readonly now: string;
}

/** Outcomes changed less than `graceMs` ago are left to their events. */
export async function readFates(
  db: Db,
  from: FatePosition,
  { pageSize, graceMs }: { readonly pageSize: number; readonly graceMs: number },
): Promise<{ readonly fates: readonly UnsettledFate[]; readonly now: string }> {
  const { rows } = await sql<UnsettledFate>`
    with page as (
      select chain, tx_hash, version, updated_at from own_transaction_fate
      where updated_at >= ${from.updatedAt}::timestamptz
        and (updated_at, chain, tx_hash) > (${from.updatedAt}::timestamptz, ${from.chain}, ${from.txHash})
        and updated_at <= now() - ${graceMs} * interval '1 millisecond'
      order by updated_at, chain, tx_hash limit ${pageSize}
    )
    select f.chain, f.tx_hash as "txHash", f.updated_at::text as "updatedAt", t.order_pk as "orderPk",
      coalesce(s.settled_version = f.version, false) as "isSettled",
      to_char(now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as now
    from page f join own_transaction t on t.chain = f.chain and t.tx_hash = f.tx_hash
      left join own_transaction_settlement s on s.chain = f.chain and s.tx_hash = f.tx_hash
    order by f.updated_at, f.chain, f.tx_hash`.execute(db);
  if (rows[0] !== undefined) return { fates: rows, now: rows[0].now };
  const clock = await sql<{ now: string }>`
    select to_char(now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as now`.execute(db);
  return { fates: [], now: clock.rows[0]?.now ?? '' };
}
