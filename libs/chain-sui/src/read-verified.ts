import type { RangeRead, ReadOptions } from '@opentill/chain/chain-reader';
import { readerError } from '@opentill/chain/reader-error';
import { askAgain } from '@opentill/chain-sources/ask-again';
import type { SourceAnswer } from '@opentill/chain-sources/ask-two-sources';
import { askTwoSources } from '@opentill/chain-sources/ask-two-sources';
import { actorsOf, transfersOf } from './checkpoint-transfers.ts';
import type { BalanceChange, SuiCheckpoint, SuiTransaction } from './decode-checkpoint.ts';
import { plainHeader } from './decode-checkpoint.ts';
import { isDiscarded } from './fetch-checkpoints.ts';
import { lacksBalanceChanges } from './lacks-balance-changes.ts';
import { requireLinked, readCheckpoints } from './read-checkpoints.ts';
import type { BlockRange, Reading, SourceComparison } from './reading.ts';
import type { SuiSource, SuiSources } from './sui-sources.ts';

type SourceCheckpoints = readonly SuiCheckpoint[];

/** Two sources must return the same checkpoints with the same transactions; one source only where that is permitted. */
export async function readVerifiedCheckpoints(
  reading: Reading,
  sources: SuiSources,
  range: BlockRange,
  options: ReadOptions,
): Promise<RangeRead> {
  const ask = async (source: SuiSource, own: ReadOptions): Promise<SourceCheckpoints> => {
    try {
      return await askAgain(() => readCheckpoints(reading, source, range, own), own);
    } catch (error) {
      // The source still serves other calls, but is no second source here.
      if (lacksBalanceChanges(error) || isDiscarded(error)) sources.noteCompleteness(source, false);
      throw error;
    }
  };
  const question = { ask, height: range.to, onSingleSource: reading.onSingleSource };
  const [first, second] = await askTwoSources(sources, question, options);
  sources.noteCompleteness(first.source, true);
  const checkpoints =
    second === undefined ? first.answer : await agreedCheckpoints(reading, sources, first, second, options);
  return {
    headers: checkpoints.map(({ header }) => plainHeader(header)),
    transfers: checkpoints.flatMap((checkpoint) => transfersOf(reading, checkpoint, true)),
    actors: checkpoints.flatMap(actorsOf),
    ...proofOf(checkpoints),
  };
}

function proofOf(checkpoints: readonly SuiCheckpoint[]): Pick<RangeRead, 'proof'> {
  if (checkpoints.some(({ proof }) => proof === undefined)) return {};
  const ends = checkpoints.filter(({ proof }) => proof?.endsEpoch === true);
  return {
    proof: { epochEnds: ends.map(({ header: { epoch, height, hash } }) => ({ epoch, height, hash })) },
  };
}

const ASKED_AGAIN = 3;

/**
 * Where the sources differ, each checkpoint is read again from both, up to three times and without the subscriptions,
 * so that a passing difference does not discard the whole range. If they still differ, throws.
 */
async function agreedCheckpoints(
  reading: Reading,
  sources: SuiSources,
  first: SourceAnswer<SuiSource, SourceCheckpoints>,
  second: SourceAnswer<SuiSource, SourceCheckpoints>,
  options: ReadOptions,
): Promise<SourceCheckpoints> {
  sources.noteCompleteness(second.source, true);
  const labels = [first.source.label, second.source.label] as const;
  const agreed: SuiCheckpoint[] = [];
  for (const [place, own] of first.answer.entries()) {
    const { height } = own.header;
    let [ours, theirs]: readonly (SuiCheckpoint | undefined)[] = [own, second.answer[place]];
    for (let times = 0; times < ASKED_AGAIN && !isSame(ours, theirs); times += 1)
      [ours, theirs] = await Promise.all(
        [first, second].map(async ({ source }) => {
          const range = { from: height, to: height };
          const read = () => readCheckpoints(reading, source, range, { ...options, isFresh: true });
          return (await askAgain(read, options))[0];
        }),
      );
    if (ours === undefined || theirs?.header.hash !== ours.header.hash)
      throw differing(reading, 'FORKED', labels, height);
    if (!isSame(ours, theirs)) throw differing(reading, 'CONTENTS_DIFFER', labels, height);
    // The contents are the same, so a proof from one source holds for both.
    agreed.push(ours.proof === undefined ? theirs : ours);
  }
  reading.onCompared({ outcome: 'AGREED', sources: labels, height: agreed.at(-1)?.header.height ?? 0 });
  requireLinked(agreed.map(({ header }) => header));
  return agreed;
}

function differing(
  reading: Reading,
  outcome: SourceComparison['outcome'],
  sources: readonly [string, string],
  height: number,
): Error {
  reading.onCompared({ outcome, sources, height });
  const what =
    outcome === 'FORKED' ? 'have different checkpoints' : 'return different contents of a checkpoint';
  return readerError('INCONSISTENT_ANSWER', `two sources ${what}`, { outcome, sources, height });
}

export function isSame(ours: SuiCheckpoint | undefined, theirs: SuiCheckpoint | undefined): boolean {
  if (ours === theirs) return true;
  if (ours === undefined || theirs === undefined) return false;
  return (
    ours.header.hash === theirs.header.hash &&
    ours.header.parentHash === theirs.header.parentHash &&
    ours.header.timeMs === theirs.header.timeMs &&
    ours.header.epoch === theirs.header.epoch &&
    ours.header.totalTransactions === theirs.header.totalTransactions &&
    ours.count === theirs.count &&
    areSame(ours.transactions, theirs.transactions, isSameTransaction)
  );
}

function isSameTransaction(a: SuiTransaction, b: SuiTransaction): boolean {
  return (
    a.txHash === b.txHash &&
    a.sender === b.sender &&
    a.gasOwner === b.gasOwner &&
    a.succeeded === b.succeeded &&
    a.gasMist === b.gasMist &&
    areSame(a.changes, b.changes, isSameChange)
  );
}

function isSameChange(a: BalanceChange, b: BalanceChange): boolean {
  return a.address === b.address && a.coinType === b.coinType && a.amount === b.amount;
}

function areSame<T>(ours: readonly T[], theirs: readonly T[], same: (a: T, b: T) => boolean): boolean {
  return (
    ours.length === theirs.length &&
    ours.every((one, place) => {
      const other = theirs[place];
      return other !== undefined && same(one, other);
    })
  );
}
