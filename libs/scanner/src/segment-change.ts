import { hasFinalBlocks } from '@opentill/contracts/network-config';
import type { BlockHeader } from '@opentill/chain/block';
import type { RangeProof } from '@opentill/chain/epoch-committee';
import {
  blockAt,
  seenBlock,
  unchangedStep,
  verifiedBlock,
  type ChainState,
  type HeadBlock,
} from './chain-state.ts';
import { surelyFinal, type BlockName } from './depth.ts';
import type { SegmentRead } from './read-segment.ts';
import { notFound, type ScanChange } from './scan-change.ts';
import { scanError, type ScanError } from './scan-error.ts';
import type { ScanNetwork } from './scan-network.ts';

/** Target of catching up, fixed at its start. Blocks mined meanwhile are left to the next round. */
export interface ScanGoal {
  readonly head: HeadBlock;
  /** Head, or the current seen height. */
  readonly seenHeight: number;
  /** The current cursor if no block is deep enough. */
  readonly verifiedHeight: number;
  /** Null if only depth decides, or while finality is unknown. */
  readonly finalizedHeight: number | null;
  readonly isFinalityStale: boolean;
  /**
   * The block that makes `verifiedHeight` deep enough. Two sources named it, and must name it again after a range was
   * read. Absent if finality suffices.
   */
  readonly deepBy?: BlockName | undefined;
}

/**
 * Recorded transfers that the verified blocks lack are orphaned; unrecorded ones are added. Blocks above the verified
 * one come from one source. Those of a verified range are replaced by the blocks on which two sources agree, and
 * those above it are removed if they do not follow it: the seen pass then reads them again. If only its depth makes the
 * range final, it is verified after that: a source on an older branch may have returned it.
 */
export function changeOf(
  network: Pick<ScanNetwork, 'confirmations' | 'finality'>,
  state: ChainState,
  goal: ScanGoal,
  reads: readonly SegmentRead[],
): ScanChange {
  const seenHeight = seenBlock(state).height;
  const isVerified = reads[0]?.kind === 'verified';
  const headers = reads.flatMap((read) => read.headers);
  const matched = reads.flatMap((read) => read.matched);
  const last = headers.at(-1) ?? seenBlock(state);
  const isByDepth = isVerified && last.height > surelyFinal(network, goal);
  if (isByDepth && !headers.every((header) => canBeFollowed(state, header)))
    return removalAbove(state, state.verifiedHeight);
  const isFollowed = !isVerified || canBeFollowed(state, last);
  const seenAfter = isFollowed ? Math.max(seenHeight, last.height) : last.height;
  const proofs = reads.map((read) => read.proof);
  return {
    step: {
      // The last block read is the head once it reaches the named one, which may have left the chain.
      head:
        [goal.head, state.head].find((head) => head.height > seenAfter) ??
        (last.height === seenAfter ? last : state.head),
      finalizedHeight: finalizedAfter(network, state, goal, seenAfter),
      verifiedHeight: isVerified ? last.height : state.verifiedHeight,
      ancestorHeight: isFollowed ? seenHeight : last.height,
      newBlocks: headers.filter((header) => isNews(state, header)),
      dropped: isVerified ? unconfirmed(state, headers) : [],
    },
    matched,
    matchedState: isVerified ? 'VERIFIED' : 'DETECTED',
    orphaned: notFound(
      reads.flatMap((read) => read.live),
      matched,
    ),
    foreign: reads.flatMap((read) => read.foreign),
    landed: reads.flatMap((read) => read.landed),
    proof: isVerified ? proofOf(state, headers, proofs) : undefined,
  };
}

/** Heights of the stored blocks that a range verified by depth must contain. */
export function comparedHeights(
  network: Pick<ScanNetwork, 'finality'>,
  { verifiedHeight, blocks }: Pick<ChainState, 'verifiedHeight' | 'blocks'>,
  goal: ScanGoal,
): readonly number[] {
  if (goal.verifiedHeight <= surelyFinal(network, goal)) return [];
  return blocks.map(({ height }) => height).filter((height) => height > verifiedHeight);
}

/** Removes the stored blocks above the height. Their payments wait for the verified pass. */
export function removalAbove(state: ChainState, ancestorHeight: number): ScanChange {
  const step = { ...unchangedStep(state), ancestorHeight };
  return { step, matched: [], matchedState: 'DETECTED', orphaned: [] };
}

/** For a removal in place of a verified range. Undefined if the range was verified. */
export function contradictionOf(before: ChainState, after: ChainState): ScanError | undefined {
  const { verifiedHeight: height } = after;
  if (height !== before.verifiedHeight) return undefined;
  return scanError('BRANCHES_DIFFER', 'the seen blocks do not follow a verified range; they are read again', {
    height,
  });
}

/** Null for `safe`: after a change of the tag, a stored height would pass for a final one. */
function finalizedAfter(
  network: Pick<ScanNetwork, 'confirmations' | 'finality'>,
  state: ChainState,
  goal: ScanGoal,
  seenAfter: number,
): number | null {
  if (!hasFinalBlocks(network)) return null;
  if (goal.finalizedHeight === null) return state.finalizedHeight;
  return Math.max(state.finalizedHeight ?? 0, Math.min(goal.finalizedHeight, seenAfter));
}

function isNews(state: ChainState, header: BlockHeader): boolean {
  const stored = blockAt(state, header.height);
  return (
    stored?.hash !== header.hash ||
    stored.parentHash !== header.parentHash ||
    stored.timeSeconds !== header.timeSeconds ||
    (header.epoch !== undefined && stored.epoch !== header.epoch)
  );
}

/** False if the stored block at its height, or the parent of the one above, is another block. */
function canBeFollowed(state: ChainState, { height, hash }: BlockHeader): boolean {
  return (
    (blockAt(state, height)?.hash ?? hash) === hash &&
    (blockAt(state, height + 1)?.parentHash ?? hash) === hash
  );
}

/** Heights of stored blocks in a verified range that are not among its headers. */
function unconfirmed(state: ChainState, headers: readonly BlockHeader[]): readonly number[] {
  const heights = new Set(headers.map(({ height }) => height));
  const end = headers.at(-1)?.height ?? 0;
  return state.blocks.flatMap(({ height }) =>
    height > state.verifiedHeight && height <= end && !heights.has(height) ? [height] : [],
  );
}

/** Proof of the blocks that the verified cursor passes. Undefined unless every segment is proven and linked. */
export function proofOf(
  before: ChainState,
  headers: readonly BlockHeader[],
  parts: readonly (RangeProof | undefined)[],
): RangeProof | undefined {
  let below = verifiedBlock(before).hash;
  for (const { hash, parentHash } of headers) {
    if (parentHash !== below) return undefined;
    below = hash;
  }
  const proofs = parts.filter((part) => part !== undefined);
  if (proofs.length < parts.length || proofs.length === 0) return undefined;
  return { epochEnds: proofs.flatMap(({ epochEnds }) => epochEnds) };
}
