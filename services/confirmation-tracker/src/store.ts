import { sql, type RawBuilder } from 'kysely';
import type { OrderStatus } from '@opentill/contracts/notify-order';
import type { Tx } from '@opentill/db/database';
import { rememberHandled, type InboxKey } from '@opentill/db/inbox';
import type { Chain } from '@opentill/domain/chains';
import type { TransferState } from '@opentill/domain/confirmations';
import type { BaseUnits } from '@opentill/domain/money';
import type { TransferBooking, UnmatchedReason } from '@opentill/domain/settle-transfer';
import type { LockedOrder, OrderFacts, TransferRow } from './order-rows.ts';

/** The most orders that one transaction settles. */
export const ORDERS_PER_TRANSACTION = 500;

/** Which collections to settle. */
export interface OrderSelection {
  /** A subquery that gives their order_pk. */
  readonly orderPks: RawBuilder<unknown>;
  /**
   * The transfers that it is about, of orders that are SUCCESS already: nothing else moves such an order or its other
   * transfers, which anybody can add to without end. Null for all.
   */
  readonly transferIds: readonly (string | number)[] | null;
}

/**
 * The orders whose deposit addresses these transfers went to, whatever their chain and token; and those they were
 * settled for before, because a transaction mined again may pay somebody else.
 */
export function ordersOfTransfers(transferIds: readonly (string | number)[]): OrderSelection {
  const orderPks = sql`
    select d.order_pk
    from transfer t join deposit_address d on d.family = t.family and d.address = t.to_address
    where t.transfer_id = any(${transferIds}::bigint[])
    union
    select order_pk from transfer_settlement where transfer_id = any(${transferIds}::bigint[])`;
  return { orderPks, transferIds };
}

/** Orders by their keys. */
export function ordersByKey(orderPks: readonly string[]): OrderSelection {
  return { orderPks: sql`select unnest(${orderPks}::uuid[])`, transferIds: null };
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
    where o.order_type = 'COLLECTION' and o.order_pk in (${selection.orderPks}) ${onlyFirst}
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
  verified_height: number | null;
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
  transfer_seen_height: number | null;
  refunded: boolean;
  accepted: boolean;
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
 * Of an order that is SUCCESS only the transfers of the selection are read.
 */
export async function loadFacts(
  tx: Tx,
  orders: readonly LockedOrder[],
  { transferIds }: Pick<OrderSelection, 'transferIds'>,
): Promise<ReadonlyMap<string, OrderFacts>> {
  // Each of its own, so that each has its index and those of the other kind of order are not even begun.
  const isOpen = transferIds === null ? sql`true` : sql`o.status <> 'SUCCESS'`;
  const isSettled = transferIds === null ? sql`false` : sql`o.status = 'SUCCESS'`;
  const named = sql`any(${transferIds ?? []}::bigint[])`;
  const isHotWallets = sql`held.order_pk is null and coalesce(held.booked, false)`; // still booked as such, see hot-wallet-deposits.ts
  const here = sql`here.family = o.family and here.to_address = o.address and coalesce(held.order_pk, o.order_pk) = o.order_pk
    and not (${isHotWallets})`;
  const there = sql`held.order_pk = o.order_pk and there.to_address <> o.address`;
  const { rows } = await sql<FactRow>`
    select o.order_pk, c.seen_height, c.verified_height, extract(epoch from c.verified_time)::float8 as verified_seconds,
      (select max(n.sequence) from notification n where n.subject_id = o.order_pk) as last_sequence,
      t.transfer_id, t.chain, t.symbol, t.contract_address, t.tx_hash, t.from_address, t.to_address, t.amount,
      t.network_fee, t.block_height, extract(epoch from t.block_time)::float8 as block_seconds,
      extract(epoch from t.first_block_time)::float8 as first_block_seconds, t.version, t.updated_at,
      t.went_elsewhere, case when t.went_elsewhere then 'ORPHANED' else t.state end as state,
      s.settled_version, s.booked_amount, s.booked_symbol, s.bookings, s.credited, u.reason as unmatched_reason, u.withdrawn,
      (select there.seen_height from chain_cursor there where there.chain = t.chain) as transfer_seen_height,
      u.transfer_id is not null and exists (
        select from movement m where m.transfer_id = t.transfer_id and payout_may_move(m.order_pk)) as refunded,
      u.transfer_id is not null and exists (
        select from order_decision a where a.transfer_id = t.transfer_id and a.outcome = 'DONE'
          and a.transfer_symbol = t.symbol and a.transfer_amount = t.amount) as accepted
    from orders o
      left join chain_cursor c on c.chain = o.chain
      left join lateral (
        select here.*, false as went_elsewhere
        from transfer here left join transfer_settlement held using (transfer_id)
        where ${isOpen} and ${here}
        union all
        select here.*, false
        from transfer here left join transfer_settlement held using (transfer_id)
        where ${isSettled} and here.transfer_id = ${named} and ${here}
        union all
        select there.*, true
        from transfer_settlement held join transfer there using (transfer_id)
        where ${isOpen} and ${there}
        union all
        select there.*, true
        from transfer_settlement held join transfer there using (transfer_id)
        where ${isSettled} and held.transfer_id = ${named} and ${there}
      ) t on true
      left join transfer_settlement s on s.transfer_id = t.transfer_id
      left join unmatched_deposit u on u.transfer_id = t.transfer_id and u.order_pk = o.order_pk
    where o.order_pk = any(${orders.map((order) => order.orderPk)}::uuid[])
    order by o.order_pk, t.block_height, t.transfer_id`.execute(tx);
  const facts = new Map<string, OrderFacts & { readonly transfers: TransferRow[] }>();
  for (const row of rows) {
    const known = facts.get(row.order_pk) ?? {
      seenHeight: row.seen_height ?? 0,
      verifiedHeight: row.verified_height ?? 0,
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
    seenHeight: row.transfer_seen_height ?? 0,
    refunded: row.refunded,
    accepted: row.accepted,
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
