import { sql, type RawBuilder } from 'kysely';
import type { OrderStatus } from '@opentill/contracts/notify-order';
import type { Db, Tx } from '@opentill/db/database';
import { rememberHandled, type InboxKey } from '@opentill/db/inbox';
import type { Chain } from '@opentill/domain/chains';
import type { TransferState } from '@opentill/domain/confirmations';
import type { BaseUnits } from '@opentill/domain/money';
import type { TransferBooking, UnmatchedReason } from '@opentill/domain/settle-transfer';
import type { LockedOrder, OrderFacts, TransferRow } from './order-rows.ts';

/** The most orders that one transaction settles. */
export const ORDERS_PER_TRANSACTION = 500;

/** Which collections to settle: a subquery that gives their order_pk. */
export type OrderSelection = RawBuilder<unknown>;

/**
 * The orders whose deposit addresses these transfers went to, whatever their chain and token; and those they were
 * settled for before, because a transaction mined again may pay somebody else.
 */
export function ordersOfTransfers(transferIds: readonly (string | number)[]): OrderSelection {
  return sql`
    select d.order_pk
    from transfer t join deposit_address d on d.family = t.family and d.address = t.to_address
    where t.transfer_id = any(${transferIds}::bigint[])
    union
    select order_pk from transfer_settlement where transfer_id = any(${transferIds}::bigint[])`;
}

/** Orders by their keys. */
export function ordersByKey(orderPks: readonly string[]): OrderSelection {
  return sql`select unnest(${orderPks}::uuid[])`;
}

/**
 * Orders that the chain's progress moves, at most `limit` of each kind.
 * Due: open, and the verified cursor of their chain is past expiry and grace.
 * Deepened: covered, and their transfers have by now the confirmations that they need; most get there together with
 * the verification of their transfers, these are the ones that need more depth than the verified cursor.
 */
export async function findDueOrders(db: Db, limit: number): Promise<readonly string[]> {
  const { rows } = await sql<{ order_pk: string }>`
    (
      select due.order_pk
      from chain_cursor c cross join lateral (
        select o.order_pk from orders o
        where o.chain = c.chain and o.order_type = 'COLLECTION' and o.status in ('INIT', 'PENDING')
          and o.cutoff_at < c.verified_time
        order by o.cutoff_at limit ${limit}
      ) due
      limit ${limit}
    ) union all (
      select o.order_pk
      from orders o join chain_cursor c on c.chain = o.chain
      where o.order_type = 'COLLECTION' and o.status = 'PENDING_CONFIRMATION' and o.confirmations_required is not null
        and o.accepted_amount <= (
          select sum(t.amount) from transfer t
          where t.family = o.family and t.to_address = o.address and t.chain = o.chain and t.state = 'VERIFIED'
            and t.contract_address is not distinct from o.contract_address
            and t.first_block_time <= o.cutoff_at
            and c.seen_height - t.block_height + 1 >= o.confirmations_required
        )
      limit ${limit}
    )`.execute(db);
  return rows.map((row) => row.order_pk);
}

interface LockedRow {
  order_pk: string;
  merchant_id: string;
  order_id: string;
  uid: string | null;
  status: OrderStatus;
  reason: string | null;
  chain: Chain;
  symbol: string;
  contract_address: string | null;
  decimals: number;
  display_decimals: number;
  amount: bigint;
  accepted_amount: BaseUnits;
  detected_amount: BaseUnits;
  actual_amount: BaseUnits | null;
  confirmations_required: number | null;
  cutoff_seconds: number;
  notify_reverted: boolean;
}

export interface LockOptions {
  /** Leaves out the orders that somebody else settles now. */
  readonly skipLocked?: boolean;
  /** The event that this is the handling of: handled before, it selects nothing. */
  readonly handles?: InboxKey;
}

/**
 * Locks the selected collections until the end of the transaction, always in the order of their keys, so that two
 * transactions never wait for one another in a circle.
 */
