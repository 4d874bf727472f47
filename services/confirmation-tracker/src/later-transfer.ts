import type { TransferRow } from './store/order-rows.ts';

/** Returns the later transfer: by height on one chain, else by block time. */
export function later(a: TransferRow | undefined, b: TransferRow): TransferRow {
  if (a === undefined) return b;
  const difference =
    a.chain === b.chain ? a.blockHeight - b.blockHeight : a.blockTimeSeconds - b.blockTimeSeconds;
  return (difference || a.transferId - b.transferId) > 0 ? a : b;
}
