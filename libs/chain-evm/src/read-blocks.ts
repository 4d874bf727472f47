import type { BlockHash } from '@opentill/chain/block';
import type { RangeRead, ReadOptions } from '@opentill/chain/chain-reader';
import { isReaderError, readerError } from '@opentill/chain/reader-error';
import { blockRequest, logsRequest } from './block-requests.ts';
import type { TransfersByHeight } from './block-transfers.ts';
import { bloomMayHold } from './bloom.ts';
import type { EvmClient, RawAnswer, RpcRequest } from './client.ts';
import type { EvmHeader } from './decode.ts';
import { decodeHeader } from './decode.ts';
import { nativeTransfersOf } from './native-transfers.ts';
import { readLogAnswer } from './read-log-answer.ts';
import type { BlockRange, ReceiptDecision, Reading } from './reading.ts';

/**
 * Providers that return no error for a longer answer return this many logs at most. An answer of so many may be cut
 * off.
 */
const ANSWER_LOGS_MAX = 10_000;
/** Lower limits are round numbers, too. Cut off there within the last block, no empty block shows it. */
const ROUND_LOGS = 500;

export interface WantedRange extends BlockRange {
  readonly headersAt?: readonly number[] | undefined;
}

/** What one source returned for a range. */
export interface Account {
  readonly range: WantedRange;
  /** Also has the block below the range if its logs were asked for. Undefined: one block has too many logs. */
  readonly byHeight: TransfersByHeight | undefined;
  /** Those that were read, ascending. With the native coin all of the range. */
  readonly headers: ReadonlyMap<number, EvmHeader>;
}

export function blockRequests({ native }: Pick<Reading, 'native'>, range: BlockRange): RpcRequest[] {
  return heightsOf(range).map((height) => blockRequest(height, native));
}

/**
 * Logs of the range and of the block below it: the hash that a log names for that block shows, without another call,
 * whether the range continues it. Then the blocks of `headersAt`, and the last one, so that a reorganisation while the
 * logs were read is detected.
 */
export function rangeRequests({ tokens }: Pick<Reading, 'tokens'>, range: WantedRange): RpcRequest[] {
  // No address would mean every address.
  const logs = tokens.size === 0 ? [] : [logsRequest(tokens, logRange(range).from, range.to)];
  return [...logs, ...lastHeights(range).map((height) => blockRequest(height))];
}

/** Ascending, without repetition; the last one is the end of the range. */
export function lastHeights({ from, to, headersAt = [] }: WantedRange): readonly number[] {
  const within = headersAt.filter((height) => height >= from && height < to);
  return [...new Set(within), to].toSorted((a, b) => a - b);
}

/** A single block names its parent, so its logs need no block below. */
function logRange({ from, to }: BlockRange): BlockRange {
  return { from: from === to ? from : Math.max(0, from - 1), to };
}

/**
 * `blocks`: all blocks of the range with their transactions, for the native coin. RPC_RANGE_TOO_LARGE if the logs may
 * be cut off; of a single block they are then left out.
 */
export function accountOf(
  { tokens }: Pick<Reading, 'tokens'>,
  range: WantedRange,
  answers: { readonly blocks: RawAnswer | undefined; readonly logs: RawAnswer },
): Account {
  const read =
    tokens.size === 0
      ? { byHeight: new Map(), others: answers.logs.results() }
      : readLogAnswer(tokens, logRange(range), answers.logs);
  const logs = sumOfLogs(read.byHeight);
  const isRound = logs > 0 && logs % ROUND_LOGS === 0;
  const mayBeCutOff = isRound || logs >= ANSWER_LOGS_MAX;
  if (mayBeCutOff && range.from < range.to) {
    const context = { from: range.from, to: range.to, logs, isLimit: logs >= ANSWER_LOGS_MAX };
    throw readerError(
      'RPC_RANGE_TOO_LARGE',
      'the answer has as many logs as some providers return at most',
      context,
    );
  }
  const byHeight = mayBeCutOff ? undefined : read.byHeight;
  const blocks = headersIn(answers.blocks?.results() ?? [], range.from);
  return withLast(checkedAccount({ range, byHeight, headers: blocks }), read.others);
}

