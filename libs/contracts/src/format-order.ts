import type { Chain } from '@opentill/domain/chains';
import { confirmedNum, isDeepEnough, type TransferState } from '@opentill/domain/confirmations';
import { formatAmount } from '@opentill/domain/money';
import { inCoin } from '@opentill/domain/order-shares';
import type { NotifyOrder, OrderPrice, OrderStatus, OrderType, TransactionView } from './notify-order.ts';
import { serializeCallbackData, type CallbackValue } from './signing/callback.ts';

/** Amounts in base units. */
export interface OrderToFormat {
  readonly orderId: string;
  readonly uid: string | null;
  readonly orderType: OrderType;
  readonly status: OrderStatus;
  readonly reason: string | null;
  readonly chain: Chain;
  readonly symbol: string;
  /** Canonical form; null for the native coin. */
  readonly contractAddress: string | null;
  readonly decimals: number;
  readonly displayDecimals: number;
  readonly amount: bigint;
  readonly actualAmount: bigint | null;
  /** Absent or null: the order has an amount. `rate` as stored. */
  readonly pricing?: OrderPrice | null;
  /** Absent or null: an order of one coin. Else the number of chosen options, and `actualAmount` is in shares. */
  readonly choices?: number | null;
  /** Absent or null: no payment link opened it. */
  readonly linkId?: string | null;
  /** Null: the transfer needs the tag finalized or safe. */
  readonly confirmationsRequired: number | null;
}

/** Addresses in canonical form. */
export interface TransferToFormat {
  readonly txHash: string;
  readonly fromAddress: string;
  readonly toAddress: string;
  readonly amount: bigint;
  /** Base units of the native coin; null while unknown. */
  readonly networkFee: bigint | null;
  readonly blockHeight: number;
  readonly blockTimeSeconds: number;
  readonly state: TransferState;
  /** Set for a payout, from its receipt. Absent: derived from the depth. */
  readonly status?: TransactionView['status'];
}

export interface TransactionContext {
  readonly headHeight: number;
  readonly nativeDecimals: number;
  readonly formatAddress: (address: string) => string;
  /** Same as formatAddress where a contract is an address (EVM, TRON); the identity for coin types (SUI). */
  readonly formatContract: (contract: string) => string;
}

/** docs/api.md section 4. `transaction` is the order's latest transfer that is not orphaned, or null. */
export function toNotifyOrder(
  order: OrderToFormat,
  transaction: { readonly transfer: TransferToFormat; readonly context: TransactionContext } | null,
): NotifyOrder {
  const amountOf = (value: bigint) => formatAmount(value, order.decimals, order.displayDecimals);
  const { choices = null, amount, actualAmount } = order;
  return {
    orderId: order.orderId,
    uid: order.uid,
    ...(order.linkId === undefined || order.linkId === null ? {} : { linkId: order.linkId }),
    orderType: order.orderType,
    status: order.status,
    reason: order.reason,
    amount: amountOf(amount),
    ...priceMembers(order.pricing ?? null),
    ...(choices !== null && { chain: order.chain, symbol: order.symbol, chosen: choices > 0 }),
    actualAmount: actualAmount === null ? null : amountOf(inCoin(actualAmount, { choices, amount })),
    fee: '0',
    feeRatio: '0',
    transaction:
      transaction === null ? null : toTransactionView(order, transaction.transfer, transaction.context),
  };
}

/** From the columns of an order, which are all null or none. */
export function pricingOf(order: { readonly [K in keyof OrderPrice]: string | null }): OrderPrice | null {
  const { currency, price, rate } = order;
  return currency === null || price === null || rate === null ? null : { currency, price, rate };
}

/** For answers and callbacks; empty for an order with an amount. The rate is without trailing zeros. */
export function priceMembers(pricing: OrderPrice | null): Partial<OrderPrice> {
  if (pricing === null) return {};
  const { currency, price, rate } = pricing;
  return { currency, price, rate: shownRate(rate) };
}

/** Without trailing zeros. */
export function shownRate(rate: string): string {
  return rate.includes('.') ? rate.replace(/\.?0+$/, '') : rate;
}

/** SUCCESS at the order's depth, FAILED when orphaned (only in ORDER_REVERTED), else PENDING. */
export function toTransactionView(
  order: OrderToFormat,
  transfer: TransferToFormat,
  context: TransactionContext,
): TransactionView {
  return {
    chain: order.chain,
    symbol: order.symbol,
    contractAddress: order.contractAddress === null ? null : context.formatContract(order.contractAddress),
    decimals: order.decimals,
    txid: transfer.txHash,
    from: context.formatAddress(transfer.fromAddress),
    to: context.formatAddress(transfer.toAddress),
    amount: formatAmount(transfer.amount, order.decimals, order.displayDecimals),
    blockNum: transfer.blockHeight,
    confirmedNum: confirmedNum(context.headHeight, transfer.blockHeight),
    status: transactionStatus(order, transfer, context.headHeight),
    timestamp: transfer.blockTimeSeconds,
    txGas: transfer.networkFee === null ? null : formatAmount(transfer.networkFee, context.nativeDecimals, 0),
  };
}

function transactionStatus(
  order: OrderToFormat,
  transfer: TransferToFormat,
  headHeight: number,
): TransactionView['status'] {
  if (transfer.status !== undefined) return transfer.status;
  if (transfer.state === 'ORPHANED') return 'FAILED';
  return isDeepEnough(transfer, headHeight, order.confirmationsRequired) ? 'SUCCESS' : 'PENDING';
}

/** Fixed when the notification is written (docs/api.md section 6). @throws GatewayError CALLBACK_DATA_NOT_PORTABLE */
export function notifyOrderText(notifyOrder: NotifyOrder): string {
  return serializeCallbackData(notifyOrderMembers(notifyOrder));
}

export function notifyOrderMembers({ transaction, ...order }: NotifyOrder): Record<string, CallbackValue> {
  return { ...order, transaction: transaction === null ? null : { ...transaction } };
}