export async function lockOrders(
  tx: Tx,
  selection: OrderSelection,
  options: LockOptions = {},
): Promise<readonly LockedOrder[]> {
  const { handles } = options;
  const first = handles === undefined ? sql`` : sql`with first as (${rememberHandled(handles)})`;
  const onlyFirst = handles === undefined ? sql`` : sql`and exists (select from first)`;
  const { rows } = await sql<LockedRow>`
    ${first}
    select o.order_pk, o.merchant_id, o.order_id, o.uid, o.status, o.reason, o.chain, o.symbol, o.contract_address,
      o.decimals, o.display_decimals, o.amount, o.accepted_amount, o.detected_amount, o.actual_amount,
      o.confirmations_required, m.notify_reverted,
      floor(extract(epoch from o.cutoff_at))::float8 as cutoff_seconds
    from orders o join merchant m on m.merchant_id = o.merchant_id
    where o.order_type = 'COLLECTION' and o.order_pk in (${selection}) ${onlyFirst}
    order by o.order_pk
    for no key update of o ${options.skipLocked === true ? sql`skip locked` : sql``}`.execute(tx);
  return rows.map((row) => ({
    orderPk: row.order_pk,
    merchantId: row.merchant_id,
    orderId: row.order_id,
    uid: row.uid,
    orderType: 'COLLECTION',
    status: row.status,
    reason: row.reason,
    chain: row.chain,
    symbol: row.symbol,
    contractAddress: row.contract_address,
    decimals: row.decimals,
    displayDecimals: row.display_decimals,
    amount: row.amount,
    acceptedAmount: row.accepted_amount,
    detectedAmount: row.detected_amount,
    actualAmount: row.actual_amount,
    confirmationsRequired: row.confirmations_required,
    cutoffSeconds: row.cutoff_seconds,
    notifyReverted: row.notify_reverted,
  }));
}

interface FactRow {
  order_pk: string;
  seen_height: number | null;
  verified_seconds: number | null;
  last_sequence: number | null;
  /** Null in the one row of an order without transfers; then all that follows is null too. */
  transfer_id: number | null;
  chain: Chain;
  symbol: string;
  contract_address: string | null;
  tx_hash: string;
  from_address: string;
  to_address: string;
  amount: BaseUnits;
  network_fee: bigint | null;
  block_height: number;
  block_seconds: number;
  first_block_seconds: number;
  state: TransferState;
  version: number;
  went_elsewhere: boolean;
  updated_at: Date;
  settled_version: number | null;
  booked_amount: BaseUnits | null;
  booked_symbol: string | null;
  bookings: number | null;
  credited: boolean | null;
  unmatched_reason: UnmatchedReason | null;
  withdrawn: boolean | null;
}

/**
 * The facts of locked orders, by order_pk. One statement, so one snapshot: the scanner commits cursor and transfers
 * together, hence a verified time read here never lacks a transfer of a block up to it, and no paid order expires.
 * A transfer that is still settled for another order is left out until that order has let it go.
 */
export async function loadFacts(
  tx: Tx,
  orders: readonly LockedOrder[],
): Promise<ReadonlyMap<string, OrderFacts>> {
  const { rows } = await sql<FactRow>`
    select o.order_pk, c.seen_height, extract(epoch from c.verified_time)::float8 as verified_seconds,
      (select max(n.sequence) from notification n where n.subject_id = o.order_pk) as last_sequence,
      t.transfer_id, t.chain, t.symbol, t.contract_address, t.tx_hash, t.from_address, t.to_address, t.amount,
      t.network_fee, t.block_height, extract(epoch from t.block_time)::float8 as block_seconds,
      extract(epoch from t.first_block_time)::float8 as first_block_seconds, t.version, t.updated_at,
      t.went_elsewhere, case when t.went_elsewhere then 'ORPHANED' else t.state end as state,
      s.settled_version, s.booked_amount, s.booked_symbol, s.bookings, s.credited, u.reason as unmatched_reason, u.withdrawn
    from orders o
      left join chain_cursor c on c.chain = o.chain
      left join lateral (
        select here.*, false as went_elsewhere
        from transfer here left join transfer_settlement held using (transfer_id)
        where here.family = o.family and here.to_address = o.address and coalesce(held.order_pk, o.order_pk) = o.order_pk
        union all
        select there.*, true
        from transfer_settlement held join transfer there using (transfer_id)
        where held.order_pk = o.order_pk and there.to_address <> o.address
      ) t on true
      left join transfer_settlement s on s.transfer_id = t.transfer_id
      left join unmatched_deposit u on u.transfer_id = t.transfer_id and u.order_pk = o.order_pk
    where o.order_pk = any(${orders.map((order) => order.orderPk)}::uuid[])
    order by o.order_pk, t.block_height, t.transfer_id`.execute(tx);
  const facts = new Map<string, OrderFacts & { readonly transfers: TransferRow[] }>();
  for (const row of rows) {
    const known = facts.get(row.order_pk) ?? {
      headHeight: row.seen_height ?? 0,
      verifiedTimeSeconds: row.verified_seconds ?? 0,
      lastSequence: row.last_sequence ?? 0,
      transfers: [],
    };
    facts.set(row.order_pk, known);
    if (row.transfer_id !== null) known.transfers.push(toTransfer(row, row.transfer_id));
  }
  return facts;
}

