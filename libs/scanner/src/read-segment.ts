import type { BlockHeader } from '@opentill/chain/block';
import type { RangeRead, ReadOptions } from '@opentill/chain/chain-reader';
import type { RangeProof } from '@opentill/chain/epoch-committee';
import { seenBlock, type ChainState } from './chain-state.ts';
import { findForeign } from './find-foreign.ts';
import { findLanded } from './find-landed.ts';
import type { LandedTransaction } from './landed-transaction.ts';
import type { ForeignTransaction } from './foreign-transaction.ts';
import { matchTransfers } from './match-transfers.ts';
import type { LiveTransfer, MatchedTransfer } from './scan-change.ts';
import type { Scanning } from './scanning.ts';

/** A part of a long way: blocks to be verified at once, or to be shown alone. */
export interface Segment {
  readonly kind: 'verified' | 'seen';
  readonly from: number;
  readonly to: number;
}

/** What was read of a segment: its blocks, and the little of their transfers that matters here. */
export interface SegmentRead extends Segment {
  readonly headers: readonly BlockHeader[];
  readonly matched: readonly MatchedTransfer[];
  /** What was recorded of it before; only of blocks that are to be verified. */
  readonly live: readonly LiveTransfer[];
  readonly foreign: readonly ForeignTransaction[];
  /** See readingsIn. */
  readonly readings: number;
  readonly landed: readonly LandedTransaction[];
  readonly proof: RangeProof | undefined;
}

/** The way up from a state, in order: what is to be verified, then what is to be seen above it. */
export function* segmentsOf(
  goal: { readonly fromState: ChainState; readonly verifiedHeight: number; readonly seenHeight: number },
  blocks: () => number,
): Generator<Segment, undefined, undefined> {
  const { fromState, verifiedHeight, seenHeight } = goal;
  const ways = [
    { kind: 'verified', from: fromState.verifiedHeight + 1, to: verifiedHeight },
    { kind: 'seen', from: Math.max(seenBlock(fromState).height, verifiedHeight) + 1, to: seenHeight },
  ] as const;
  for (const { kind, from, to } of ways) {
    for (const range of splitRange(from, to, blocks)) yield { kind, ...range };
  }
  return undefined;
}

/** Blocks of one part: what most readers ask of a node at once, and about what is worth a look-up of recipients. */
const SEGMENT_BLOCKS = 20;

/** How many blocks are read as one part, unless fewer are left. */
export function segmentBlocks({ network, reader }: Pick<Scanning, 'network' | 'reader'>): number {
  return Math.min(network.maxBlockRange, reader.blocksPerCall ?? SEGMENT_BLOCKS);
}

/** How many transfers and transactions a range had, ours or not: by them reading takes memory. */
export function readingsIn({ transfers, transactions, actors }: RangeRead): number {
  return transfers.length + (transactions ?? actors?.length ?? 0);
}

/** The ranges of at most so many blocks, as it is when each is begun, that `from` to `to` consists of, ascending; none when it is empty. */
export function* splitRange(
  from: number,
  to: number,
  blocks: () => number,
): Generator<{ readonly from: number; readonly to: number }, undefined, undefined> {
  for (let first = from; first <= to;) {
    const last = Math.min(to, first + blocks() - 1);
    yield { from: first, to: last };
    first = last + 1;
  }
  return undefined;
}

/** Reads a segment by the way of its kind, and what of it is ours. */
export async function readSegment(
  scanning: Scanning,
  state: ChainState,
  segment: Segment,
  options: ReadOptions,
): Promise<SegmentRead> {
  const { network, reader, store } = scanning;
  const { kind, from, to } = segment;
  const isRecorded = kind === 'verified' && from <= seenBlock(state).height;
  const live = isRecorded ? await store.liveTransfers(network.chain, from, to) : [];
  const range =
    kind === 'verified'
      ? await reader.readVerified(from, to, live, options)
      : await reader.readSeen(from, to, options);
  return {
    ...segment,
    headers: range.headers,
    matched: await matchTransfers(scanning, range, { ...options, byOneSource: kind === 'seen' }),
    live,
    foreign: await findForeign(scanning, range),
    readings: readingsIn(range),
    landed: await findLanded(scanning, range),
    proof: range.proof,
  };
}
