import type { ExpectedTransfer, RangeRead, ReadOptions } from '@opentill/chain/chain-reader';
import { readerError } from '@opentill/chain/reader-error';
import type { CandidateTransfer } from '@opentill/chain/transfer';
import { sameTransfers } from './block-transfers.ts';
import type { EvmHeader } from './decode.ts';
import { plainHeader } from './decode.ts';
import type { Testimony } from './hear-sources.ts';
import { hearSources } from './hear-sources.ts';
import { transfersByReceipts, transfersOfBlocksByReceipts } from './judge-by-receipts.ts';
import { mayHoldTransfers, suspicion, transfersOf } from './read-blocks.ts';
import type { BlockRange, JudgedBlock, Reading, SourceComparison } from './reading.ts';
import type { EvmSource, EvmSources } from './sources.ts';
import { mayBeBetterElsewhere } from './translate-rpc-error.ts';

type ByReceipts = ReadonlyMap<EvmHeader, readonly CandidateTransfer[]>;

/**
 * Reads a few blocks and their transfers for the verified pass: from two sources at once, whose differences the
 * receipts judge; from the receipts where only one source answers. See ChainReader.readVerified. Throws
 * RPC_RANGE_TOO_LARGE for more than one block that one of the providers finds too many.
 *
 * What it cannot see: a log that both sources leave out of a block of which they answer others, unless the seen pass
 * recorded it. The balances of the addresses, compared with the books, show that.
 */
export async function readVerifiedBlocks(
  reading: Reading,
  sources: EvmSources,
  range: BlockRange,
  expected: readonly ExpectedTransfer[],
  options: ReadOptions,
): Promise<RangeRead> {
  const testimony = await hearSources(reading, sources, range, options);
  const { account, peer } = testimony;
  const byReceipts =
    peer === undefined
      ? await readUnvouched(reading, testimony, options)
      : await judgeSuspects(reading, testimony, peer, expected, options);
  return {
    headers: account.headers.map(plainHeader),
    transfers: account.headers.flatMap(
      (header) => byReceipts.get(header) ?? transfersOf(reading, header, account),
    ),
  };
}

/** With one source, each block that its bloom does not exclude is read by its receipts. */
async function readUnvouched(
  reading: Reading,
  { source, account }: Testimony,
  options: ReadOptions,
): Promise<ByReceipts> {
  const headers = account.headers.filter((header) => mayHoldTransfers(reading, header));
  const transfers = await transfersOfBlocksByReceipts(reading, source, headers, options);
  return new Map(headers.map((header, place) => [header, transfers[place] ?? []]));
}

async function judgeSuspects(
  reading: Reading,
  { source, account }: Testimony,
  { source: second, difference }: NonNullable<Testimony['peer']>,
  expected: readonly ExpectedTransfer[],
  options: ReadOptions,
): Promise<ByReceipts> {
  const judges = [source, second] as const;
  const { outcome, height, differing } = difference;
  tellComparison(reading, judges, outcome, height);
  const byReceipts = new Map<EvmHeader, readonly CandidateTransfer[]>();
  for (const header of account.headers) {
    const here = expected.filter(({ blockHash }) => blockHash === header.hash);
    const lacks = (): boolean => here.length > 0 && !includesAll(transfersOf(reading, header, account), here);
    const reason: JudgedBlock['reason'] | undefined =
      suspicion(reading, header, account) ??
      (differing.has(header.hash) ? 'SOURCES_DIFFER' : undefined) ??
      (lacks() ? 'EXPECTED_MISSING' : undefined);
    if (reason === undefined) continue;
    reading.onJudged({ header, reason });
    byReceipts.set(header, await judge(reading, judges, header, options));
  }
  return byReceipts;
}

/** Two sources on different forks, or with different contents of one block: nothing says which of them is right. */
function tellComparison(
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

/**
 * The transfers of a block by its receipts. Where the block's own bloom is held against them, the first source with
 * whole receipts decides. Without a bloom both are asked, and must agree if both answer.
 */
async function judge(
  reading: Reading,
  judges: readonly [EvmSource, EvmSource],
  header: EvmHeader,
  options: ReadOptions,
): Promise<readonly CandidateTransfer[]> {
  const found: (readonly CandidateTransfer[])[] = [];
  let failure: unknown;
  for (const source of judges) {
    if (reading.bloom && found.length > 0) break;
    try {
      found.push(await transfersByReceipts(reading, source, header, options));
    } catch (error) {
      if (!mayBeBetterElsewhere(error)) throw error;
      failure ??= error;
    }
  }
  const [first, other] = found;
  if (first === undefined) throw failure;
  if (other !== undefined && !sameTransfers(first, other))
    tellComparison(reading, judges, 'CONTENTS_DIFFER', header.height);
  return first;
}

/** Whether `found` has every expected transfer, as often as it is expected. */
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
