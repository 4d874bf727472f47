import type { BlockHeader } from '@opentill/chain/block';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import { blockAt, seenBlock, type ChainState, type HeadBlock } from './chain-state.ts';
import { lookUpTogether } from './look-up-together.ts';
import { createPartsAhead } from './parts-ahead.ts';
import { createReadAhead } from './read-ahead.ts';
import { readSegment, segmentsOf, type Segment, type SegmentRead, segmentBlocks } from './read-segment.ts';
import { notFound, type ScanChange } from './scan-change.ts';
import { scanError } from './scan-error.ts';
import { proofOf } from './scan-proof.ts';
import type { Scanning } from './scanning.ts';
import { countedDepth, verifiableHeight } from './verifiable-height.ts';
import { toldOtherwise } from './verified-pass.ts';

/** How far to catch up, as it was known at the beginning; what is mined meanwhile is left to the next round. */
export interface CatchUpGoal {
  /** The newest block; read as far as `seenHeight`. */
  readonly head: HeadBlock;
  /** How far to see: the head, or where the chain is seen already. */
  readonly seenHeight: number;
  /** How far to verify; the cursor as it is where nothing is deep enough. */
  readonly verifiedHeight: number;
  readonly finalizedHeight: number | null;
  readonly isFinalityStale: boolean;
}

/** How far it came. `failure`: why reading ended before the goal; what was committed until then stands. */
export interface CaughtUp {
  readonly state: ChainState;
  readonly failure?: Error;
}

/** Parts being read, or read and waiting for their turn. The raw answers of those being read are what takes memory. */
const SEGMENTS_AHEAD = 12;
/** Recipients of so many parts are looked up by one statement, for which the first of them waits so long. */
const LOOK_UP = { together: 5, withinMs: 50 };
/** Parts that one commit may take in: the fewer commits, the faster; the more, the longer is nothing shown. */
const SEGMENTS_PER_COMMIT = 5;
/** A commit waits so long for a further part to take in: what is read already must not wait for a source that hangs. */
const COMMIT_PATIENCE_MS = 100;
/** Parts a chain has to be behind, for catching up to be worth it. */
const SEGMENTS_FAR_BEHIND = 2;

/** Whether so many blocks are better read in parallel than in the passes of a round. */
export function isFarBehind(scanning: Pick<Scanning, 'network' | 'reader'>, blocks: number): boolean {
  return blocks > SEGMENTS_FAR_BEHIND * segmentBlocks(scanning);
}

/**
 * Reads a long way in parallel and commits it in order. What is deep enough to be verified is read once, by the
 * verified way, and both cursors move over it together; what lies above is read as seen. A part is verified only when
 * the blocks read behind it, linked to it by parent hashes and vouched for, make it deep enough. What fails or does not fit ends the
 * reading and discards what follows; `commit` throwing ends it as well, and is passed on.
 */
export async function catchUp(
  scanning: Scanning,
  before: ChainState,
  goal: CatchUpGoal,
  commit: (state: ChainState, change: ScanChange) => Promise<ChainState>,
  options: ReadOptions,
): Promise<CaughtUp> {
  const heights = { ...goal, fromState: before };
  const { store } = scanning;
  const reading = {
    ...scanning,
    store: { ...store, findRecipients: lookUpTogether(store.findRecipients, LOOK_UP) },
  };
  const parts = createPartsAhead();
  const reads = createReadAhead<Segment, SegmentRead>({
    items: segmentsOf(heights, () => segmentBlocks(scanning)),
    read: async (segment, signal) => {
      const read = await readSegment(reading, before, segment, { signal });
      parts.note(read.readings);
      return read;
    },
    ahead: () => parts.ahead(SEGMENTS_AHEAD),
    signal: options.signal,
  });
  const waiting: SegmentRead[] = [];
  let state = before;
  const commitReady = async (): Promise<Error | undefined> => {
    for (;;) {
      const count = countReady(scanning, state, goal, waiting);
      if (count === 0) return undefined;
      const failure = await failureOf(() =>
        vouchForDepth(scanning, state, goal, { waiting, count }, options),
      );
      if (failure !== undefined) return failure;
      state = await commit(state, changeOf(scanning, state, goal, waiting.splice(0, count)));
    }
  };
  try {
    for (;;) {
      const outcome = await takeNext(reads, state, waiting);
      const isCommitDue =
        outcome !== 'more' ||
        waiting.length >= SEGMENTS_PER_COMMIT ||
        !(await reads.isNextReady(COMMIT_PATIENCE_MS));
      const failure = isCommitDue ? await commitReady() : undefined;
      if (failure !== undefined) return { state, failure };
      if (outcome === 'end') return { state };
      if (outcome !== 'more') return { state, failure: outcome.failure };
    }
  } finally {
    await reads.stop();
  }
}

