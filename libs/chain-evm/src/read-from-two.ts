import type { ReadOptions } from '@opentill/chain/chain-reader';
import { isReaderError } from '@opentill/chain/reader-error';
import { askAgain } from '@opentill/chain-sources/ask-again';
import { noteRefusal, pairOf, noSecondSource } from '@opentill/chain-sources/ask-two-sources';
import { blockRequest } from './block-requests.ts';
import type { PeerAccount, SourceAnswers } from './compare-sources.ts';
import { compareSources } from './compare-sources.ts';
import { isTooLarge, noteAccepted, noteTooLarge } from './read-in-calls.ts';
import type { Account, WantedRange } from './read-blocks.ts';
import {
  accountOf,
  blockRequests,
  heightsOf,
  lastHeights,
  logsIn,
  rangeRequests,
  unlessTooLarge,
  withHeaders,
  withLast,
  withoutLogs,
} from './read-blocks.ts';
import type { BlockRange, Reading } from './reading.ts';
import type { EvmSource, EvmSources } from './sources.ts';

export interface ComparedAccount {
  readonly source: EvmSource;
  /** A single source gives the headers of all blocks, without logs. */
  readonly account: Account;
  readonly peer: (PeerAccount & { readonly source: EvmSource }) | undefined;
}

/** Kept through all attempts at one range, so that each source is asked once. */
export type Failures = Map<EvmSource, unknown>;

/**
 * Asks two sources at once and replaces one that fails. Accepts a single source only where `acceptsSingle` permits.
 * RPC_RANGE_TOO_LARGE of any source ends it, unless the range is a single block.
 */
export async function readFromTwo(
  reading: Reading,
  sources: EvmSources,
  range: WantedRange,
  failures: Failures,
  options: ReadOptions,
): Promise<ComparedAccount> {
  const failed = (source: EvmSource, error: unknown): Promise<void> =>
    noteFailed(sources, range, failures, source, error, options);
  for (;;) {
    const [source, second] = pairOf(sources.quorumSources().filter((witness) => !failures.has(witness)));
    if (source === undefined) throw [...failures.values()][0];
    if (second === undefined && !sources.acceptsSingle(source)) throw noSecondSource(sources, failures);
    const again = <T>(work: () => Promise<T>): Promise<T> => askAgain(work, options);
    const [own, peer] = await Promise.allSettled([
      again(async () =>
        second === undefined
          ? { account: await readHeadersOnly(reading, source, range, options), answers: undefined }
          : readOwn(reading, source, range, options),
      ),
      second && again(() => askForRange(reading, second, range, options)),
    ]);
    if (own.status === 'rejected') await failed(source, own.reason);
    if (second !== undefined && peer.status === 'rejected') await failed(second, peer.reason);
    if (own.status === 'rejected' || peer.status === 'rejected') continue;
    noteAccepted(source, range, logsIn(own.value.account));
    sources.noteCompleteness(source, true);
    const { account, answers } = own.value;
    if (second === undefined || peer.value === undefined || answers === undefined) {
      if (sources.all().length > 1) reading.onSingleSource(source);
      return { source, account, peer: undefined };
    }
    const theirs = peer.value;
    try {
      const compared = compareSources(reading, { account, answers }, theirs, () =>
        decoded(reading, range, theirs),
      );
      noteAccepted(second, range, logsIn(compared.account));
      sources.noteCompleteness(second, true);
      return { source, account, peer: { source: second, ...compared } };
    } catch (error) {
      await failed(second, error);
    }
  }
}

/** Throws an error that is not the source's fault. */
export async function noteFailed(
  sources: EvmSources,
  range: BlockRange,
  failures: Failures,
  source: EvmSource,
  error: unknown,
  options: ReadOptions,
): Promise<void> {
  noteTooLarge(source, range, error);
  if (isTooLarge(range, error)) throw error;
  if (!isReaderError(error, 'RPC_RANGE_TOO_LARGE'))
    failures.set(source, await noteRefusal(sources, source, error, range.to, options));
  else failures.set(source, error); // a block too large for this source may be small enough for another
}

/** Without a second source, receipts prove more than logs, so logs are not requested. */
async function readHeadersOnly(
  reading: Reading,
  source: EvmSource,
  range: WantedRange,
  options: ReadOptions,
): Promise<Account> {
  const blocks = reading.native ? await source.ask(blockRequests(reading, range), options) : undefined;
  return withHeaders(withoutLogs(range, blocks), source, heightsOf(range), options);
}

async function readOwn(
  reading: Reading,
  source: EvmSource,
  range: WantedRange,
  options: ReadOptions,
): Promise<{ readonly account: Account; readonly answers: SourceAnswers }> {
  const answers = await askForRange(reading, source, range, options);
  return { account: decoded(reading, range, answers), answers };
}

function decoded(reading: Reading, range: WantedRange, answers: SourceAnswers & PlainLast): Account {
  if (answers.logs !== undefined) return accountOf(reading, range, { ...answers, logs: answers.logs });
  return withLast(withoutLogs(range, answers.blocks), answers.last);
}

interface PlainLast {
  /** The last block and those of `headersAt`, where the source returned no logs. */
  readonly last: readonly unknown[];
}

async function askForRange(
  reading: Reading,
  source: EvmSource,
  range: WantedRange,
  options: ReadOptions,
): Promise<SourceAnswers & PlainLast> {
  const [blocks, logs] = await Promise.all([
    reading.native ? source.ask(blockRequests(reading, range), options) : undefined,
    logsIfGiven(range, () => source.ask(rangeRequests(reading, range), options)),
  ]);
  const heights = logs === undefined ? lastHeights(range) : [];
  const last =
    heights.length === 0
      ? []
      : await source.batch(
          heights.map((height) => blockRequest(height)),
          options,
        );
  return { blocks, logs, last };
}

/** Undefined when the block has too many logs or the method is missing. Receipts hold the same data. */
async function logsIfGiven<T>(range: BlockRange, work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await unlessTooLarge(range, work);
  } catch (error) {
    if (isReaderError(error, 'RPC_METHOD_MISSING')) return undefined;
    throw error;
  }
}
