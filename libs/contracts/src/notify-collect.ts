import type { TransactionView } from './notify-order.ts';

/** `data` of a sweep's callbacks: one merchant's part of the money moved to cold storage. */
export interface NotifyCollect {
  /** A decimal string, in display units of `transaction.symbol`. */
  readonly collectAmount: string;
  readonly fee: '0';
  readonly feeRatio: '0';
  readonly reason: string | null;
  /** Null until the transaction is in a block. */
  readonly transaction: TransactionView | null;
}