function sumOfLogs(byHeight: TransfersByHeight): number {
  return [...byHeight.values()].reduce((sum, { logCount }) => sum + logCount, 0);
}

/** Adds the last block, read after the others, and those of `headersAt`. Where it was read before, hashes must match. */
export function withLast(account: Account, raw: readonly unknown[]): Account {
  const { range, headers } = account;
  const last = raw.length === 0 ? new Map<number, EvmHeader>() : headersOf(raw, lastHeights(range));
  const [before, again] = [headers.get(range.to), last.get(range.to)];
  if (before !== undefined && again !== undefined && before.hash !== again.hash)
    throw readerError('INCONSISTENT_ANSWER', 'the last block changed while the range was read', { ...range });
  return checkedAccount({ ...account, headers: new Map([...last, ...headers]) });
}

/** Heights ascend from `from` without gaps. BLOCK_NOT_FOUND when the node lacks one. */
function headersIn(raw: readonly unknown[], from: number): ReadonlyMap<number, EvmHeader> {
  return headersOf(
    raw,
    raw.map((_, place) => from + place),
  );
}

/** All blocks of a range from `from` on. */
export function linkedHeaders(raw: readonly unknown[], from: number): readonly EvmHeader[] {
  const { headers } = checkedAccount({
    range: { from, to: from + raw.length - 1 },
    byHeight: undefined,
    headers: headersIn(raw, from),
  });
  return [...headers.values()];
}

function headersOf(raw: readonly unknown[], heights: readonly number[]): ReadonlyMap<number, EvmHeader> {
  return new Map(heights.map((height, place) => [height, headerIn(raw[place], height)]));
}

export function headerIn(raw: unknown, height: number): EvmHeader {
  if (raw === null) throw readerError('BLOCK_NOT_FOUND', 'the node does not have the block', { height });
  const header = decodeHeader(raw);
  if (header.height === height) return header;
  const context = { height, answered: header.height };
  throw readerError('INCONSISTENT_ANSWER', 'the node answered another block', context);
}

export async function withHeaders(
  account: Account,
  source: Pick<EvmClient, 'batch'>,
  heights: readonly number[],
  options: ReadOptions,
): Promise<Account> {
  const wanted = heights.filter((height) => !account.headers.has(height));
  if (wanted.length === 0) return account;
  const raw = await source.batch(
    wanted.map((height) => blockRequest(height)),
    options,
  );
  return checkedAccount({ ...account, headers: new Map([...account.headers, ...headersOf(raw, wanted)]) });
}

/** Header of a block in the account's chain. Throws INCONSISTENT_ANSWER if its neighbours or logs contradict it. */
export async function headerAt(
  account: Account,
  source: Pick<EvmClient, 'batch'>,
  height: number,
  options: ReadOptions,
): Promise<EvmHeader> {
  const { headers } = await withHeaders(account, source, [height], options);
  const header = headers.get(height);
  if (header === undefined) throw new RangeError(`the block was not read: ${height}`);
  return header;
}

/** Throws INCONSISTENT_ANSWER where hashes, parents or times contradict each other. Equal times are normal. */
function checkedAccount({ headers, ...account }: Account): Account {
  const sorted = new Map([...headers].toSorted(([a], [b]) => a - b));
  const hashes = new Map([...(account.byHeight ?? [])].map(([height, { hash }]) => [height, hash]));
  const inconsistent = (why: string, { height, hash }: EvmHeader): never => {
    throw readerError('INCONSISTENT_ANSWER', why, { height, hash });
  };
  let before = 0;
  for (const [height, header] of sorted) {
    if ((hashes.get(height) ?? header.hash) !== header.hash)
      inconsistent('the chain changed while the range was read', header);
    hashes.set(height, header.hash);
    // The clock is no reference: a development chain may run far ahead of it.
    if (header.timeSeconds < before) inconsistent('the time of a block is before its parent’s', header);
    before = header.timeSeconds;
  }
  for (const [height, header] of sorted)
    if ((hashes.get(height - 1) ?? header.parentHash) !== header.parentHash)
      inconsistent('the blocks are not linked', header);
  return { ...account, headers: sorted };
}

