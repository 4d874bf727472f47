import type { BlockHeader } from '@opentill/chain/block';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import { blockAt, seenBlock, type ChainState } from './chain-state.ts';
import { isolateFailure } from './isolate-failure.ts';
import { batchLookups } from './batch-lookups.ts';
import { createReadingLimit } from './read-ahead.ts';
import {
  readSegmentsAhead,
  segmentBlocks,
  splitRange,
  type Segment,
  type SegmentRead,
} from './read-segment.ts';
import type { Changes } from './scan-change.ts';
import { scanError } from './scan-error.ts';
import type { Scanning } from './scanning.ts';
import { changeOf, type ScanGoal } from './segment-change.ts';
import { countedDepth, verifiableHeight } from './depth.ts';

/** `failure` is why reading ended before the goal; earlier commits remain valid. */
interface CaughtUp {
  readonly state: ChainState;
  readonly failure?: Error;
}

/** Limits memory: the raw answers of segments being read are large. */
const SEGMENTS_AHEAD = 12;
/** Segments per SQL statement, and milliseconds that the first waits for the others. */
const LOOKUP_BATCH = { together: 5, withinMs: 50 };
/** Fewer, larger commits are faster, but payments become visible later. */
const SEGMENTS_PER_COMMIT = 5;
/** Wait for one more segment, so that a hanging source does not delay segments already read. */
const NEXT_SEGMENT_WAIT_MS = 100;
/** Catching up starts when a chain is more than this many segments behind. */
const SEGMENTS_FAR_BEHIND = 2;

export type CatchingUp = ReturnType<typeof createCatchingUp>;

export function createCatchingUp(scanning: Scanning) {
  const isolation = isolateFailure(scanning, 'catch-up');
  return {
    isWorthwhile: (blocks: number, isLongerThanDepth = false) =>
      (isLongerThanDepth || blocks > SEGMENTS_FAR_BEHIND * segmentBlocks(scanning)) && isolation.isDue(),
    async *run(
      part: 'catch-up' | 'verified',
      before: ChainState,
      goal: ScanGoal,
      options: ReadOptions,
    ): Changes<CaughtUp> {
      const caughtUp = yield* catchUp(scanning, before, goal, options);
      const { state, failure } = caughtUp;
      if (state !== before || failure === undefined) isolation.succeeded(); // restart the back-off
      if (state.verifiedHeight > before.verifiedHeight) scanning.observe.verifiedRead(scanning.network.chain);
      if (failure === undefined) return caughtUp;
      if (options.signal?.aborted === true) throw failure;
      isolation.failed(failure, part);
      return caughtUp;
    },
  };
}

/**
 * Blocks that are deep enough are read once, the verified way, and both cursors move over them; blocks above are read
 * as seen. A segment is verified only when later blocks make it deep enough, are linked to it by parent hashes, and are
 * confirmed by a second source. A failure or an unlinked block discards later segments.
 */
async function* catchUp(
  scanning: Scanning,
  before: ChainState,
  goal: ScanGoal,
  options: ReadOptions,
): Changes<CaughtUp> {
  const { network, store } = scanning;
  const findRecipients = batchLookups(store.findRecipients, LOOKUP_BATCH);
  const reads = readSegmentsAhead(
    { ...scanning, store: { ...store, findRecipients } },
    before,
    segmentsTo(goal, before, () => segmentBlocks(scanning)),
    { ...options, limit: createReadingLimit(), most: SEGMENTS_AHEAD },
  );
  const waiting: SegmentRead[] = [];
  let state = before;
  try {
    for (;;) {
      const next = await takeNext(reads.next, state, waiting);
      const isFull = waiting.length >= SEGMENTS_PER_COMMIT;
      if (next === 'more' && !isFull && (await reads.isNextReady(NEXT_SEGMENT_WAIT_MS))) continue;
      for (
        let count = countReady(network, state, goal, waiting);
        count > 0;
        count = countReady(network, state, goal, waiting)
      ) {
        const unconfirmed = await failureOf(() =>
          confirmDepth(scanning, state, goal, { waiting, count }, options),
        );
        if (unconfirmed !== undefined) return { state, ...unconfirmed };
        state = yield changeOf(network, state, goal, waiting.splice(0, count));
      }
      if (next === 'end') return { state };
      if (next !== 'more') return { state, ...next };
    }
  } finally {
    await reads.stop();
  }
}

