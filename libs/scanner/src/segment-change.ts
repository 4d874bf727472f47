import type { BlockHeader } from '@opentill/chain/block';
import type { RangeProof } from '@opentill/chain/epoch-committee';
import { blockAt, seenBlock, verifiedBlock, type ChainState, type HeadBlock } from './chain-state.ts';
import type { SegmentRead } from './read-segment.ts';
import { notFound, type ScanChange } from './scan-change.ts';
import type { ScanNetwork } from './scan-network.ts';

/** How far to read, as it was known at the beginning. What is mined meanwhile is left to the next round. */
export interface ScanGoal {
  /** The newest block; read as far as `seenHeight`. */
  readonly head: HeadBlock;
  /** How far to see: the head, or where the chain is seen already. */
  readonly seenHeight: number;
  /** How far to verify; the cursor as it is where nothing is deep enough. */
  readonly verifiedHeight: number;
  /** Null where depth decides, and while it cannot be told. */
  readonly finalizedHeight: number | null;
  readonly isFinalityStale: boolean;
}

/**
 * The change of segments of one kind that follow one another. Transfers that were seen and are not in the verified blocks are
 * orphaned; those that are there and were not seen are recorded.
 */
export function changeOf(
  network: Pick<ScanNetwork, 'confirmations'>,
  state: ChainState,
  goal: ScanGoal,
  reads: readonly SegmentRead[],
): ScanChange {
  const seenHeight = seenBlock(state).height;
  const isVerified = reads[0]?.kind === 'verified';
  const headers = reads.flatMap((read) => read.headers);
  const matched = reads.flatMap((read) => read.matched);
  const last = headers.at(-1) ?? seenBlock(state);
  const seenAfter = Math.max(seenHeight, last.height);
  const proofs = reads.map((read) => read.proof);
  return {
    step: {
      // The head is the block that was read, when it was read so far; what the node said before may be gone.
      head:
        [goal.head, state.head].find((head) => head.height > seenAfter) ??
        (last.height === seenAfter ? last : state.head),
      finalizedHeight: finalizedAfter(network, state, goal, seenAfter),
      verifiedHeight: isVerified ? last.height : state.verifiedHeight,
      ancestorHeight: seenHeight,
      newBlocks: headers.filter((header) => header.height > seenHeight),
      corrected: isVerified ? headers.filter((header) => isCorrection(state, header)) : [],
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

function finalizedAfter(
  { confirmations }: Pick<ScanNetwork, 'confirmations'>,
  state: ChainState,
  goal: ScanGoal,
  seenAfter: number,
): number | null {
  if (confirmations !== 'finalized') return null;
  if (goal.finalizedHeight === null) return state.finalizedHeight;
  return Math.max(state.finalizedHeight ?? 0, Math.min(goal.finalizedHeight, seenAfter));
}

/**
 * Whether the verified read gives a stored block another time or epoch. All sources compare the hash; the time and the epoch came
 * from one source when the block was seen. Orders expire by the verified time, and transactions of SUI end by the verified epoch.
 */
function isCorrection(state: ChainState, { height, timeSeconds, epoch }: BlockHeader): boolean {
  const stored = blockAt(state, height);
  if (stored === undefined) return false;
  return stored.timeSeconds !== timeSeconds || (epoch !== undefined && stored.epoch !== epoch);
}

/**
 * The proof of the blocks that the verified cursor passes. Undefined unless every segment is proven and each block names the one
 * before it, the first one the block of the cursor.
 */
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