function toTransfer(row: FactRow, transferId: number): TransferRow {
  return {
    transferId,
    chain: row.chain,
    symbol: row.symbol,
    contractAddress: row.contract_address,
    txHash: row.tx_hash,
    fromAddress: row.from_address,
    toAddress: row.to_address,
    amount: row.amount,
    networkFee: row.network_fee,
    blockHeight: row.block_height,
    blockTimeSeconds: row.block_seconds,
    firstBlockTimeSeconds: row.first_block_seconds,
    state: row.state,
    version: row.version,
    wentElsewhere: row.went_elsewhere,
    updatedAt: row.updated_at,
    settledVersion: row.settled_version,
    booking: bookingOf(row),
    unmatched:
      row.unmatched_reason === null
        ? null
        : { reason: row.unmatched_reason, withdrawn: row.withdrawn ?? false },
  };
}

function bookingOf(row: FactRow): TransferBooking {
  const { booked_amount: amount, booked_symbol: symbol, bookings, credited } = row;
  const booked = amount === null || symbol === null ? null : { amount, symbol };
  return { booked, bookings: bookings ?? 0, credited: credited ?? false };
}

/** Where a sweep starts: `lookBackMs` before the last one's end, or at the very beginning. */
export function startOfSweep(lastEnd: string | null, lookBackMs: number): SweepPosition {
  const updatedAt = lastEnd === null ? '-infinity' : new Date(Date.parse(lastEnd) - lookBackMs).toISOString();
  return { updatedAt, transferId: 0 };
}

/** The moment at which it is first used, as Postgres understands it. */
export const SWEEP_FROM_NOW: SweepPosition = { updatedAt: 'now', transferId: 0 };

/** How far the sweep over the transfers has come: it goes by (updated_at, transfer_id). */
export interface SweepPosition {
  /** Postgres' own text of a timestamptz, which keeps the microseconds. */
  readonly updatedAt: string;
  readonly transferId: number;
}

export interface SweepPage {
  /** Transfers that changed since they were settled, or were never settled. */
  readonly unsettled: readonly number[];
  /** Where the next page begins; null when this was the last. */
  readonly next: SweepPosition | null;
  /** Time of the database in ISO 8601, for the next sweep's start. */
  readonly now: string;
}

/**
 * Looks at up to `limit` transfers from `from` on. Those changed less than `graceMs` ago are left to their events.
 * One bounded range of an index, so that a sweep over a large table never holds anything up.
 */
export async function findUnsettled(
  db: Db,
  from: SweepPosition,
  limit: number,
  graceMs: number,
): Promise<SweepPage> {
  const { rows } = await sql<{
    unsettled: number[] | null;
    seen: number;
    last_updated_at: string | null;
    last_id: number | null;
    now: string;
  }>`
    with page as (
      select transfer_id, version, updated_at from transfer
      where updated_at >= ${from.updatedAt}::timestamptz
        and (updated_at, transfer_id) > (${from.updatedAt}::timestamptz, ${from.transferId}::bigint)
        and updated_at <= now() - ${graceMs} * interval '1 millisecond'
      order by updated_at, transfer_id limit ${limit}
    )
    select count(*) as seen, to_char(now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as now,
      array_agg(p.transfer_id order by p.transfer_id)
        filter (where s.settled_version is distinct from p.version) as unsettled,
      (array_agg(p.updated_at::text order by p.updated_at desc, p.transfer_id desc))[1] as last_updated_at,
      (array_agg(p.transfer_id order by p.updated_at desc, p.transfer_id desc))[1] as last_id
    from page p left join transfer_settlement s using (transfer_id)`.execute(db);
  const row = rows[0];
  if (row === undefined) throw new RangeError('an aggregate without a row');
  const full = row.seen === limit && row.last_updated_at !== null && row.last_id !== null;
  return {
    unsettled: row.unsettled ?? [],
    next: full ? { updatedAt: row.last_updated_at ?? '', transferId: row.last_id ?? 0 } : null,
    now: row.now,
  };
}
