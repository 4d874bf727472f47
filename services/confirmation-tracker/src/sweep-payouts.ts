import { sql } from 'kysely';
import type { Db } from '@opentill/db/database';
import type { Chain } from '@opentill/domain/chains';
import { settleCancels, settlePayoutKeys } from './handlers/settle-payout-event.ts';
import type { HandlerDeps } from './handlers/settle-event.ts';
import { ORDERS_PER_TRANSACTION } from './store.ts';

/**
 * Payouts of which the order does not say yet what the signer's row says: time up, refused, sent. The open ones of an index,
 * which are few. What waits for a decision, or has one, does not expire (expire_payouts), and takes no place here.
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

/**
 * Settles payouts that the clock, or the signer, moved and no event told of.
 * @returns 'again' when there may be more
 */
export async function sweepDuePayouts(deps: HandlerDeps): Promise<void | 'again'> {
  const orderPks = await findDuePayouts(deps.db, ORDERS_PER_TRANSACTION);
  if (orderPks.length === 0) return undefined;
  const settled = await settlePayoutKeys(deps, orderPks);
  return settled > 0 && orderPks.length >= ORDERS_PER_TRANSACTION ? 'again' : undefined;
}

interface FatePosition {
  /** Postgres' own text of a timestamptz, which keeps the microseconds. */
  readonly updatedAt: string;
  readonly chain: string;
  readonly txHash: string;
}

interface UnsettledFate extends FatePosition {
  readonly orderPk: string | null;
  readonly isSettled: boolean;
  readonly now: string;
}

export interface FateSweepOptions {
  /** Fates looked at per query. */
  readonly pageSize: number;
  /** Fates changed less than this ago are left to their events. */
  readonly graceMs: number;
  /** How far each sweep goes back behind the last one: longer than any transaction of a scanner may take. */
  readonly lookBackMs: number;
  readonly from: 'beginning' | 'now';
}

/**
 * Makes the sweep that finds fates whose event never came, as createTransferSweep does with transfers: page by page over what
 * changed since the last sweep began, less the look-back.
 */
export function createFateSweep(
  deps: HandlerDeps,
  options: FateSweepOptions,
): (signal: AbortSignal) => Promise<void | 'again'> {
  const start = (updatedAt: string): FatePosition => ({ updatedAt, chain: '', txHash: '' });
  let position = start(options.from === 'now' ? 'now' : '-infinity');
  let begunAt: string | undefined;
  let found = 0;

  return async (signal) => {
    const page = await readFates(deps.db, position, options);
    begunAt ??= page.now;
    const unsettled = page.fates.filter((fate) => !fate.isSettled);
    await settleFates(deps, unsettled);
    found += unsettled.length;
    const last = page.fates.at(-1);
    if (page.fates.length === options.pageSize && last !== undefined) {
      position = last;
      return signal.aborted ? undefined : 'again';
    }
    position = start(new Date(Date.parse(begunAt) - options.lookBackMs).toISOString());
    begunAt = undefined;
    deps.observe.fatesSwept(found);
    found = 0;
    return undefined;
  };
}

async function readFates(
  db: Db,
  from: FatePosition,
  { pageSize, graceMs }: FateSweepOptions,
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

async function settleFates(deps: HandlerDeps, fates: readonly UnsettledFate[]): Promise<void> {
  const orderPks = fates.flatMap(({ orderPk }) => (orderPk === null ? [] : [orderPk]));
  if (orderPks.length > 0) await settlePayoutKeys(deps, [...new Set(orderPks)]);
  const cancels = fates.filter(({ orderPk }) => orderPk === null);
  for (const chain of new Set(cancels.map((fate) => fate.chain as Chain))) {
    const txHashes = cancels.filter((fate) => fate.chain === chain).map((fate) => fate.txHash);
    await deps.db.transaction().execute((tx) => settleCancels(tx, deps, chain, txHashes));
  }
}
