import type { BlockHash, BlockHeader } from '@opentill/chain/block';
import type { RangeRead, ReadOptions } from '@opentill/chain/chain-reader';
import type { RangeProof } from '@opentill/chain/epoch-committee';
import { blockAt, isLinked, type ChainState } from './chain-state.ts';
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
  /** Also reads the headers at these heights, if verified. Others than those of the segment are ignored. */
  readonly headersAt?: readonly number[];
}

export interface SegmentRead extends Segment {
  /** Ascending. The last one is that of `to`. If verified, two sources agree on each. */
  readonly headers: readonly BlockHeader[];
  /** Hash of the block below, as the sources name it. */
  readonly below: BlockHash | undefined;
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
  segment: Segment,
  blocks: () => number,
): Generator<Segment, undefined, undefined> {
  for (let first = segment.from; first <= segment.to;) {
    const last = Math.min(segment.to, first + blocks() - 1);
    yield { ...segment, from: first, to: last };
    first = last + 1;
  }
  return undefined;
}

interface SegmentOptions extends ReadOptions {
  /** Begins once the blocks were read, and must succeed. */
  readonly afterBlocks?: (() => Promise<unknown>) | undefined;
}

export async function readSegment(
  scanning: Scanning,
  segment: Segment,
  { afterBlocks, ...options }: SegmentOptions,
): Promise<SegmentRead> {
  const { network, reader, store } = scanning;
  const { kind, from, to } = segment;
  const isVerified = kind === 'verified';
  const [live, recorded] = isVerified
    ? await Promise.all([
        store.liveTransfers(network.chain, from, to),
        store.recordedHeights(network.chain, from, to),
      ])
    : [[], []];
  const range = isVerified
    ? await reader.readVerified(from, to, live, {
        ...options,
        headersAt: [...recorded, ...(segment.headersAt ?? [])],
      })
    : await reader.readSeen(from, to, options);
  const bySource = { byOneSource: !isVerified, refutesOtherBlocks: !isVerified };
  const [matched] = await Promise.all([
    matchTransfers(scanning, range, { ...options, ...bySource }),
    afterBlocks?.(),
  ]);
  const { headers } = matched;
  const below = hashBelow(range);
  const [first] = headers;
  // A commit of blocks that are not linked would halt the chain.
  if (first?.height === from && first.parentHash !== below)
    throw scanError('BRANCHES_DIFFER', 'a block does not follow the one below its range', { height: from });
  return {
    ...segment,
    headers,
    below,
    matched: matched.transfers,
    live,
    foreign: await findForeign(scanning, range),
    landed: await findLanded(scanning, range),
    proof: range.proof,
    readings: readingsIn(range),
  };
}

export function hashBelow({ below, headers }: Pick<RangeRead, 'below' | 'headers'>): BlockHash | undefined {
  return below ?? headers[0]?.parentHash;
}

/**
 * A range must follow the one before it or the stored block below it; otherwise BRANCHES_DIFFER. VERIFIED_BLOCK_LEFT if
 * two sources name another block in place of the verified one.
 */
export function checkContinues(state: ChainState, before: SegmentRead | undefined, read: SegmentRead): void {
  const last = before?.headers.at(-1);
  const below = last?.height === read.from - 1 ? last : blockAt(state, read.from - 1);
  if (below !== undefined && read.below === below.hash) return;
  const context = { height: read.from, below: read.below, stored: below?.hash };
  if (read.kind === 'verified' && below?.height === state.verifiedHeight)
    throw scanError('VERIFIED_BLOCK_LEFT', 'two sources replace the verified block', context);
  throw scanError('BRANCHES_DIFFER', 'a range does not follow the blocks below it', context);
}

/** Neighbours that are stored must be linked to the blocks. */
export function checkStored(state: Pick<ChainState, 'blocks'>, headers: readonly BlockHeader[]): void {
  for (const header of headers) {
    if (isLinked(state, header)) continue;
    const { height, hash } = header;
    const context = { height, stored: blockAt(state, height)?.hash, read: hash };
    throw scanError('BRANCHES_DIFFER', 'a source returned another block than the stored one', context);
  }
}

function readingsIn({ transfers, transactions, actors }: RangeRead): number {
  return transfers.length + (transactions ?? actors?.length ?? 0);
}

export function readSegmentsAhead(
  scanning: Scanning,
  segments: Iterator<Segment, unknown, undefined>,
  { limit, most, signal }: ReadOptions & { readonly limit: ReadingLimit; readonly most: number },
): ReturnType<typeof createReadAhead<Segment, SegmentRead>> {
  return createReadAhead({
    items: segments,
    read: async (segment, ended) => {
      const read = await readSegment(scanning, segment, { signal: ended });
      limit.note(read.readings);
      return read;
    },
    ahead: () => limit.segments(most),
    signal,
  });
}
