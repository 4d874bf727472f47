import type { TransactionView } from './notify-order.ts';

/** `data` of the callbacks of sweeps: received money on its way to cold storage, as far as it is this merchant's. */
export interface NotifyCollect {
  /** A decimal string, in display units of `transaction.symbol`. */
  readonly collectAmount: string;
  /** Always "0": nothing is deducted. */
  readonly fee: '0';
  readonly feeRatio: '0';
  readonly reason: string | null;
  /** Null until it is in a block. */
  readonly transaction: TransactionView | null;
}
