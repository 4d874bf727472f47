import type { BlockHash } from '@opentill/chain/block';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import { readerError } from '@opentill/chain/reader-error';
import type { SuiCheckpoint } from './decode-checkpoint.ts';
import type { SuiHeader } from './sui-header.ts';
import { fetchCheckpoints } from './fetch-checkpoints.ts';
import { lacksBalanceChanges } from './lacks-balance-changes.ts';
import { requireBalanceChanges } from './require-balance-changes.ts';
import { readHeader } from './read-header.ts';
import type { BlockRange, Reading } from './reading.ts';
import type { SuiSource } from './sui-sources.ts';

export interface CheckpointOptions extends ReadOptions {
  /** Ignores what the subscription delivered. */
  readonly isFresh?: boolean;
}

/** Reads at most CHECKPOINTS_PER_CALL, linked and complete. BLOCK_NOT_FOUND if the source lacks one. */
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
    requireLinked(checkpoints.map(({ header }) => header));
    await requireComplete(reading, source, checkpoints, options);
  } catch (error) {
    // The next try asks only the node and shows which of the two was wrong.
    if (came.size > 0) tail.clear();
    throw error;
  }
  return checkpoints;
}

async function takeFromTail(
  { tailOf, shownChanges }: Pick<Reading, 'tailOf' | 'shownChanges'>,
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
    await requireBalanceChanges(source, [...came.values()], shownChanges, options);
    return came;
  } catch (error) {
    if (!lacksBalanceChanges(error)) throw error;
    tail.clear();
    return new Map();
  }
}

export function requireLinked(headers: readonly SuiHeader[]): void {
  for (const [place, header] of headers.entries()) {
    const parent = headers[place - 1];
    if (parent === undefined) continue;
    const { height, hash } = header;
    if (header.parentHash !== parent.hash || header.height !== parent.height + 1)
      throw readerError('INCONSISTENT_ANSWER', 'the checkpoints are not linked', { height, hash });
    if (header.timeMs < parent.timeMs || header.epoch < parent.epoch)
      throw readerError('INCONSISTENT_ANSWER', 'a checkpoint is older than its parent', { height, hash });
  }
}

const TOTALS_KEPT = 1_024;

/** A checkpoint names the chain's total number of transactions, which must grow by those in the checkpoint. */
async function requireComplete(
  { totals: ofAll, perCall }: Reading,
  source: SuiSource,
  checkpoints: readonly SuiCheckpoint[],
  options: ReadOptions,
): Promise<void> {
  // Per source: a wrong total of one source must not make another's checkpoints look incomplete.
  const totals = ofAll.get(source) ?? new Map<BlockHash, number>();
  ofAll.set(source, totals);
  for (const { header, count } of checkpoints) {
    const { height, hash, parentHash, totalTransactions } = header;
    perCall.note(count);
    let before = height === 0 ? 0 : totals.get(parentHash);
    // The total before the first checkpoint is unknown. Only an empty checkpoint is worth the extra request.
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
