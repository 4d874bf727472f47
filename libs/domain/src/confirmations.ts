export type TransferState = 'DETECTED' | 'VERIFIED' | 'ORPHANED';

/** 1 for the head itself, 0 while the head is below the block, as during a reorganisation. */
export function confirmedNum(headHeight: number, blockHeight: number): number {
  return Math.max(0, headHeight - blockHeight + 1);
}

/** Decides crediting. Without a number the finalized tag decides, which the verified cursor follows. */
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
