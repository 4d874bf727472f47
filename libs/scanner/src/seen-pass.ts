import type { BlockHeader } from '@opentill/chain/block';
import type { RangeRead, ReadOptions } from '@opentill/chain/chain-reader';
import { blockAt, seenBlock, standStill, type ChainState, type ChainStep } from './chain-state.ts';
import { confirmBranch, findAncestor } from './find-ancestor.ts';
import { matchTransfers } from './match-transfers.ts';
import { reconcileBlocks } from './reconcile-blocks.ts';
import { notFound, type Changes, type ScanChange } from './scan-change.ts';
import { isScanError, scanError } from './scan-error.ts';
import type { Scanning } from './scanning.ts';

/** How long a shorter branch must stay before it is followed: it may be the chain's, though most grow at once. */
const SHORTER_BRANCH_GRACE_MS = 2_000;

/** Follows the head of one chain with the seen cursor. */
export function createSeenPass(scanning: Scanning) {
  const { network, observe, clock } = scanning;
  let shorterSinceMs: number | undefined;
  let timesHeld = 0;
  return {
    /**
     * Reads up to `head`. Gives undefined, without a change, when the head's branch is not believed yet: it is shorter, or only one
     * source shows it and it would take verified blocks back.
     */
    async *run(before: ChainState, head: BlockHeader, options: ReadOptions): Changes<ChainState | undefined> {
      const nowMs = clock.now().getTime();
      const mayShrink = shorterSinceMs !== undefined && nowMs - shorterSinceMs >= SHORTER_BRANCH_GRACE_MS;
      const change = await planSeen(scanning, before, head, mayShrink, options).catch((error: unknown) => {
        if (!isScanError(error, 'BRANCH_NOT_VOUCHED')) throw error;
        timesHeld += 1;
        observe.failed(network.chain, 'branch', error, timesHeld);
        return 'held' as const;
      });
      shorterSinceMs = change === 'shorter-branch' ? (shorterSinceMs ?? nowMs) : undefined;
      if (change === 'shorter-branch' || change === 'held') return undefined;
      return change === undefined ? before : yield change;
    },
    /** The verified cursor has moved: a branch that is held back is the first one again. */
    verified(): void {
      timesHeld = 0;
    },
  };
}

/**
 * Plans the blocks that the seen cursor has to take in next: those up to the head, at most a range of them, or the new branch after a
 * reorganisation. Undefined when there is nothing new; also when the node merely lags.
 *
 * A branch that ends below the seen block is 'shorter-branch' unless `mayShrink`. A node in the middle of a reorganisation shows
 * such a branch. Following it would take payments back that are about to be there again.
 */
async function planSeen(
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
    if (known === undefined)
      throw scanError('NODE_FAR_BEHIND', "the node's head is below every stored block", {
        head: head.height,
      });
    if (known.hash === head.hash) return undefined;
    if (head.height < seen.height && !mayShrink) return 'shorter-branch';
    return planReorganisation(scanning, state, head, [head], options);
  }
  const to = Math.min(head.height, seen.height + network.maxBlockRange);
  const range = await reader.readSeen(seen.height + 1, to, options);
  if (reconcileBlocks(state.blocks, range.headers).kind !== 'extends')
    return planReorganisation(scanning, state, head, range.headers, options);
  return {
    step: { ...standStill(state), ...follow(head, range) },
    matched: await matchTransfers(scanning, range, { ...options, byOneSource: true }),
    matchedState: 'DETECTED',
    orphaned: [],
  };
}

/**
 * One commit takes the old branch back and the new one in, at least as high as the old one was: a payment that only moved to another
 * block never looks lost. Throws BRANCH_NOT_VOUCHED where it would replace verified blocks and no second source shows the new branch.
 */
async function planReorganisation(
  scanning: Scanning,
  state: ChainState,
  head: BlockHeader,
  contradicting: readonly BlockHeader[],
  options: ReadOptions,
): Promise<ScanChange> {
  const { network, reader, store } = scanning;
  const ancestorHeight = await findAncestor(scanning, state, contradicting, options);
  const highest = Math.max(seenBlock(state).height, ancestorHeight + network.maxBlockRange);
  const range = await reader.readSeen(ancestorHeight + 1, Math.min(head.height, highest), options);
  const first = range.headers[0];
  if (first?.parentHash !== blockAt(state, ancestorHeight)?.hash)
    throw scanError('BRANCHES_DIFFER', 'the chain changed while its new branch was read', { ancestorHeight });
  if (ancestorHeight < state.verifiedHeight && first !== undefined)
    await confirmBranch(reader, first, options);
  const matched = await matchTransfers(scanning, range, { ...options, byOneSource: true });
  return {
    step: {
      ...follow(head, range),
      ancestorHeight,
      // The chain dropped blocks that it had called final.
      finalizedHeight: state.finalizedHeight === null ? null : Math.min(state.finalizedHeight, ancestorHeight),
      verifiedHeight: Math.min(state.verifiedHeight, ancestorHeight),
    },
    matched,
    matchedState: 'DETECTED',
    orphaned: notFound(await store.liveTransfers(network.chain, ancestorHeight + 1), matched),
  };
}

/** The head is the last block that was read, when it was read so far: it is linked; the named head may be gone. */
function follow(head: BlockHeader, range: RangeRead): Pick<ChainStep, 'head' | 'newBlocks'> {
  const last = range.headers.at(-1) ?? head;
  return { head: last.height >= head.height ? last : head, newBlocks: range.headers };
}
