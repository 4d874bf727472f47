import type { BlockHeader } from '@opentill/chain/block';
import type { RangeRead, ReadOptions } from '@opentill/chain/chain-reader';
import type { ChainState, ChainStep } from './chain-state.ts';
import { blockAt, seenBlock } from './chain-state.ts';
import { findAncestor } from './find-ancestor.ts';
import { matchTransfers } from './match-transfers.ts';
import { reconcileBlocks } from './reconcile-blocks.ts';
import type { ScanChange } from './scan-change.ts';
import { notFound } from './scan-change.ts';
import { scanError } from './scan-error.ts';
import type { Scanning } from './scanning.ts';
import { vouchForBranch } from './vouch-for-branch.ts';

/**
 * Reads what the seen cursor has to take in next: the blocks up to the `head` that the node named, at most a range of them, or the new
 * branch after a reorganisation. Undefined when there is nothing new; also when the node merely lags.
 *
 * A branch that ends below the seen block is 'shorter-branch' unless `mayShrink`: a node in the middle of a
 * reorganisation shows such, and following it would take payments back that are about to be there again.
 */
export async function planSeenPass(
  scanning: Scanning,
  state: ChainState,
  head: BlockHeader,
  mayShrink: boolean,
  options: ReadOptions,
): Promise<ScanChange | 'shorter-branch' | undefined> {
  const { network, reader } = scanning;
  const seen = seenBlock(state);
  if (head.height <= seen.height) {
    const known = blockAt(state, head.height);
    if (known === undefined) {
      throw scanError('NODE_FAR_BEHIND', "the node's head is below every stored block", {
        head: head.height,
      });
    }
    if (known.hash === head.hash) return undefined;
    if (head.height < seen.height && !mayShrink) return 'shorter-branch';
    return planReorganisation(scanning, state, head, [head], options);
  }
  const to = Math.min(head.height, seen.height + network.maxBlockRange);
  const range = await reader.readSeen(seen.height + 1, to, options);
  if (reconcileBlocks(state.blocks, range.headers).kind !== 'extends') {
    return planReorganisation(scanning, state, head, range.headers, options);
  }
  return {
    step: { ...follow(head, range), ancestorHeight: seen.height, ...verifiedAsBefore(state) },
    matched: await matchTransfers(scanning, range, { ...options, byOneSource: true }),
    matchedState: 'DETECTED',
    orphanedIds: [],
  };
}

/**
 * The new branch is taken in by the same commit that takes the old one back, at least as high as the old one was:
 * a payment that only moved to another block never looks lost. Throws BRANCH_NOT_VOUCHED where it would replace verified
 * blocks that no second source has let go.
 */
async function planReorganisation(
  scanning: Scanning,
  state: ChainState,
  head: BlockHeader,
  contradicting: readonly BlockHeader[],
  options: ReadOptions,
): Promise<ScanChange> {
  const { network, reader, store } = scanning;
  const seenHeight = seenBlock(state).height;
  const ancestorHeight = await findAncestor(scanning, state, contradicting, options);
  const to = Math.min(head.height, Math.max(seenHeight, ancestorHeight + network.maxBlockRange));
  const range = await reader.readSeen(ancestorHeight + 1, to, options);
  if (range.headers[0]?.parentHash !== blockAt(state, ancestorHeight)?.hash) {
    throw scanError('BRANCHES_DIFFER', 'the chain changed while its new branch was read', { ancestorHeight });
  }
  // What is verified is taken back on no single source's word.
  const first = range.headers[0];
  if (ancestorHeight < state.verifiedHeight && first !== undefined)
    await vouchForBranch(reader, first, options);
  const matched = await matchTransfers(scanning, range, { ...options, byOneSource: true });
  const lost = notFound(await store.liveTransfers(network.chain, ancestorHeight + 1), matched);
  return {
    step: {
      ...follow(head, range),
      ancestorHeight,
      finalizedHeight: state.finalizedHeight,
      verifiedHeight: Math.min(state.verifiedHeight, ancestorHeight),
    },
    matched,
    matchedState: 'DETECTED',
    orphanedIds: lost.map((transfer) => transfer.transferId),
  };
}

/** The head is the last block that was read, when it was read so far: it is linked, what `head()` said may be gone. */
function follow(head: BlockHeader, range: RangeRead): Pick<ChainStep, 'head' | 'newBlocks'> {
  const last = range.headers.at(-1) ?? head;
  return { head: last.height >= head.height ? last : head, newBlocks: range.headers };
}

function verifiedAsBefore(state: ChainState): Pick<ChainStep, 'finalizedHeight' | 'verifiedHeight'> {
  return { finalizedHeight: state.finalizedHeight, verifiedHeight: state.verifiedHeight };
}
