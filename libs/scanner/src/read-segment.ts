import type { BlockHeader } from '@opentill/chain/block';
import type { RangeRead, ReadOptions } from '@opentill/chain/chain-reader';
import type { RangeProof } from '@opentill/chain/epoch-committee';
import { blockAt, seenBlock, type ChainState } from './chain-state.ts';
import { findForeign, findLanded } from './find-foreign-transactions.ts';
import { matchTransfers } from './match-transfers.ts';
import { createReadAhead, type ReadingLimit } from './read-ahead.ts';
import type { ForeignTransaction, LandedTransaction, LiveTransfer, MatchedTransfer } from './scan-change.ts';
import { scanError } from './scan-error.ts';
import type { Scanning } from './scanning.ts';

export interface Segment {
  readonly kind: 'verified' | 'seen';
  readonly from: number;
  readonly to: number;
}

export interface SegmentRead extends Segment {
  readonly headers: readonly BlockHeader[];
  readonly matched: readonly MatchedTransfer[];
  /** Recorded transfers in these blocks; empty for 'seen'. */
  readonly live: readonly LiveTransfer[];
  readonly foreign: readonly ForeignTransaction[];
  readonly landed: readonly LandedTransaction[];
  readonly proof: RangeProof | undefined;
  /** All its transfers and transactions: memory use is proportional to it. */
  readonly readings: number;
}

/** Most nodes accept this many blocks per call, and a recipient lookup is efficient at this size. */
const SEGMENT_BLOCKS = 20;

export function segmentBlocks({ network, reader }: Pick<Scanning, 'network' | 'reader'>): number {
  return Math.min(network.maxBlockRange, reader.blocksPerCall ?? SEGMENT_BLOCKS);
}

/** Ascending. `blocks()`, the maximum size, is evaluated for each segment. */
export function* splitRange(
  { kind, from, to }: Segment,
  blocks: () => number,
): Generator<Segment, undefined, undefined> {
  for (let first = from; first <= to;) {
    const last = Math.min(to, first + blocks() - 1);
    yield { kind, from: first, to: last };
    first = last + 1;
  }
  return undefined;
}

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
  checkStored(state, range.headers);
  return {
    ...segment,
    headers: range.headers,
    matched: await matchTransfers(scanning, range, { ...options, byOneSource: kind === 'seen' }),
    live,
    foreign: await findForeign(scanning, range),
    landed: await findLanded(scanning, range),
    proof: range.proof,
    readings: readingsIn(range),
  };
}

function checkStored(state: ChainState, headers: readonly BlockHeader[]): void {
  for (const { height, hash } of headers) {
    const stored = blockAt(state, height);
    if (stored === undefined || stored.hash === hash) continue;
    const context = { height, stored: stored.hash, read: hash };
    throw scanError('BRANCHES_DIFFER', 'a source returned another block than the stored one', context);
  }
}

function readingsIn({ transfers, transactions, actors }: RangeRead): number {
  return transfers.length + (transactions ?? actors?.length ?? 0);
}

export function readSegmentsAhead(
  scanning: Scanning,
  state: ChainState,
  segments: Iterator<Segment, unknown, undefined>,
  { limit, most, signal }: ReadOptions & { readonly limit: ReadingLimit; readonly most: number },
): ReturnType<typeof createReadAhead<Segment, SegmentRead>> {
  return createReadAhead({
    items: segments,
    read: async (segment, ended) => {
      const read = await readSegment(scanning, state, segment, { signal: ended });
      limit.note(read.readings);
      return read;
    },
    ahead: () => limit.segments(most),
    signal,
  });
}
