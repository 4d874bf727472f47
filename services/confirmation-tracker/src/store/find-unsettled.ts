import { sql } from 'kysely';
import type { Db } from '@opentill/db/database';
import type { Chain } from '@opentill/domain/chains';
import type { HotWalletTransfer } from './order-rows.ts';

export interface DueOrderOptions {
  readonly verifiedDepths: ReadonlyMap<Chain, number>;
  /** @default true */
  readonly everyDepth?: boolean;
  readonly now: Date;
}

/**
 * At most `limit` of each kind:
 * - due: open, and the verified cursors of all chains whose addresses the customer saw are past expiry and grace.
 * - due without an address: never chosen, and the database's time is past expiry and grace.
 * - deep enough: covered, and its transfers have reached their required confirmations. Only orders that need more depth
 * than every verified block has; with `everyDepth` also orders that waited because the network required less depth when
 * they were verified.
 * - deep enough with options: the same; each paid coin has its own depth.
 * - late payments: EXPIRED, with unreported late payments, and the last callback is a minute ago.
 * - unmatched deposits: the same for ORDER_UNMATCHED, in any status.
 */
export async function findDueOrders(
  db: Db,
  limit: number,
  { verifiedDepths, everyDepth = true, now }: DueOrderOptions,
): Promise<readonly string[]> {
  const chains = [...verifiedDepths.keys()];
  const depths = [...verifiedDepths.values()];
  // Checking every order that waits for confirmations each second would be most of the tracker's load.
  const depth = everyDepth ? sql`` : sql`and o.confirmations_required > coalesce(d.depth, 1)`;
  const paidDeeper = everyDepth
    ? sql``
    : sql`and exists (
          select from order_option x join collection_height_sum h on h.order_pk = x.order_pk and h.place = x.place
            left join unnest(${chains}::text[], ${depths}::int8[]) as d (chain, depth) on d.chain = x.chain
          where x.order_pk = o.order_pk and x.confirmations_required > coalesce(d.depth, 1))`;
  const { rows } = await sql<{ order_pk: string }>`
    (
      select due.order_pk
      from chain_cursor c cross join lateral (
        select o.order_pk from orders o
        where o.chain = c.chain and o.order_type = 'COLLECTION' and o.status in ('INIT', 'PENDING')
          and o.cutoff_at < c.verified_time and o.address is not null and (o.choices is null or o.choices = 1 or not exists (
            select from order_option x left join chain_cursor v on v.chain = x.chain
            where x.order_pk = o.order_pk and x.chosen_at is not null and coalesce(v.verified_time <= o.cutoff_at, true)))
        order by o.cutoff_at limit ${limit}
      ) due
      limit ${limit}
    ) union all (
      select o.order_pk
      from orders o join chain_cursor c on c.chain = o.chain join collection_sum s on s.order_pk = o.order_pk
        left join unnest(${chains}::text[], ${depths}::int8[]) as d (chain, depth) on d.chain = o.chain
      where o.order_type = 'COLLECTION' and o.status = 'PENDING_CONFIRMATION' and o.choices is null
        and o.confirmations_required is not null
        ${depth}
        and o.accepted_amount <= s.verified_in_time - coalesce((
          select sum(h.verified_in_time) from collection_height_sum h where h.order_pk = o.order_pk and h.place = 0
            and h.block_height > least(c.seen_height, c.verified_height + coalesce(d.depth, 1) - 1) - o.confirmations_required + 1
        ), 0)
      limit ${limit}
    ) union all (
      select order_pk from orders
      where order_type = 'COLLECTION' and status = 'INIT' and choices = 0 and cutoff_at < now()
      order by cutoff_at limit ${limit}
    ) union all (
      select o.order_pk from orders o join collection_sum s on s.order_pk = o.order_pk
      where o.order_type = 'COLLECTION' and o.status = 'PENDING_CONFIRMATION' and o.choices > 0
        ${paidDeeper}
        and o.accepted_amount <= s.verified_in_time - coalesce((
          select sum(h.verified_in_time)
          from order_option x join collection_height_sum h on h.order_pk = x.order_pk and h.place = x.place
            left join chain_cursor c on c.chain = x.chain
            left join unnest(${chains}::text[], ${depths}::int8[]) as d (chain, depth) on d.chain = x.chain
          where x.order_pk = o.order_pk and h.block_height >
            least(coalesce(c.seen_height, 0), coalesce(c.verified_height, 0) + coalesce(d.depth, 1) - 1) - x.confirmations_required + 1
        ), 0)
      order by o.cutoff_at desc limit ${limit} -- an old order that stays due hides no other
    ) union all (
      select order_pk from orders where late_callback_due_at <= ${now} and status = 'EXPIRED'
      order by late_callback_due_at limit ${limit}
    ) union all (
      select order_pk from orders where unmatched_callback_due_at <= ${now}
      order by unmatched_callback_due_at limit ${limit}
    )`.execute(db);
  return rows.map((row) => row.order_pk);
}

