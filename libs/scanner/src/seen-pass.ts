import type { BlockHeader } from '@opentill/chain/block';
import type { RangeRead, ReadOptions } from '@opentill/chain/chain-reader';
import { GatewayError } from '@opentill/domain/gateway-error';
import {
  blockAt,
  lastBlockUpTo,
  seenBlock,
  unchangedStep,
  type ChainState,
  type ChainStep,
} from './chain-state.ts';
import { isUnconfirmed } from './depth.ts';
import { confirmBranch, findAncestor } from './find-ancestor.ts';
import { matchTransfers, type Matched } from './match-transfers.ts';
import { checkStored, hashBelow } from './read-segment.ts';
import { notFound, type Changes, type ScanChange } from './scan-change.ts';
import { isHalt, scanError, type ScanErrorCode } from './scan-error.ts';
import type { Scanning } from './scanning.ts';
import { removalAbove } from './segment-change.ts';

/** Delay before a shorter branch is followed. Most branches grow at once. */
const SHORTER_BRANCH_GRACE_MS = 2_000;
/** Delay before a seen block is removed that two sources do not confirm, while the head is below it in a gap. */
const UNKNOWN_BLOCK_GRACE_MS = 30_000;

interface SeenEnd {
  readonly state: ChainState;
  /** The head's branch is shorter, or only one source shows it and it replaces verified blocks. */
  readonly isHeld: boolean;
  /** Why no block could be read. */
  readonly failure?: Error;
}

export function createSeenPass(scanning: Scanning) {
  const { network, observe, clock } = scanning;
  let shorterSinceMs: number | undefined;
  let timesHeld = 0;
  return {
    async *run(before: ChainState, head: BlockHeader, options: ReadOptions): Changes<SeenEnd> {
      const nowMs = clock.now().getTime();
      const shorterMs = shorterSinceMs === undefined ? 0 : nowMs - shorterSinceMs;
      const change = await planSeen(scanning, before, head, shorterMs, options).catch((error: unknown) => {
        if (options.signal?.aborted === true || !(error instanceof GatewayError) || isHalt(error))
          throw error;
        if (error.code !== ('BRANCH_NOT_VOUCHED' satisfies ScanErrorCode)) return error;
        timesHeld += 1;
        observe.failed(network.chain, 'branch', error, timesHeld);
        return 'held' as const;
      });
      const isShorter = change === 'shorter-branch' || change === 'unknown-block';
      shorterSinceMs = isShorter ? (shorterSinceMs ?? nowMs) : undefined;
      if (change instanceof GatewayError) return { state: before, isHeld: false, failure: change };
      if (change === 'shorter-branch' || change === 'held') return { state: before, isHeld: true };
      const isUnchanged = change === undefined || change === 'unknown-block';
      return { state: isUnchanged ? before : yield change, isHeld: false };
    },
    verified(): void {
      timesHeld = 0;
    },
  };
}

/**
 * Undefined if there is no new block or the node lags. 'shorter-branch' for a branch that ends below the seen block,
 * until it persists: a node in the middle of a reorganisation shows such a branch; following it would orphan payments
 * that reappear at once. 'unknown-block' if no block is stored at the height of such a head: most such nodes lag. If it
 * persists, and two sources do not confirm the seen block, one source may have invented that one.
 */
async function planSeen(
  scanning: Scanning,
  state: ChainState,
  head: BlockHeader,
  shorterMs: number,
  options: ReadOptions,
): Promise<ScanChange | 'shorter-branch' | 'unknown-block' | undefined> {
  const { network, reader } = scanning;
  const seen = seenBlock(state);
  if (head.height <= seen.height) {
    const known = blockAt(state, head.height);
    if (known?.hash === head.hash) return undefined;
    const stored = lastBlockUpTo(state, head.height);
    if (stored === undefined)
      throw scanError('NODE_FAR_BEHIND', "the node's head is below every stored block", {
        head: head.height,
      });
    if (head.height < seen.height && shorterMs < SHORTER_BRANCH_GRACE_MS)
      return known === undefined ? 'unknown-block' : 'shorter-branch';
    const change = await planReorganisation(scanning, state, head, options);
    if (change !== undefined || known !== undefined) return change;
    if (shorterMs < UNKNOWN_BLOCK_GRACE_MS || stored.height < state.verifiedHeight) return 'unknown-block';
    return planRemoval(scanning, state, head, stored.height, options);
  }
  const to = Math.min(head.height, seen.height + network.maxBlockRange);
  const range = await reader.readSeen(seen.height + 1, to, { ...options, head, below: seen.hash });
  if (hashBelow(range) !== seen.hash) {
    const change = await planReorganisation(scanning, state, head, options);
    if (change !== undefined) return change;
    throw scanError('BRANCHES_DIFFER', 'the chain changed while the scanner read new blocks', {
      height: seen.height,
    });
  }
  const matched = await matchTransfers(scanning, range, {
    ...options,
    byOneSource: true,
    refutesOtherBlocks: true,
  });
  checkStored(state, matched.headers);
  return {
    step: { ...unchangedStep(state), ...follow(head, range, matched) },
    matched: matched.transfers,
    matchedState: 'DETECTED',
    orphaned: [],
  };
}