function* segmentsTo(
  { verifiedHeight, seenHeight }: ScanGoal,
  from: ChainState,
  blocks: () => number,
): Generator<Segment, undefined, undefined> {
  const seenFrom = Math.max(seenBlock(from).height, verifiedHeight) + 1;
  yield* splitRange({ kind: 'verified', from: from.verifiedHeight + 1, to: verifiedHeight }, blocks);
  yield* splitRange({ kind: 'seen', from: seenFrom, to: seenHeight }, blocks);
  return undefined;
}

interface Failure {
  readonly failure: Error;
}

async function failureOf(work: () => Promise<void>): Promise<Failure | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    return { failure: error instanceof Error ? error : new Error('not an error', { cause: error }) };
  }
}

async function takeNext(
  next: () => Promise<SegmentRead | undefined>,
  state: ChainState,
  waiting: SegmentRead[],
): Promise<'more' | 'end' | Failure> {
  let isEnd = false;
  const failure = await failureOf(async () => {
    const read = await next();
    isEnd = read === undefined;
    if (read === undefined) return;
    checkLinked(state, waiting.at(-1)?.headers.at(-1), read);
    waiting.push(read);
  });
  return failure ?? (isEnd ? 'end' : 'more');
}

/** Each block must equal the stored block at its height or follow the block below it; otherwise BRANCHES_DIFFER. */
function checkLinked(state: ChainState, below: BlockHeader | undefined, read: SegmentRead): void {
  for (const header of read.headers) {
    const { height, hash, parentHash } = header;
    const stored = blockAt(state, height);
    const parent = below?.height === height - 1 ? below : blockAt(state, height - 1);
    const fits = stored === undefined ? parent?.hash === parentHash : stored.hash === hash;
    if (!fits)
      throw scanError('BRANCHES_DIFFER', 'a block read ahead does not follow the blocks read before it', {
        height,
        hash,
      });
    below = header;
  }
}

function countReady(
  network: Scanning['network'],
  state: ChainState,
  goal: ScanGoal,
  waiting: readonly SegmentRead[],
): number {
  const linkedHeight = Math.max(seenBlock(state).height, waiting.at(-1)?.to ?? 0);
  const verifiable = verifiableHeight(network, { ...goal, linkedHeight });
  const first = waiting[0];
  const end = waiting.findIndex(
    (read, place) =>
      place === SEGMENTS_PER_COMMIT ||
      read.kind !== first?.kind ||
      (read.kind === 'verified' && read.to > verifiable),
  );
  return end === -1 ? waiting.length : end;
}

/**
 * A second source confirms the block that gives depth to the next segments. Blocks read the verified way need no
 * confirmation: two sources agreed on their hashes.
 */
async function confirmDepth(
  { network, reader }: Scanning,
  state: ChainState,
  goal: ScanGoal,
  { waiting, count }: { readonly waiting: readonly SegmentRead[]; readonly count: number },
  options: ReadOptions,
): Promise<void> {
  const last = waiting[count - 1];
  if (last?.kind !== 'verified') return;
  const height = last.to + countedDepth(network, goal, last.to) - 1;
  if (waiting.some((read) => read.kind === 'verified' && read.to >= height)) return;
  const read = waiting.flatMap(({ headers }) => headers).find((header) => header.height === height);
  const block = read ?? blockAt(state, height);
  if (block === undefined)
    throw scanError(
      'DEPTH_NOT_VOUCHED',
      'the block from which depth is counted is not stored; it is read again',
      { height },
    );
  await reader.confirmBlock({ height, hash: block.hash }, options);
}
