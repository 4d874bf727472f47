import type { FateOptions, ReadOptions } from '@opentill/chain/chain-reader';
import type { FatesRead, OwnTransaction, TransactionFate } from '@opentill/chain/own-transaction';
import { isReaderError, readerError } from '@opentill/chain/reader-error';
import type { TxHash } from '@opentill/chain/transfer';
import { askTwoSources, type TwoSourcesQuestion } from './ask-two-sources.ts';
import type { Source } from './source.ts';
import type { Sources } from './sources.ts';

/** 'unsound': not a receipt of the transaction. 'foreign': another wallet sent it. */
export type FateAnswer = TransactionFate | 'none' | 'unsound' | 'foreign';

export type FateReport = ReadonlyMap<TxHash, FateAnswer>;

export type FateQuestion<S extends Source> = Pick<
  TwoSourcesQuestion<S, FateReport>,
  'ask' | 'onSingleSource'
>;

export async function askFates<S extends Source>(
  sources: Sources<S>,
  own: readonly OwnTransaction[],
  { ask, onSingleSource }: FateQuestion<S>,
  { byOneSource = false, atHeight, requireTwoSources, ...options }: FateOptions,
): Promise<FatesRead> {
  if (own.length === 0) return { fates: [], disputed: [] };
  if (byOneSource) return agreedBy(own, [await askOneSource(sources, ask, options)]);
  const received = await askTwoSources(
    sources,
    { ask, height: atHeight, onSingleSource, requireTwoSources },
    options,
  );
  return agreedBy(
    own,
    received.flatMap((one) => (one === undefined ? [] : [one.answer])),
  );
}

/** The first report that is sound for all transactions, else the last one that is sound for some. */
async function askOneSource<S extends Source>(
  sources: Sources<S>,
  ask: FateQuestion<S>['ask'],
  options: ReadOptions,
): Promise<FateReport> {
  let partly: FateReport | undefined;
  try {
    return await sources.run(
      async (source, runOptions) => {
        const report = await ask(source, runOptions);
        const unsound = [...report].filter(([, answer]) => answer === 'unsound').map(([txHash]) => txHash);
        if (unsound.length === 0) return report;
        partly = report;
        throw readerError('INCONSISTENT_ANSWER', "the node's answers are not the transactions' receipts", {
          txHashes: unsound,
        });
      },
      { ...options, hedge: true },
    );
  } catch (error) {
    // A transaction that every source answers wrongly must not delay the others.
    if (partly === undefined || !isReaderError(error, 'INCONSISTENT_ANSWER')) throw error;
    return partly;
  }
}

/**
 * A transaction that another wallet sent is disputed even if all sources agree on that: the database row that names it
 * as own is wrong, and no proof about the bytes that the gateway signed.
 */
function agreedBy(own: readonly OwnTransaction[], reports: readonly FateReport[]): FatesRead {
  const fates: TransactionFate[] = [];
  const disputed: TxHash[] = [];
  for (const { txHash } of own) {
    const [first, ...others] = reports.map((report) => report.get(txHash));
    const isUsable = first !== undefined && first !== 'unsound' && first !== 'foreign';
    if (!isUsable || !others.every((other) => isSame(first, other))) disputed.push(txHash);
    else if (first !== 'none') fates.push(first);
  }
  return { fates, disputed };
}

function isSame(a: TransactionFate | 'none', b: FateAnswer | undefined): boolean {
  if (typeof a === 'string' || typeof b !== 'object') return a === b;
  return (
    a.blockHash === b.blockHash &&
    a.blockHeight === b.blockHeight &&
    a.succeeded === b.succeeded &&
    a.deliveredBaseUnits === b.deliveredBaseUnits &&
    a.feeBaseUnits === b.feeBaseUnits
  );
}