/**
 * Hash of the block below the range, undefined below block 0. Reads a header where no log names it, or another than the
 * expected one: that log may be of another branch than the range.
 */
export async function hashBelow(
  { range: { from }, byHeight, headers }: Account,
  source: Pick<EvmClient, 'batch'>,
  options: ReadOptions,
  expected?: BlockHash,
): Promise<BlockHash | undefined> {
  if (from === 0) return undefined;
  const named = byHeight?.get(from - 1)?.hash ?? headers.get(from)?.parentHash;
  if (named !== undefined && named === (expected ?? named)) return named;
  const [raw] = await source.batch([blockRequest(from - 1)], options);
  const { hash } = headerIn(raw, from - 1);
  if (hash === (named ?? hash)) return hash;
  throw readerError('INCONSISTENT_ANSWER', 'a log names another block than its header', { height: from - 1 });
}

export function lastHeader({ headers, range }: Account): EvmHeader {
  const last = headers.get(range.to);
  if (last === undefined) throw new RangeError(`the last block was not read: ${range.to}`);
  return last;
}

/** Blocks of which no log is known. */
export function emptyHeights({ range, byHeight }: Account): readonly number[] {
  return heightsOf(range).filter((height) => !byHeight?.has(height));
}

export function heightsOf({ from, to }: BlockRange): readonly number[] {
  return Array.from({ length: to - from + 1 }, (_, place) => from + place);
}

/** Blocks that may have more transfers than the logs, judged from the headers that were read. */
export function doubtsIn(reading: Reading, account: Account): ReadonlyMap<number, ReceiptDecision['reason']> {
  const { headers, byHeight } = account;
  const reason =
    byHeight === undefined ? 'TOO_MANY_LOGS' : reading.bloom ? 'BLOOM_CONTRADICTS' : 'EMPTY_WITHOUT_BLOOM';
  return new Map(
    emptyHeights(account).flatMap((height) => {
      const header = headers.get(height);
      return header !== undefined && mayHoldTransfers(reading, header) ? [[height, reason] as const] : [];
    }),
  );
}

/** Entries of the answer. Undefined if it was not read. */
export function logsIn({ byHeight }: Account): number | undefined {
  return byHeight && sumOfLogs(byHeight);
}

/** The next lower block of the range with logs. An answer that lacks logs above it may be cut off within it. */
export function nextLowerWithLogs({ range, byHeight }: Account, height: number): number | undefined {
  for (let lower = height - 1; lower >= range.from; lower -= 1) if (byHeight?.has(lower)) return lower;
  return undefined;
}

/** False only where the block's own bloom, or its lack of transactions, excludes a configured token's Transfer. */
export function mayHoldTransfers(reading: Reading, header: EvmHeader): boolean {
  if (reading.tokens.size === 0) return false;
  if (!reading.bloom) return header.transactions.length > 0;
  return (
    bloomMayHold(header.logsBloom, reading.transferBits) &&
    reading.tokenBits.some((bits) => bloomMayHold(header.logsBloom, bits))
  );
}

export function withoutLogs(range: WantedRange, blocks?: RawAnswer): Account {
  return checkedAccount({
    range,
    byHeight: undefined,
    headers: headersIn(blocks?.results() ?? [], range.from),
  });
}

export function transfersAt(
  reading: Pick<Reading, 'native'>,
  { byHeight, headers }: Account,
  height: number,
): RangeRead['transfers'] {
  const ofTokens = byHeight?.get(height)?.transfers ?? [];
  const header = reading.native ? headers.get(height) : undefined;
  return header === undefined ? ofTokens : [...ofTokens, ...nativeTransfersOf(header)];
}

/** Undefined when a single block is too large: the caller then reads its receipts. */
export async function unlessTooLarge<T>(
  { from, to }: BlockRange,
  work: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (from === to && isReaderError(error, 'RPC_RANGE_TOO_LARGE')) return undefined;
    throw error;
  }
}
