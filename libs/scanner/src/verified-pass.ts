import type { BlockHeader } from '@opentill/chain/block';
import type { RangeRead, ReadOptions } from '@opentill/chain/chain-reader';
import type { RangeProof } from '@opentill/chain/epoch-committee';
import type { ChainState, ChainStep } from './chain-state.ts';
import { blockAt, seenBlock } from './chain-state.ts';
import { findForeign } from './find-foreign.ts';
import { findLanded } from './find-landed.ts';
import type { LandedTransaction } from './landed-transaction.ts';
import type { ForeignTransaction } from './foreign-transaction.ts';
import { readingsIn } from './read-segment.ts';
import { proofOf } from './scan-proof.ts';
import { matchTransfers } from './match-transfers.ts';
import type { LiveTransfer, MatchedTransfer, ScanChange } from './scan-change.ts';
import { notFound } from './scan-change.ts';
import { scanError } from './scan-error.ts';
import type { Scanning } from './scanning.ts';

/**
 * Reads what the verified cursor has to take in next, up to the height given and at most a range of blocks. What was seen and
 * is not in the chain's record is orphaned; what is there and was not seen is recorded.
 */
export async function planVerifiedPass(
  scanning: Scanning,
  state: ChainState,
  {
    verifiedHeight: target,
    finalizedHeight,
  }: { readonly verifiedHeight: number; readonly finalizedHeight: number | null },
  options: ReadOptions,
): Promise<ScanChange> {
  const { network, observe } = scanning;
  const from = state.verifiedHeight + 1;
  const to = Math.min(target, state.verifiedHeight + network.maxBlockRange);
  const { headers, matched, live, foreign, landed, proof } = await readAnew(
    scanning,
    state,
    from,
    to,
    options,
  );
  const refuted = notFound(live, matched);
  if (refuted.length > 0) observe.seenButNotVerified(network.chain, refuted);
  return {
    step: {
      ...standStill(state),
      finalizedHeight,
      verifiedHeight: to,
      corrected: toldOtherwise(state, headers),
    },
    matched,
    matchedState: 'VERIFIED',
    orphanedIds: refuted.map((transfer) => transfer.transferId),
    foreign,
    landed,
    proof: proofOf(state, headers, [proof]),
  };
}

/** Reads a range anew with what is recorded of it, and matches it. Throws BRANCHES_DIFFER. */
export async function readAnew(
  scanning: Scanning,
  state: ChainState,
  from: number,
  to: number,
  options: ReadOptions,
): Promise<{
  readonly headers: readonly BlockHeader[];
  readonly matched: readonly MatchedTransfer[];
  readonly live: readonly LiveTransfer[];
  readonly foreign: readonly ForeignTransaction[];
  readonly landed: readonly LandedTransaction[];
  readonly readings: number;
  readonly proof: RangeProof | undefined;
}> {
  const { network, reader, store } = scanning;
  const live = await store.liveTransfers(network.chain, from, to);
  const range = await reader.readVerified(from, to, live, options);
  checkAgainstStored(state, range);
  const matched = await matchTransfers(scanning, range, options);
  return {
    headers: range.headers,
    matched,
    live,
    foreign: await findForeign(scanning, range),
    landed: await findLanded(scanning, range),
    readings: readingsIn(range),
    proof: range.proof,
  };
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

/**
 * A hash is compared by every source, and what stands beside it was one source's word when the block was seen. Orders expire by the
 * verified block's time, and transactions of SUI end by its epoch: they have to be those of the read that verifies.
 */
export function toldOtherwise(state: ChainState, headers: readonly BlockHeader[]): readonly BlockHeader[] {
  return headers.filter(({ height, timeSeconds, epoch }) => {
    const stored = blockAt(state, height);
    if (stored === undefined) return false;
    return stored.timeSeconds !== timeSeconds || (epoch !== undefined && stored.epoch !== epoch);
  });
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
