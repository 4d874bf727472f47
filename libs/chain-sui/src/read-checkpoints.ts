import type { BlockHash } from '@opentill/chain/block';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import { readerError } from '@opentill/chain/reader-error';
import type { SuiCheckpoint } from './decode-checkpoint.ts';
import type { SuiHeader } from './sui-header.ts';
import { fetchCheckpoints } from './fetch-checkpoints.ts';
import { lacksBalanceChanges } from './lacks-balance-changes.ts';
import { mustNotBeMute } from './must-not-be-mute.ts';
import { readHeader } from './read-header.ts';
import type { BlockRange, Reading } from './reading.ts';
import type { SuiSource } from './sui-sources.ts';

export interface CheckpointOptions extends ReadOptions {
  /** Asks the node, whatever its subscription brought. */
  readonly isFresh?: boolean;
}

/**
 * The checkpoints of a range as one source tells them, at most CHECKPOINTS_PER_CALL, each the parent of the next and whole.
 * BLOCK_NOT_FOUND where it does not have all of them, INCONSISTENT_ANSWER for what contradicts itself.
 */
export async function readCheckpoints(
  reading: Reading,
  source: SuiSource,
  { from, to }: BlockRange,
  { isFresh = false, signal }: CheckpointOptions,
): Promise<readonly SuiCheckpoint[]> {
  const options = signal === undefined ? {} : { signal };
  const tail = reading.tailOf(source);
  const came = isFresh
    ? new Map<number, SuiCheckpoint>()
    : await takeFromTail(reading, source, { from, to }, options);
  const checkpoints: SuiCheckpoint[] = [];
  for (let height = from; height <= to;) {
    const known = came.get(height);
    if (known !== undefined) checkpoints.push(known);
    else {
      let end = height;
      while (end < to && !came.has(end + 1)) end += 1;
      checkpoints.push(...(await fetchCheckpoints(reading, source, { from: height, to: end }, options)));
    }
    height = from + checkpoints.length;
  }
  try {
    mustBeLinked(checkpoints.map(({ header }) => header));
    await mustBeWhole(reading, source, checkpoints, options);
  } catch (error) {
    // Which of both is wrong shows when only the node is asked.
    if (came.size > 0) tail.clear();
    throw error;
  }
  return checkpoints;
}

/** What the subscription brought of a range; nothing where it turns out to tell too little. */
async function takeFromTail(
  { tailOf, told }: Pick<Reading, 'tailOf' | 'told'>,
  source: SuiSource,
  { from, to }: BlockRange,
  options: ReadOptions,
): Promise<ReadonlyMap<number, SuiCheckpoint>> {
  const tail = tailOf(source);
  await tail.await(to, options.signal);
  const came = new Map<number, SuiCheckpoint>();
  for (let height = from; height <= to; height += 1) {
    const checkpoint = tail.get(height);
    if (checkpoint !== undefined) came.set(height, checkpoint);
  }
  try {
    await mustNotBeMute(source, [...came.values()], told, options);
    return came;
  } catch (error) {
    if (!lacksBalanceChanges(error)) throw error;
    tail.clear();
    return new Map();
  }
}

/** Throws INCONSISTENT_ANSWER unless each is the parent of the next, and none is before its parent in time. */
export function mustBeLinked(headers: readonly SuiHeader[]): void {
  for (const [place, header] of headers.entries()) {
    const parent = headers[place - 1];
    if (parent === undefined) continue;
    const { height, hash } = header;
    if (header.parentHash !== parent.hash || header.height !== parent.height + 1)
      throw readerError('INCONSISTENT_ANSWER', 'the checkpoints are not linked', { height, hash });
    if (header.timeMs < parent.timeMs || header.epoch < parent.epoch)
      throw readerError('INCONSISTENT_ANSWER', 'a checkpoint is before its parent', { height, hash });
  }
}

const TOTALS_KEPT = 1_024;

/**
 * Each checkpoint names how many transactions the chain has had: so many more than its parent as it holds. Throws
 * INCONSISTENT_ANSWER for one of which some are missing, or all.
 */
async function mustBeWhole(
  { totals: ofAll, perCall }: Reading,
  source: SuiSource,
  checkpoints: readonly SuiCheckpoint[],
  options: ReadOptions,
): Promise<void> {
  // What one source says of a checkpoint must not make another one's next look incomplete.
  const totals = ofAll.get(source) ?? new Map<BlockHash, number>();
  ofAll.set(source, totals);
  for (const { header, count } of checkpoints) {
    const { height, hash, parentHash, totalTransactions } = header;
    perCall.note(count);
    let before = height === 0 ? 0 : totals.get(parentHash);
    // The first one that is read has no known parent; that none is missing is worth a question when none is there.
    if (before === undefined && count === 0)
      before = (await readHeader(source, options, height - 1)).totalTransactions;
    if (before !== undefined && totalTransactions - before !== count)
      throw readerError('INCONSISTENT_ANSWER', 'transactions of a checkpoint are missing', {
        height,
        hash,
        missing: totalTransactions - before - count,
      });
    totals.set(hash, totalTransactions);
  }
  for (const oldest of totals.keys()) {
    if (totals.size <= TOTALS_KEPT) break;
    totals.delete(oldest);
  }
}
