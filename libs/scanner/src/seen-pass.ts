import type { BlockHeader } from '@opentill/chain/block';
import type { RangeRead, ReadOptions } from '@opentill/chain/chain-reader';
import { blockAt, seenBlock, unchangedStep, type ChainState, type ChainStep } from './chain-state.ts';
import { confirmBranch, findAncestor } from './find-ancestor.ts';
import { matchTransfers } from './match-transfers.ts';
import { reconcileBlocks } from './reconcile-blocks.ts';
import { notFound, type Changes, type ScanChange } from './scan-change.ts';
import { isScanError, scanError } from './scan-error.ts';
import type { Scanning } from './scanning.ts';

/** Delay before a shorter branch is followed. Most branches grow at once. */
const SHORTER_BRANCH_GRACE_MS = 2_000;

export function createSeenPass(scanning: Scanning) {
  const { network, observe, clock } = scanning;
  let shorterSinceMs: number | undefined;
  let timesHeld = 0;
  return {
    /** Undefined while the head's branch is shorter, or only one source shows it and it replaces verified blocks. */
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
    verified(): void {
      timesHeld = 0;
    },
  };
}

/**
 * Undefined if there is no new block or the node lags. 'shorter-branch' for a branch that ends below the seen block,
 * unless `mayShrink`: a node in the middle of a reorganisation shows such a branch; following it would orphan payments
 * that reappear at once.
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
    step: { ...unchangedStep(state), ...follow(head, range) },
    matched: await matchTransfers(scanning, range, { ...options, byOneSource: true }),
    matchedState: 'DETECTED',
    orphaned: [],
  };
}

/**
 * Replaces the branch in one commit, at least up to the old height, so that a payment that only moved to another block
 * never appears lost. BRANCH_NOT_VOUCHED if it would replace verified blocks and no second source shows the new branch.
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
    throw scanError('BRANCHES_DIFFER', 'the chain changed while the scanner read its new branch', {
      ancestorHeight,
    });
  if (ancestorHeight < state.verifiedHeight && first !== undefined)
    await confirmBranch(reader, first, options);
  const matched = await matchTransfers(scanning, range, { ...options, byOneSource: true });
  return {
    step: {
      ...follow(head, range),
      ancestorHeight,
      // The chain dropped blocks that it had called final.
      finalizedHeight:
        state.finalizedHeight === null ? null : Math.min(state.finalizedHeight, ancestorHeight),
      verifiedHeight: Math.min(state.verifiedHeight, ancestorHeight),
    },
    matched,
    matchedState: 'DETECTED',
    orphaned: notFound(await store.liveTransfers(network.chain, ancestorHeight + 1), matched),
  };
}

function follow(head: BlockHeader, range: RangeRead): Pick<ChainStep, 'head' | 'newBlocks'> {
  const last = range.headers.at(-1) ?? head;
  return { head: last.height >= head.height ? last : head, newBlocks: range.headers };
}
