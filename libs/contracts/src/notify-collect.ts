import type { TransactionView } from './notify-order.ts';

/** `data` of the callbacks of sweeps: one merchant's part of the money moved to cold storage. */
export interface NotifyCollect {
  /** A decimal string, in display units of `transaction.symbol`. */
  readonly collectAmount: string;
  /** Always "0": no fee is deducted. */
  readonly fee: '0';
  readonly feeRatio: '0';
  readonly reason: string | null;
  /** Null until the transaction is in a block. */
  readonly transaction: TransactionView | null;
}
