/** What the chain says of a transfer (table transfer). */
export type TransferState = 'DETECTED' | 'VERIFIED' | 'ORPHANED';

/**
 * Confirmations of a block: 1 for the head itself. 0 while the head is below it, which a reorganisation in progress
 * can show.
 */
export function confirmedNum(headHeight: number, blockHeight: number): number {
  return Math.max(0, headHeight - blockHeight + 1);
}

/**
 * Whether a transfer is deep enough to be credited to an order: verified by the authoritative read, and as many
 * confirmations as the order asks for. `confirmationsRequired` null: the finalized tag decides, which the
 * verified cursor follows.
 */
export function isDeepEnough(
  transfer: { readonly state: TransferState; readonly blockHeight: number },
  headHeight: number,
  confirmationsRequired: number | null,
): boolean {
  if (transfer.state !== 'VERIFIED') return false;
  return (
    confirmationsRequired === null || confirmedNum(headHeight, transfer.blockHeight) >= confirmationsRequired
  );
}
