import type { ExpectedTransfer, RangeRead, ReadOptions } from '@opentill/chain/chain-reader';
import { readerError } from '@opentill/chain/reader-error';
import type { CandidateTransfer } from '@opentill/chain/transfer';
import { askAgain } from '@opentill/chain-sources/ask-again';
import { sameTransfers } from './block-transfers.ts';
import type { EvmHeader } from './decode.ts';
import { plainHeader } from './decode.ts';
import type { Failures, ComparedAccount } from './read-from-two.ts';
import { readFromTwo, noteFailed } from './read-from-two.ts';
import { transfersByReceipts, transfersOfBlocksByReceipts } from './transfers-by-receipts.ts';
import { mayHoldTransfers, reasonForReceipts, transfersOf } from './read-blocks.ts';
import type { BlockRange, ReceiptDecision, Reading, SourceComparison } from './reading.ts';
import type { EvmSource, EvmSources } from './sources.ts';

type ByReceipts = ReadonlyMap<EvmHeader, readonly CandidateTransfer[]>;

interface FailedSource {
  readonly source: EvmSource;
  readonly error: unknown;
}

/**
 * Where two sources differ or look incomplete, the receipts of both decide and must agree. A single source, where
 * accepted, decides by its receipts.
 *
 * Limits: a log that both sources omit from a block of which they return others is missed, unless the seen pass
 * recorded it. Two sources with the same wrong answer are accepted.
 */
export async function readVerifiedBlocks(
  reading: Reading,
  sources: EvmSources,
  range: BlockRange,
  expected: readonly ExpectedTransfer[],
  options: ReadOptions,
): Promise<RangeRead> {
  const failures: Failures = new Map();
  for (;;) {
    const compared = await readFromTwo(reading, sources, range, failures, options);
    const { account, peer } = compared;
    const byReceipts =
      peer === undefined
        ? await readUnconfirmed(reading, compared, options)
        : await decideByReceipts(reading, compared, peer, expected, options);
    if ('error' in byReceipts) {
      await noteFailed(sources, range, failures, byReceipts.source, byReceipts.error, options);
      continue;
    }
    return {
      headers: account.headers.map(plainHeader),
      transfers: account.headers.flatMap(
        (header) => byReceipts.get(header) ?? transfersOf(reading, header, account),
      ),
    };
  }
}

/** Blocks that the bloom does not exclude are read by their receipts. */
async function readUnconfirmed(
  reading: Reading,
  { source, account }: ComparedAccount,
  options: ReadOptions,
): Promise<ByReceipts> {
  const headers = account.headers.filter((header) => mayHoldTransfers(reading, header));
  const transfers = await transfersOfBlocksByReceipts(reading, source, headers, options);
  return new Map(headers.map((header, place) => [header, transfers[place] ?? []]));
}

async function decideByReceipts(
  reading: Reading,
  { source, account }: ComparedAccount,
  { source: second, difference }: NonNullable<ComparedAccount['peer']>,
  expected: readonly ExpectedTransfer[],
  options: ReadOptions,
): Promise<ByReceipts | FailedSource> {
  const pair = [source, second] as const;
  const { outcome, height, differing } = difference;
  reportComparison(reading, pair, outcome, height);
  const byReceipts = new Map<EvmHeader, readonly CandidateTransfer[]>();
  for (const header of account.headers) {
    const here = expected.filter(({ blockHash }) => blockHash === header.hash);
    const lacks = (): boolean => here.length > 0 && !includesAll(transfersOf(reading, header, account), here);
    const isEmpty = (): boolean => (account.byBlock?.get(header.hash)?.logCount ?? 0) === 0;
    const reason: ReceiptDecision['reason'] | undefined =
      reasonForReceipts(reading, header, account) ??
      (differing.has(header.hash) ? 'SOURCES_DIFFER' : undefined) ??
      (lacks() ? 'EXPECTED_MISSING' : undefined) ??
      // A false empty answer is the most frequent error, and this header cannot contradict it.
      (!reading.bloom && isEmpty() && mayHoldTransfers(reading, header) ? 'EMPTY_WITHOUT_BLOOM' : undefined);
    if (reason === undefined) continue;
    reading.onDecidedByReceipts({ header, reason });
    const judged = await transfersByBoth(reading, pair, header, options);
    if ('error' in judged) return judged;
    byReceipts.set(header, judged);
  }
  return byReceipts;
}

function reportComparison(
  reading: Reading,
  [source, second]: readonly [EvmSource, EvmSource],
  outcome: SourceComparison['outcome'],
  height: number,
): void {
  const labels = [source.label, second.label] as const;
  reading.onCompared({ outcome, sources: labels, height });
  if (outcome === 'FORKED' || outcome === 'CONTENTS_DIFFER') {
    const what = outcome === 'FORKED' ? 'have different blocks' : 'give different contents of a block';
    throw readerError('INCONSISTENT_ANSWER', `two sources ${what}`, { outcome, sources: labels, height });
  }
}

/** Both sources must agree, because complete receipts can also be invented. */
async function transfersByBoth(
  reading: Reading,
  pair: readonly [EvmSource, EvmSource],
  header: EvmHeader,
  options: ReadOptions,
): Promise<readonly CandidateTransfer[] | FailedSource> {
  const [source, second] = pair;
  const [first, other] = await Promise.allSettled([
    askAgain(() => transfersByReceipts(reading, source, header, options), options),
    askAgain(() => transfersByReceipts(reading, second, header, options), options),
  ]);
  if (first.status === 'rejected') return { source, error: first.reason };
  if (other.status === 'rejected') return { source: second, error: other.reason };
  if (!sameTransfers(first.value, other.value))
    reportComparison(reading, pair, 'CONTENTS_DIFFER', header.height);
  return first.value;
}

/** A repeated transfer must be found as often as it is expected. */
function includesAll(found: readonly ExpectedTransfer[], expected: readonly ExpectedTransfer[]): boolean {
  const left = new Map<string, number>();
  const contents = (t: ExpectedTransfer): string => `${t.txHash} ${t.contract} ${t.to} ${t.amountBaseUnits}`;
  for (const transfer of found) left.set(contents(transfer), (left.get(contents(transfer)) ?? 0) + 1);
  return expected.every((transfer) => {
    const count = left.get(contents(transfer)) ?? 0;
    left.set(contents(transfer), count - 1);
    return count > 0;
  });
}
