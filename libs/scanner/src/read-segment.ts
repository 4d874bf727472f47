import type { BlockHash, BlockHeader } from '@opentill/chain/block';
import type { RangeRead, ReadOptions } from '@opentill/chain/chain-reader';
import type { RangeProof } from '@opentill/chain/epoch-committee';
import { GatewayError } from '@opentill/domain/gateway-error';
import { blockAt, isLinked, seenBlock, type ChainState } from './chain-state.ts';
import { findForeign, findLanded } from './find-foreign-transactions.ts';
import { linkedHeaders, matchTransfers } from './match-transfers.ts';
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
  /** Ascending. The last one is that of `to`. */
  readonly headers: readonly BlockHeader[];
  /** Heights of stored blocks that two sources replace by others of the same chain. */
  readonly replaced: readonly number[];
  /** Hash of the block below, as the source names it. */
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

interface SegmentOptions extends ReadOptions {
  /** Begins once the blocks were read, and must succeed. */
  readonly afterBlocks?: (() => Promise<unknown>) | undefined;
}

export async function readSegment(
  scanning: Scanning,
  state: ChainState,
  segment: Segment,
  { afterBlocks, ...options }: SegmentOptions,
): Promise<SegmentRead> {
  const { network, reader, store } = scanning;
  const { kind, from, to } = segment;
  const isRecorded = kind === 'verified' && from <= seenBlock(state).height;
  const live = isRecorded ? await store.liveTransfers(network.chain, from, to) : [];
  const range =
    kind === 'verified'
      ? await reader.readVerified(from, to, live, options)
      : await reader.readSeen(from, to, options);
  const bySource = { byOneSource: kind === 'seen', refutesOtherBlocks: kind === 'seen' };
  const [matched, replaced, balanceBlocks] = await Promise.all([
    matchTransfers(scanning, range, { ...options, ...bySource }),
    findReplaced(scanning, state, range, options),
    readBalanceBlocks(scanning, segment, range, options),
    afterBlocks?.(),
  ]);
  const kept = without(state, replaced);
  let { headers } = matched;
  // One source names a balance's block, so a false one must not fail the range.
  for (const block of balanceBlocks)
    if (blockAt({ blocks: headers }, block.height) === undefined && isLinked({ blocks: headers }, block))
      headers = isLinked(kept, block) ? linkedHeaders([...headers, block]) : headers;
  checkStored(kept, headers);
  const below = hashBelow(range);
  const [first] = headers;
  // A commit of blocks that are not linked would halt the chain.
  if (first?.height === from && first.parentHash !== below)
    throw scanError('BRANCHES_DIFFER', 'a block does not follow the one below its range', { height: from });
  return {
    ...segment,
    headers,
    replaced,
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
 * Stored blocks in whose place two sources returned others. They are of a branch that one source showed, and no later
 * read of a range would contradict them. A seen block that stays the seen one is replaced by the seen pass.
 */
async function findReplaced(
  { reader }: Pick<Scanning, 'reader'>,
  state: ChainState,
  { hashes, headers }: RangeRead,
  options: ReadOptions,
): Promise<readonly number[]> {
  const replaced: number[] = [];
  if (hashes === undefined) return replaced; // all headers are compared, or the range is not verified
  const end = headers.at(-1)?.height;
  for (const stored of state.blocks) {
    const hash = hashes.get(stored.height);
    const parent = hashes.get(stored.height - 1);
    const isStillSeen = stored === seenBlock(state) && stored.height >= (end ?? 0);
    const isOther = hash !== undefined && hash !== stored.hash;
    const hasOtherParent = parent !== undefined && parent !== stored.parentHash;
    if (isStillSeen || (!isOther && !hasOtherParent)) continue;
    // One source may have named the hash.
    if (isOther) await reader.confirmBlock({ height: stored.height, hash }, options);
    else if (parent !== undefined)
      await reader.confirmBlock({ height: stored.height - 1, hash: parent }, options);
    replaced.push(stored.height);
  }
  return replaced;
}

/**
 * Blocks at which the signer read balances. Stored, they show that a balance is of the chain (`confirm_balance()`). If one
 * cannot be read, only its balance waits.
 */
async function readBalanceBlocks(
  { network, reader, store }: Scanning,
  { from, to }: Segment,
  { hashes }: RangeRead,
  options: ReadOptions,
): Promise<readonly BlockHeader[]> {
  if (hashes === undefined) return []; // all blocks are stored, or the range is not verified
  const blocks: BlockHeader[] = [];
  for (const height of await store.balanceHeights(network.chain, from - 1, to)) {
    const [block] = await reader.headers(height, height, options).catch((error: unknown) => {
      if (options.signal?.aborted === true || !(error instanceof GatewayError)) throw error;
      return [];
    });
    if (block !== undefined && block.hash === hashes.get(height)) blocks.push(block);
  }
  return blocks;
}

function without(state: ChainState, heights: readonly number[]): Pick<ChainState, 'blocks'> {
  return heights.length === 0
    ? state
    : { blocks: state.blocks.filter(({ height }) => !heights.includes(height)) };
}

/** A range must follow the one before it or the stored block below it; otherwise BRANCHES_DIFFER. */
export function checkContinues(state: ChainState, before: SegmentRead | undefined, read: SegmentRead): void {
  const last = before?.headers.at(-1);
  const below = last?.height === read.from - 1 ? last : blockAt(state, read.from - 1);
  if (below !== undefined && read.below === below.hash) return;
  throw scanError('BRANCHES_DIFFER', 'a range does not follow the blocks below it', {
    height: read.from,
    below: read.below,
    stored: below?.hash,
  });
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
