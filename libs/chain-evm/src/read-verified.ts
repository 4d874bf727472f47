import type { ExpectedTransfer, RangeRead, ReadOptions } from '@opentill/chain/chain-reader';
import { isReaderError, readerError } from '@opentill/chain/reader-error';
import type { CandidateTransfer } from '@opentill/chain/transfer';
import { askAgain } from '@opentill/chain-sources/ask-again';
import { sameTransfers } from './block-transfers.ts';
import { decideByReceipts } from './decide-by-receipts.ts';
import type { EvmHeader } from './decode.ts';
import { plainHeader } from './decode.ts';
import type { Failures, ComparedAccount } from './read-from-two.ts';
import { readFromTwo, noteFailed } from './read-from-two.ts';
import type { ReceiptTransfers } from './transfers-by-receipts.ts';
import { transfersByReceipts, transfersOfBlocksByReceipts } from './transfers-by-receipts.ts';
import { compareHeaders } from './compare-sources.ts';
import type { Account, WantedRange } from './read-blocks.ts';
import {
  doubtsIn,
  emptyHeights,
  hashBelow,
  headerAt,
  heightsOf,
  lastHeights,
  mayHoldTransfers,
  transfersAt,
  withHeaders,
} from './read-blocks.ts';
import type { BlockRange, ReceiptDecision, Reading, SourceComparison } from './reading.ts';
import type { EvmSource, EvmSources } from './sources.ts';

/** With more doubtful blocks, a part of the range is asked for first: most faults of logs are temporary. */
const DOUBTS_MAX = 8;
const CONTRADICTIONS_MAX = 3;

type ByReceipts = ReadonlyMap<number, readonly CandidateTransfer[]>;

interface Decided {
  readonly account: Account;
  readonly byReceipts: ByReceipts;
}

interface FailedSource {
  readonly source: EvmSource;
  readonly error: unknown;
}

/**
 * Where two sources differ or look incomplete, the receipts of both decide and must agree. A single source, where
 * accepted, decides by its receipts.
 *
 * Two sources agree on the last block, and on each log with the hash of its block. A block without logs counts as
 * empty only if the headers of both permit that. These are the same, on Polygon apart from their lists.
 *
 * Limits: a log that both sources omit from a block of which they return others is missed, unless the seen pass
 * recorded it. Two sources with the same wrong answer are accepted.
 */
export async function readVerifiedBlocks(
  reading: Reading,
  sources: EvmSources,
  range: WantedRange,
  expected: readonly ExpectedTransfer[],
  options: ReadOptions,
): Promise<RangeRead> {
  const failures: Failures = new Map();
  let contradictions = 0;
  for (;;) {
    const compared = await readFromTwo(reading, sources, range, failures, options);
    const read = await conclude(reading, compared, expected, options);
    if (!('error' in read)) return read;
    // Headers that contradict the logs: a reorganisation in between, or logs of another branch.
    if (isReaderError(read.error, 'INCONSISTENT_ANSWER') && (contradictions += 1) < CONTRADICTIONS_MAX)
      continue;
    await noteFailed(sources, range, failures, read.source, read.error, options);
  }
}

async function conclude(
  reading: Reading,
  compared: ComparedAccount,
  expected: readonly ExpectedTransfer[],
  options: ReadOptions,
): Promise<RangeRead | FailedSource> {
  const { source, peer } = compared;
  const [decided, belowPeer] = await Promise.all([
    peer === undefined
      ? readUnconfirmed(reading, compared, options)
      : decide(reading, compared, peer, expected, options),
    peer && attempt(peer.source, () => hashBelow(peer.account, peer.source, options)),
  ]);
  if ('error' in decided) return decided;
  if (belowPeer !== undefined && 'error' in belowPeer) return belowPeer;
  const { account, byReceipts } = decided;
  const own = await attempt(source, () => hashBelow(account, source, options));
  if ('error' in own) return own;
  const below = own.value;
  // One source must not hide that the chain below the range was replaced.
  if (peer !== undefined && belowPeer?.value !== below)
    reportComparison(reading, [source, peer.source], 'FORKED', account.range.from - 1);
  const transfers: CandidateTransfer[] = [];
  for (const height of heightsOf(account.range))
    for (const one of byReceipts.get(height) ?? transfersAt(reading, account, height)) transfers.push(one);
  // Two sources agree on each of them.
  const heights = reading.native ? heightsOf(account.range) : lastHeights(account.range);
  return {
    headers: heights.flatMap((height) => account.headers.get(height) ?? []).map(plainHeader),
    ...(below === undefined ? {} : { below }),
    transfers,
  };
}

/** Blocks that the bloom does not exclude are read by their receipts. */
async function readUnconfirmed(
  reading: Reading,
  { source, account }: ComparedAccount,
  options: ReadOptions,
): Promise<Decided> {
  const headers = [...account.headers.values()].filter((header) => mayHoldTransfers(reading, header));
  const read = await transfersOfBlocksByReceipts(reading, source, headers, options);
  return {
    account,
    byReceipts: new Map(headers.map(({ height }, place) => [height, read[place]?.transfers ?? []])),
  };
}

