import { sql, type RawBuilder } from 'kysely';
import { pricingOf } from '@opentill/contracts/format-order';
import type { OrderStatus } from '@opentill/contracts/notify-order';
import type { Tx } from '@opentill/db/database';
import type { Chain } from '@opentill/domain/chains';
import type { BaseUnits } from '@opentill/domain/money';
import type { LockedOrder, OrderCoin } from './order-rows.ts';

export const ORDERS_PER_TRANSACTION = 500;

export interface OrderSelection {
  /** Subquery that returns order_pk. */
  readonly orderPks: RawBuilder<unknown>;
  /** Other transfers of an order are read only if its status change affects them. */
  readonly transferIds: readonly (string | number)[];
}

/**
 * Includes the orders that the transfers were settled for before: a transaction that is mined again may pay another
 * address.
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

export function ordersByKey(
  orderPks: readonly string[],
  transferIds: readonly number[] = [],
): OrderSelection {
  return { orderPks: sql`select unnest(${orderPks}::uuid[])`, transferIds };
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
  currency: string | null;
  price: string | null;
  rate: string | null;
  choices: number | null;
  /** Null for an order of one coin. Base units are text, because JSON numbers lose precision. */
  options: readonly (Omit<OrderCoin, 'whole'> & { readonly whole: string })[] | null;
  link_id: string | null;
  confirmations_required: number | null;
  cutoff_seconds: number;
  notify_reverted: boolean;
  notify_unmatched: boolean;
  late_callback_at: Date | null;
  late_callback_due_at: Date | null;
  unmatched_callback_at: Date | null;
  unmatched_callback_due_at: Date | null;
  traceparent: string | null;
}

export interface LockOptions {
  readonly skipLocked?: boolean;
}

const OPTIONS = sql`case when o.choices is not null then (
  select jsonb_agg(jsonb_build_object('chain', x.chain, 'symbol', x.symbol, 'contractAddress', x.contract_address,
    'decimals', x.decimals, 'displayDecimals', x.display_decimals, 'confirmationsRequired', x.confirmations_required,
    'whole', x.amount::text) order by x.place)
  from order_option x where x.order_pk = o.order_pk) end`;

function coinsOf(row: LockedRow): readonly OrderCoin[] {
  if (row.options !== null) return row.options.map((option) => ({ ...option, whole: BigInt(option.whole) }));
  const {
    chain,
    symbol,
    contract_address: contractAddress,
    decimals,
    display_decimals: displayDecimals,
  } = row;
  const { confirmations_required: confirmationsRequired } = row;
  return [{ chain, symbol, contractAddress, decimals, displayDecimals, confirmationsRequired, whole: null }];
}

/** Until the end of the transaction, in key order to avoid deadlocks. */
export async function lockOrders(
  tx: Tx,
  selection: OrderSelection,
  options: LockOptions = {},
): Promise<readonly LockedOrder[]> {
  const { rows } = await sql<LockedRow>`
    select o.order_pk, o.merchant_id, o.order_id, o.uid, o.status, o.reason, o.chain, o.symbol, o.contract_address,
      o.decimals, o.display_decimals, o.amount, o.accepted_amount, o.detected_amount, o.actual_amount,
      o.currency, o.price, o.rate, o.choices, ${OPTIONS} as options, o.link_id,
      o.confirmations_required, m.notify_reverted, m.notify_unmatched,
      o.late_callback_at, o.late_callback_due_at, o.unmatched_callback_at, o.unmatched_callback_due_at, o.traceparent,
      floor(extract(epoch from o.cutoff_at))::float8 as cutoff_seconds
    from orders o join merchant m on m.merchant_id = o.merchant_id
    where o.order_type = 'COLLECTION' and o.order_pk in (${selection.orderPks})
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
    pricing: pricingOf(row),
    choices: row.choices,
    coins: coinsOf(row),
    linkId: row.link_id,
    confirmationsRequired: row.confirmations_required,
    cutoffSeconds: row.cutoff_seconds,
    notifyReverted: row.notify_reverted,
    notifyUnmatched: row.notify_unmatched,
    lateCallbackAt: row.late_callback_at,
    owesLateCallback: row.late_callback_due_at !== null,
    unmatchedCallbackAt: row.unmatched_callback_at,
    owesUnmatchedCallback: row.unmatched_callback_due_at !== null,
    traceparent: row.traceparent,
  }));
}
