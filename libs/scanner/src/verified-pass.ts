import type { RangeRead, ReadOptions } from '@opentill/chain/chain-reader';
import type { ChainState, ChainStep } from './chain-state.ts';
import { blockAt, seenBlock, verifiedTarget } from './chain-state.ts';
import { matchTransfers } from './match-transfers.ts';
import type { LiveTransfer, MatchedTransfer, ScanChange } from './scan-change.ts';
import { notFound } from './scan-change.ts';
import { scanError } from './scan-error.ts';
import type { Scanning } from './scanning.ts';

/**
 * Reads what the verified cursor has to take in next, at most a range of blocks. What was seen and is not in the
 * chain's record is orphaned; what is there and was not seen is recorded. Undefined when nothing is deep enough.
 */
export async function planVerifiedPass(
  scanning: Scanning,
  state: ChainState,
  options: ReadOptions,
): Promise<ScanChange | undefined> {
  const { network, reader, observe } = scanning;
  if (state.verifiedHeight === seenBlock(state).height) return undefined;
  const finalizedHeight =
    network.confirmations === 'finalized'
      ? Math.max(state.finalizedHeight ?? 0, await reader.finalizedHeight(options))
      : null;
  const from = state.verifiedHeight + 1;
  const target = verifiedTarget({ ...state, finalizedHeight }, network.confirmations);
  const to = Math.min(target, state.verifiedHeight + network.maxBlockRange);
  if (to < from) return undefined;
  const { matched, live } = await readAnew(scanning, state, from, to, options);
  const refuted = notFound(live, matched);
  if (refuted.length > 0) observe.seenButNotVerified(network.chain, refuted);
  return {
    step: { ...standStill(state), finalizedHeight, verifiedHeight: to },
    matched,
    matchedState: 'VERIFIED',
    orphanedIds: refuted.map((transfer) => transfer.transferId),
  };
}

/** Reads a range anew with what is recorded of it, and matches it. Throws BRANCHES_DIFFER. */
export async function readAnew(
  scanning: Scanning,
  state: ChainState,
  from: number,
  to: number,
  options: ReadOptions,
): Promise<{ readonly matched: readonly MatchedTransfer[]; readonly live: readonly LiveTransfer[] }> {
  const { network, reader, store } = scanning;
  const live = await store.liveTransfers(network.chain, from, to);
  const range = await reader.readVerified(from, to, live, options);
  checkAgainstStored(state, range);
  return { matched: await matchTransfers(scanning, range, options), live };
}

function checkAgainstStored(state: ChainState, range: RangeRead): void {
  for (const header of range.headers) {
    const stored = blockAt(state, header.height);
    if (stored !== undefined && stored.hash !== header.hash) {
      throw scanError('BRANCHES_DIFFER', 'the verified read sees another block than was seen', {
        height: header.height,
        seen: stored.hash,
        read: header.hash,
      });
    }
  }
}

/** A step that changes nothing. */
export function standStill(state: ChainState): ChainStep {
  return {
    head: state.head,
    finalizedHeight: state.finalizedHeight,
    verifiedHeight: state.verifiedHeight,
    ancestorHeight: seenBlock(state).height,
    newBlocks: [],
  };
}