/** `lastEnd` null: the beginning of the table. */
export function startOfSweep(lastEnd: string | null, lookBackMs: number): SweepPosition {
  const updatedAt = lastEnd === null ? '-infinity' : new Date(Date.parse(lastEnd) - lookBackMs).toISOString();
  return { updatedAt, transferId: 0 };
}

/** Postgres resolves 'now' on first use. */
export const SWEEP_FROM_NOW: SweepPosition = { updatedAt: 'now', transferId: 0 };

export interface SweepPosition {
  /** Postgres text of a timestamptz, which keeps microseconds. */
  readonly updatedAt: string;
  readonly transferId: number;
}

export interface SweepPage {
  /** To deposit addresses; new, or changed since they were settled. */
  readonly unsettled: readonly number[];
  /** Includes transfers still booked to a hot wallet. No event settles these. */
  readonly ofHotWallets: readonly HotWalletTransfer[];
  /** null: this was the last page. */
  readonly next: SweepPosition | null;
  /** Database time in ISO 8601, for the start of the next sweep. */
  readonly now: string;
}

/**
 * Transfers changed less than `graceMs` ago are left to their events. Reads one bounded index range, so that a large
 * table causes no long query.
 */
export async function findUnsettled(
  db: Db,
  from: SweepPosition,
  limit: number,
  graceMs: number,
): Promise<SweepPage> {
  const { rows } = await sql<{
    unsettled: number[] | null;
    of_hot_wallets: HotWalletTransfer[] | null;
    seen: number;
    last_updated_at: string | null;
    last_id: number | null;
    now: string;
  }>`
    with page as (
      select transfer_id, version, updated_at, family, to_address from transfer
      where updated_at >= ${from.updatedAt}::timestamptz
        and (updated_at, transfer_id) > (${from.updatedAt}::timestamptz, ${from.transferId}::bigint)
        and updated_at <= now() - ${graceMs} * interval '1 millisecond'
      order by updated_at, transfer_id limit ${limit}
    ), open as (
      select p.*, s.order_pk is null and coalesce(s.booked, false) or (
          exists (select from hot_wallet w where w.family = p.family and w.address = p.to_address)
          and not exists (select from deposit_address d where d.family = p.family and d.address = p.to_address)) as is_hot_wallets
      from page p left join transfer_settlement s using (transfer_id)
      where s.settled_version is distinct from p.version
    )
    select count(*) as seen, to_char(now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as now,
      (select array_agg(transfer_id order by transfer_id) from open where not is_hot_wallets) as unsettled,
      (select jsonb_agg(jsonb_build_object('transferId', transfer_id, 'version', version) order by transfer_id)
        from open where is_hot_wallets) as of_hot_wallets,
      (array_agg(p.updated_at::text order by p.updated_at desc, p.transfer_id desc))[1] as last_updated_at,
      (array_agg(p.transfer_id order by p.updated_at desc, p.transfer_id desc))[1] as last_id
    from page p`.execute(db);
  const row = rows[0];
  if (row === undefined) throw new RangeError('the sweep query returned no row');
  const full = row.seen === limit && row.last_updated_at !== null && row.last_id !== null;
  return {
    unsettled: row.unsettled ?? [],
    ofHotWallets: row.of_hot_wallets ?? [],
    next: full ? { updatedAt: row.last_updated_at ?? '', transferId: row.last_id ?? 0 } : null,
    now: row.now,
  };
}

export async function readAnyCursor(db: Db): Promise<void> {
  await sql`select 1 from chain_cursor limit 1`.execute(db);
}