/**
 * Replaces the branch in one commit, at least up to the old height, so that a payment that only moved to another block
 * never appears lost. Undefined if all stored blocks are in the chain: the node lags. BRANCH_NOT_VOUCHED if it would
 * replace verified blocks and no second source shows the new branch.
 */
async function planReorganisation(
  scanning: Scanning,
  state: ChainState,
  head: BlockHeader,
  options: ReadOptions,
  seenHeight = seenBlock(state).height,
): Promise<ScanChange | undefined> {
  const { network, reader, store } = scanning;
  const fork = await findAncestor(scanning, state, head, options);
  if (fork === undefined) return undefined;
  const { ancestorHeight, branch } = fork;
  const highest = Math.max(seenHeight, ancestorHeight + network.maxBlockRange);
  const to = Math.min(head.height, highest);
  const range = await reader.readSeen(ancestorHeight + 1, to, { ...options, head, everyBlock: true });
  const replacement = blockAt({ blocks: range.headers }, branch.height);
  if (hashBelow(range) !== blockAt(state, ancestorHeight)?.hash || replacement?.hash !== branch.hash)
    throw scanError('BRANCHES_DIFFER', 'the chain changed while the scanner read its new branch', {
      ancestorHeight,
    });
  if (ancestorHeight < state.verifiedHeight) await confirmBranch(reader, branch, options);
  const matched = await matchTransfers(scanning, range, { ...options, byOneSource: true });
  // Below, no block is known to have left the chain: the verified pass judges its transfers.
  const live = await store.liveTransfers(network.chain, branch.height);
  return {
    step: {
      ...follow(head, range, matched),
      ancestorHeight,
      // The chain dropped blocks that it had called final.
      finalizedHeight:
        state.finalizedHeight === null ? null : Math.min(state.finalizedHeight, ancestorHeight),
      verifiedHeight: Math.min(state.verifiedHeight, ancestorHeight),
    },
    matched: matched.transfers,
    matchedState: 'DETECTED',
    orphaned: notFound(live, matched.transfers),
  };
}

/** Removes stored blocks that two sources do not confirm. */
async function planRemoval(
  { reader }: Scanning,
  state: ChainState,
  head: BlockHeader,
  ancestorHeight: number,
  options: ReadOptions,
): Promise<ScanChange | undefined> {
  try {
    await reader.confirmBlock(seenBlock(state), options);
    return undefined;
  } catch (error) {
    if (!isUnconfirmed(error)) throw error;
  }
  const removal = removalAbove(state, ancestorHeight);
  return { ...removal, step: { ...removal.step, head } };
}

/**
 * For a verified block that two sources replaced, although the seen block is in the chain. Undefined if the source that
 * is asked for headers does not replace it.
 */
export async function planTakingBack(
  scanning: Scanning,
  state: ChainState,
  options: ReadOptions,
): Promise<ScanChange | undefined> {
  const blocks = state.blocks.filter(({ height }) => height <= state.verifiedHeight);
  const head = await scanning.reader.head(options);
  return planReorganisation(scanning, { ...state, blocks }, head, options, seenBlock(state).height);
}

function follow(
  head: BlockHeader,
  range: RangeRead,
  { headers }: Matched,
): Pick<ChainStep, 'head' | 'newBlocks'> {
  const last = range.headers.at(-1) ?? head;
  return { head: last.height >= head.height ? last : head, newBlocks: headers };
}
