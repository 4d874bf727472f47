import type { ReadOptions } from '@opentill/chain/chain-reader';
import { seenBlock, type ChainState } from './chain-state.ts';
import { isolateFailure } from './isolate-failure.ts';
import { batchLookups } from './batch-lookups.ts';
import { createReadingLimit } from './read-ahead.ts';
import {
  checkContinues,
  readSegmentsAhead,
  segmentBlocks,
  splitRange,
  type Segment,
  type SegmentRead,
} from './read-segment.ts';
import type { Changes } from './scan-change.ts';
import type { Scanning } from './scanning.ts';
import { changeOf, comparedHeights, contradictionOf, type ScanGoal } from './segment-change.ts';

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
 * as seen. Each commit of verified blocks confirms their depth again. A failure or an unlinked block discards later
 * segments.
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
    segmentsTo(scanning, goal, before),
    { ...options, limit: createReadingLimit(), most: SEGMENTS_AHEAD },
  );
  const waiting: SegmentRead[] = [];
  let state = before;
  try {
    for (;;) {
      const next = await takeNext(reads.next, state, waiting);
      const isFull = waiting.length >= SEGMENTS_PER_COMMIT;
      if (next === 'more' && !isFull && (await reads.isNextReady(NEXT_SEGMENT_WAIT_MS))) continue;
      while (waiting.length > 0) {
        const together = waiting.splice(0, countOfKind(waiting));
        const unconfirmed = await failureOf(() => confirmDepth(scanning, goal, together, options));
        if (unconfirmed !== undefined) return { state, ...unconfirmed };
        const last = state;
        state = yield changeOf(network, last, goal, together);
        const failure = together[0]?.kind === 'verified' ? contradictionOf(last, state) : undefined;
        if (failure !== undefined) return { state, failure };
      }
      if (next === 'end') return { state };
      if (next !== 'more') return { state, ...next };
    }
  } finally {
    await reads.stop();
  }
}

function* segmentsTo(
  scanning: Pick<Scanning, 'network' | 'reader'>,
  goal: ScanGoal,
  from: ChainState,
): Generator<Segment, undefined, undefined> {
  const { verifiedHeight, seenHeight } = goal;
  const blocks = (): number => segmentBlocks(scanning);
  const headersAt = comparedHeights(scanning.network, from, goal);
  const seenFrom = Math.max(seenBlock(from).height, verifiedHeight) + 1;
  const verified = {
    kind: 'verified',
    from: from.verifiedHeight + 1,
    to: verifiedHeight,
    headersAt,
  } as const;
  yield* splitRange(verified, blocks);
  yield* splitRange({ kind: 'seen', from: seenFrom, to: seenHeight }, blocks);
  return undefined;
}

/** A reorganisation since the depth was proven may have replaced the blocks that were read. */
async function confirmDepth(
  { reader }: Pick<Scanning, 'reader'>,
  { deepBy }: ScanGoal,
  [first]: readonly SegmentRead[],
  options: ReadOptions,
): Promise<void> {
  if (first?.kind === 'verified' && deepBy !== undefined) await reader.confirmBlock(deepBy, options);
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
    checkContinues(state, waiting.at(-1), read);
    waiting.push(read);
  });
  return failure ?? (isEnd ? 'end' : 'more');
}

/** Segments at the front that one commit can contain. */
function countOfKind(waiting: readonly SegmentRead[]): number {
  const end = waiting.findIndex(
    ({ kind }, place) => place === SEGMENTS_PER_COMMIT || kind !== waiting[0]?.kind,
  );
  return end === -1 ? waiting.length : end;
}
