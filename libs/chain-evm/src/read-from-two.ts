import type { ReadOptions } from '@opentill/chain/chain-reader';
import { isReaderError, readerError } from '@opentill/chain/reader-error';
import { askAgain } from '@opentill/chain-sources/ask-again';
import { noteRefusal, pairOf, noSecondSource } from '@opentill/chain-sources/ask-two-sources';
import { blockRequest } from './block-requests.ts';
import type { RpcRequest } from './client.ts';
import type { OwnAccount, PeerAnswers, SourceDifference } from './compare-sources.ts';
import { compareSources } from './compare-sources.ts';
import type { EvmHeader } from './decode.ts';
import { sameHeader } from './decode.ts';
import { isTooLarge, noteAccepted, noteTooLarge } from './read-in-calls.ts';
import type { Account } from './read-blocks.ts';
import { accountOf, blockRequests, linkedHeaders, logRequests, unlessTooLarge } from './read-blocks.ts';
import { readLogAnswer } from './read-log-answer.ts';
import type { BlockRange, Reading } from './reading.ts';
import type { EvmSource, EvmSources } from './sources.ts';

export interface ComparedAccount {
  readonly source: EvmSource;
  readonly account: Account;
  readonly peer: { readonly source: EvmSource; readonly difference: SourceDifference } | undefined;
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
  range: BlockRange,
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
    const headers =
      reading.bloom || second === undefined
        ? undefined
        : again(() => readHeaders(reading, source, range, options));
    const [own, peer] = await Promise.allSettled([
      again(() =>
        second === undefined
          ? readHeadersOnly(reading, source, range, options)
          : readOwnAccount(reading, source, range, headers, options),
      ),
      second && again(() => askPeer(reading, second, range, headers, options)),
    ]);
    if (own.status === 'rejected') await failed(source, own.reason);
    if (second !== undefined && peer.status === 'rejected') await failed(second, peer.reason);
    if (own.status === 'rejected' || peer.status === 'rejected') continue;
    noteAccepted(source, range);
    sources.noteCompleteness(source, true);
    const { account } = own.value;
    if (second === undefined) {
      if (sources.all().length > 1) reading.onSingleSource(source);
      return { source, account, peer: undefined };
    }
    if (peer.value === undefined) continue;
    try {
      const difference = compareSources(reading, own.value, peer.value);
      noteAccepted(second, range);
      sources.noteCompleteness(second, true);
      return { source, account, peer: { source: second, difference } };
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
  range: BlockRange,
  options: ReadOptions,
): Promise<OwnAccount> {
  const headers = await readHeaders(reading, source, range, options);
  return { account: { headers, byBlock: undefined }, blocks: undefined, logs: undefined };
}

async function readHeaders(
  reading: Reading,
  source: EvmSource,
  range: BlockRange,
  options: ReadOptions,
): Promise<readonly EvmHeader[]> {
  const headers = linkedHeaders(await source.batch(blockRequests(reading, range), options), range.from);
  return timely(headers);
}

/** Equal seconds are normal. The clock is no reference: a development chain may run far ahead of it. */
function timely(headers: readonly EvmHeader[]): readonly EvmHeader[] {
  let before = 0;
  for (const { height, timeSeconds } of headers) {
    if (timeSeconds < before)
      throw readerError('INCONSISTENT_ANSWER', 'the time of a block is before its parent’s', {
        height,
        timeSeconds,
      });
    before = timeSeconds;
  }
  return headers;
}

/** The logs, the first block and, after the logs, the last block. The linked blocks' times lie between those two. */
function witnessRequests(
  reading: Reading,
  range: BlockRange,
  headers: readonly EvmHeader[] = [],
): readonly RpcRequest[] {
  return [...firstRequest(range), ...logRequests(reading, range, headers)];
}

function firstRequest({ from, to }: BlockRange): readonly RpcRequest[] {
  return from < to ? [blockRequest(from)] : [];
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

async function readOwnAccount(
  reading: Reading,
  source: EvmSource,
  range: BlockRange,
  headersFirst: Promise<readonly EvmHeader[]> | undefined,
  options: ReadOptions,
): Promise<OwnAccount> {
  const known = await headersFirst;
  const [blocks, logs] = await Promise.all([
    known === undefined ? source.ask(blockRequests(reading, range), options) : undefined,
    logsIfGiven(range, () => source.ask(witnessRequests(reading, range, known), options)),
  ]);
  const headers = known ?? timely(linkedHeaders(blocks?.results() ?? [], range.from));
  const first = firstRequest(range).length;
  const read = logs && readLogAnswer(reading.tokens, headers, logs, first);
  const [again] = linkedHeaders(read?.others.slice(0, first) ?? [], range.from);
  if (again !== undefined && headers[0] !== undefined && !sameHeader(again, headers[0]))
    throw readerError('INCONSISTENT_ANSWER', 'the first block changed while the range was read', {
      ...range,
    });
  return { account: accountOf(headers, read), blocks, logs };
}

async function askPeer(
  reading: Reading,
  source: EvmSource,
  range: BlockRange,
  headersFirst: Promise<readonly EvmHeader[]> | undefined,
  options: ReadOptions,
): Promise<PeerAnswers | undefined> {
  const known = await headersFirst?.catch(() => []);
  if (known?.length === 0) return undefined;
  const [blocks, logs] = await Promise.all([
    reading.native ? source.ask(blockRequests(reading, range), options) : undefined,
    logsIfGiven(range, () => source.ask(witnessRequests(reading, range, known), options)),
  ]);
  return {
    blocks,
    logs: logs ?? (await source.ask([...firstRequest(range), blockRequest(range.to)], options)),
    hasLogs: logs !== undefined,
  };
}