async function takeNext(
  reads: ReturnType<typeof createReadAhead<Segment, SegmentRead>>,
  state: ChainState,
  waiting: SegmentRead[],
): Promise<'more' | 'end' | { readonly failure: Error }> {
  let outcome: 'more' | 'end' = 'more';
  const failure = await failureOf(async () => {
    const read = await reads.next();
    if (read === undefined) {
      outcome = 'end';
      return;
    }
    checkLinked(state, waiting.at(-1)?.headers.at(-1), read);
    waiting.push(read);
  });
  return failure === undefined ? outcome : { failure };
}

async function failureOf(work: () => Promise<void>): Promise<Error | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error('not an error', { cause: error });
  }
}

/**
 * Has the block vouched for by which the last of the next parts is deep enough. A block that was read by the verified
 * way needs no one: two sources agreed on its hash.
 */
async function vouchForDepth(
  { network, reader }: Pick<Scanning, 'network' | 'reader'>,
  state: ChainState,
  goal: CatchUpGoal,
  next: { readonly waiting: readonly SegmentRead[]; readonly count: number },
  options: ReadOptions,
): Promise<void> {
  const { waiting, count } = next;
  const last = waiting[count - 1];
  if (last?.kind !== 'verified') return;
  const height = last.to + countedDepth(network, goal, last.to) - 1;
  if (waiting.some((read) => read.kind === 'verified' && read.to >= height)) return;
  const read = waiting.flatMap(({ headers }) => headers).find((header) => header.height === height);
  const block = read ?? blockAt(state, height);
  if (block === undefined)
    throw scanError('DEPTH_NOT_VOUCHED', 'the block from which depth is counted is not known', { height });
  await reader.vouch({ height, hash: block.hash }, options);
}

/** Every block must be the stored one of its height, or follow the block below it. Throws BRANCHES_DIFFER. */
function checkLinked(state: ChainState, below: BlockHeader | undefined, read: SegmentRead): void {
  for (const header of read.headers) {
    const stored = blockAt(state, header.height);
    const parent = below?.height === header.height - 1 ? below : blockAt(state, header.height - 1);
    const fits = stored === undefined ? parent?.hash === header.parentHash : stored.hash === header.hash;
    if (!fits) {
      throw scanError('BRANCHES_DIFFER', 'a block read ahead does not follow what was read before', {
        height: header.height,
        hash: header.hash,
      });
    }
    below = header;
  }
}

/** How many of the waiting parts, of one kind, may be committed now. */
function countReady(
  { network }: Pick<Scanning, 'network'>,
  state: ChainState,
  goal: CatchUpGoal,
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

function changeOf(
  { network, observe }: Scanning,
  state: ChainState,
  goal: CatchUpGoal,
  reads: readonly SegmentRead[],
): ScanChange {
  const seenHeight = seenBlock(state).height;
  const isVerified = reads[0]?.kind === 'verified';
  const headers = reads.flatMap((read) => read.headers);
  const matched = reads.flatMap((read) => read.matched);
  const last = headers.at(-1) ?? seenBlock(state);
  const seenAfter = Math.max(seenHeight, last.height);
  const gone = notFound(
    reads.flatMap((read) => read.live),
    matched,
  );
  if (gone.length > 0) observe.seenButNotVerified(network.chain, gone);
  return {
    step: {
      // The head is the block that was read, when it was read so far; what the node said before may be gone.
      head:
        [goal.head, state.head].find((head) => head.height > seenAfter) ??
        (last.height === seenAfter ? last : state.head),
      finalizedHeight:
        goal.finalizedHeight === null
          ? state.finalizedHeight
          : Math.max(state.finalizedHeight ?? 0, Math.min(goal.finalizedHeight, seenAfter)),
      verifiedHeight: isVerified ? last.height : state.verifiedHeight,
      ancestorHeight: seenHeight,
      newBlocks: headers.filter((header) => header.height > seenHeight),
      corrected: isVerified ? toldOtherwise(state, headers) : [],
    },
    matched,
    matchedState: isVerified ? 'VERIFIED' : 'DETECTED',
    orphanedIds: gone.map((transfer) => transfer.transferId),
    foreign: reads.flatMap((read) => read.foreign),
    landed: reads.flatMap((read) => read.landed),
    proof: isVerified
      ? proofOf(
          state,
          headers,
          reads.map((read) => read.proof),
        )
      : undefined,
  };
}