async function decide(
  reading: Reading,
  { source, account: logged }: ComparedAccount,
  { source: second, account: logsOfPeer, difference }: NonNullable<ComparedAccount['peer']>,
  expected: readonly ExpectedTransfer[],
  options: ReadOptions,
): Promise<Decided | FailedSource> {
  const pair = [source, second] as const;
  reportComparison(reading, pair, difference.outcome, difference.height);
  const doubts = new Map<number, ReceiptDecision['reason']>();
  const doubt = (height: number, reason: ReceiptDecision['reason']): unknown =>
    doubts.has(height) || doubts.set(height, reason);
  if (logged.byHeight !== undefined)
    for (const height of difference.differing) doubt(height, 'SOURCES_DIFFER');
  for (const height of heightsLacking(reading, logged, expected)) doubt(height, 'EXPECTED_MISSING');
  requireFew(logged.range, doubts);
  const unknown = reading.tokens.size === 0 ? [] : emptyHeights(logged);
  const logs = [logged, logsOfPeer] as const;
  const same = await readSameHeaders(reading, pair, logs, [...unknown, ...doubts.keys()], options);
  if ('error' in same) return same;
  const [account] = same.accounts;
  for (const each of same.accounts)
    for (const [height, reason] of doubtsIn(reading, each)) doubt(height, reason);
  requireFew(logged.range, doubts);
  const byReceipts = await decideByReceipts<FailedSource>(account, doubts, async (height, reason) => {
    const read = await readSameHeaders(reading, pair, same.accounts, [height], options);
    if ('error' in read) return read;
    const [ours, theirs] = read.accounts;
    const headers = [
      await headerAt(ours, source, height, options),
      await headerAt(theirs, second, height, options),
    ] as const;
    reading.onDecidedByReceipts({ header: headers[0], reason });
    return transfersByBoth(reading, pair, headers, options);
  });
  return 'error' in byReceipts ? byReceipts : { account, byReceipts };
}

/**
 * Reads headers from both and compares them. Otherwise one source with an emptied bloom could hide what the other one
 * omits by mistake, and one with a sibling of the block could replace its payments.
 */
async function readSameHeaders(
  reading: Reading,
  pair: readonly [EvmSource, EvmSource],
  [ours, theirs]: readonly [Account, Account],
  heights: readonly number[],
  options: ReadOptions,
): Promise<{ readonly accounts: readonly [Account, Account] } | FailedSource> {
  const [own, peer] = await Promise.all([
    attempt(pair[0], () => withHeaders(ours, pair[0], heights, options)),
    attempt(pair[1], () => withHeaders(theirs, pair[1], heights, options)),
  ]);
  if ('error' in own) return own;
  if ('error' in peer) return peer;
  const contradiction = compareHeaders(reading, own.value, peer.value);
  if (contradiction !== undefined)
    reportComparison(reading, pair, contradiction.outcome, contradiction.height);
  return { accounts: [own.value, peer.value] };
}

async function attempt<T>(
  source: EvmSource,
  work: () => Promise<T>,
): Promise<{ readonly value: T } | FailedSource> {
  try {
    return { value: await work() };
  } catch (error) {
    return { source, error };
  }
}

/** RPC_RANGE_TOO_LARGE makes the caller read the range in parts. */
function requireFew({ from, to }: BlockRange, doubts: ReadonlyMap<number, unknown>): void {
  if (from === to || doubts.size <= DOUBTS_MAX) return;
  throw readerError('RPC_RANGE_TOO_LARGE', 'the logs of many blocks are in doubt', {
    from,
    to,
    doubts: doubts.size,
  });
}

/** Heights of expected transfers that the logs lack, unless the logs name another block there. */
function heightsLacking(
  reading: Reading,
  account: Account,
  expected: readonly ExpectedTransfer[],
): readonly number[] {
  const hashAt = (height: number): string | undefined =>
    account.byHeight?.get(height)?.hash ?? account.headers.get(height)?.hash;
  const byHeight = Map.groupBy(expected, ({ blockHeight }) => blockHeight);
  return [...byHeight].flatMap(([height, all]) => {
    const hash = hashAt(height);
    const here = all.filter(({ blockHash }) => (hash ?? blockHash) === blockHash);
    return includesAll(transfersAt(reading, account, height), here) ? [] : [height];
  });
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

/** Both sources must agree, because complete receipts can also be invented. Each fits the header of its source. */
async function transfersByBoth(
  reading: Reading,
  pair: readonly [EvmSource, EvmSource],
  headers: readonly [EvmHeader, EvmHeader],
  options: ReadOptions,
): Promise<ReceiptTransfers | FailedSource> {
  const [source, second] = pair;
  const [first, other] = await Promise.allSettled([
    askAgain(() => transfersByReceipts(reading, source, headers[0], options), options),
    askAgain(() => transfersByReceipts(reading, second, headers[1], options), options),
  ]);
  if (first.status === 'rejected') return { source, error: first.reason };
  if (other.status === 'rejected') return { source: second, error: other.reason };
  if (!sameTransfers(first.value.transfers, other.value.transfers))
    reportComparison(reading, pair, 'CONTENTS_DIFFER', headers[0].height);
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
