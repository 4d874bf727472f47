import type { Chain } from '@opentill/domain/chains';
import type { UnmatchedReason } from '@opentill/domain/settle-transfer';

/** docs/api.md section 3. */
export type OrderStatus = 'INIT' | 'PENDING' | 'PENDING_CONFIRMATION' | 'SUCCESS' | 'EXPIRED' | 'FAILED';
export type OrderType = 'COLLECTION' | 'PAYOUT';

/** docs/api.md section 6. */
export type NotifyType =
  | 'ORDER_PENDING'
  | 'ORDER_PENDING_CONFIRMATION'
  | 'ORDER_SUCCESS'
  | 'ORDER_EXPIRED'
  | 'ORDER_FAILED'
  | 'ORDER_REVERTED'
  | 'ORDER_UNMATCHED'
  | 'COLLECT_PENDING'
  | 'COLLECT_SUCCESS'
  | 'COLLECT_FAILED';

/** `transaction` of the API and the callbacks (docs/api.md section 4). Amounts are decimal strings. */
export interface TransactionView {
  readonly chain: Chain;
  readonly symbol: string;
  /** Null for a native coin. */
  readonly contractAddress: string | null;
  readonly decimals: number;
  readonly txid: string;
  readonly from: string;
  readonly to: string;
  readonly amount: string;
  readonly blockNum: number;
  readonly confirmedNum: number;
  readonly status: 'PENDING' | 'SUCCESS' | 'FAILED';
  /** Unix seconds of the block. */
  readonly timestamp: number;
  /** In the native coin, a decimal string; null while unknown. */
  readonly txGas: string | null;
}

/** Members of an order with a price (docs/api.md section 4). Absent for an order with an amount. */
export interface OrderPrice {
  /** ISO 4217. */
  readonly currency: string;
  /** Decimal string with the minor units of the currency. */
  readonly price: string;
  /** Price of one coin in the currency, before the merchant's markup: a decimal string. */
  readonly rate: string;
}

/** Members of an order with options (docs/api.md section 4). Absent for an order of one coin. */
export interface OrderChoice {
  /** The coin of `amount`. Before the first choice: the first option. */
  readonly chain: Chain;
  readonly symbol: string;
  readonly chosen: boolean;
}

/** `data` of the order callbacks; GET status adds `unmatched` (docs/api.md section 4). */
export interface NotifyOrder extends Partial<OrderPrice>, Partial<OrderChoice> {
  readonly orderId: string;
  readonly uid: string | null;
  /** Absent for an order that no payment link opened. */
  readonly linkId?: string;
  readonly orderType: OrderType;
  readonly status: OrderStatus;
  readonly reason: string | null;
  readonly amount: string;
  readonly actualAmount: string | null;
  readonly fee: '0';
  readonly feeRatio: '0';
  readonly transaction: TransactionView | null;
}

/** A payment that arrived at the order's address and does not count for it (docs/api.md section 4). */
export interface UnmatchedTransfer {
  readonly chain: Chain;
  readonly symbol: string;
  /** Decimal string. */
  readonly amount: string;
  readonly txid: string;
  readonly reason: UnmatchedReason;
}

/** `data` of ORDER_UNMATCHED, newest first. Without explorer pages, because callbacks contain no `/`. */
export interface NotifyUnmatched extends NotifyOrder {
  readonly unmatched: readonly UnmatchedTransfer[];
}
