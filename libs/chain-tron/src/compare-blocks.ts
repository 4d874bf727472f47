import type { CandidateTransfer } from '@opentill/chain/transfer';
import type { OwnedTransaction, ReadBlock, TransferWithReceipt } from './read-block.ts';

export function haveDifferentContents(ours: ReadBlock | undefined, theirs: ReadBlock | undefined): boolean {
  if (ours === theirs || ours === undefined || theirs === undefined) return false;
  if (ours.header.hash !== theirs.header.hash) return false;
  return (
    ours.header.timeMs !== theirs.header.timeMs ||
    !sameTransfers(ours.transfers, theirs.transfers) ||
    !sameOwners(ours.owned, theirs.owned)
  );
}

function sameOwners(ours: readonly OwnedTransaction[], theirs: readonly OwnedTransaction[]): boolean {
  return (
    ours.length === theirs.length &&
    ours.every(({ txHash, ownerHex }, place) => {
      const other = theirs[place];
      return other?.txHash === txHash && other?.ownerHex === ownerHex;
    })
  );
}

function sameTransfers(ours: readonly CandidateTransfer[], theirs: readonly CandidateTransfer[]): boolean {
  return (
    ours.length === theirs.length &&
    ours.every((transfer, place) => theirs[place] !== undefined && sameTransfer(transfer, theirs[place]))
  );
}

/** Compares the hex form if both have it: encoding hundreds of addresses as base58 takes time. */
function hasSameSender(
  a: CandidateTransfer | TransferWithReceipt,
  b: CandidateTransfer | TransferWithReceipt,
): boolean {
  return 'fromHex' in a && 'fromHex' in b ? a.fromHex === b.fromHex : a.from === b.from;
}

export function sameTransfer(a: CandidateTransfer, b: CandidateTransfer): boolean {
  return (
    a.txHash === b.txHash &&
    a.blockHash === b.blockHash &&
    a.indexInBlock === b.indexInBlock &&
    a.contract === b.contract &&
    hasSameSender(a, b) &&
    a.to === b.to &&
    a.amountBaseUnits === b.amountBaseUnits
  );
}
