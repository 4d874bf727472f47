import type { Chain } from '@opentill/domain/chains';

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

/** Answer of GET status and `data` of every order callback (docs/api.md section 4). */
export interface NotifyOrder {
  readonly orderId: string;
  readonly uid: string | null;
  readonly orderType: OrderType;
  readonly status: OrderStatus;
  readonly reason: string | null;
  readonly amount: string;
  readonly actualAmount: string | null;
  readonly fee: '0';
  readonly feeRatio: '0';
  readonly transaction: TransactionView | null;
}
