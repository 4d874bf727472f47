import type { RangeRead, ReadOptions } from '@opentill/chain/chain-reader';
import { isReaderError, readerError } from '@opentill/chain/reader-error';
import { blockRequest, logsOfBlockRequest, logsRequest } from './block-requests.ts';
import type { TransfersByBlock } from './block-transfers.ts';
import { bloomMayHold } from './bloom.ts';
import type { EvmClient, RpcRequest } from './client.ts';
import type { EvmHeader } from './decode.ts';
import { decodeHeader, plainHeader, sameHeader } from './decode.ts';
import { transfersByReceipts } from './transfers-by-receipts.ts';
import { nativeTransfersOf } from './native-transfers.ts';
import { logsReadIn, type LogsRead } from './read-log-answer.ts';
import type { BlockRange, ReceiptDecision, Reading } from './reading.ts';

export function linkedHeaders(raw: readonly unknown[], from: number): readonly EvmHeader[] {
  const headers = raw.map((block, place) => {
    if (block === null)
      throw readerError('BLOCK_NOT_FOUND', 'the node does not have the block', { height: from + place });
    return decodeHeader(block);
  });
  headers.forEach((header, place) => {
    const height = from + place;
    if (header.height !== height) {
      throw readerError('INCONSISTENT_ANSWER', 'the node answered another block', {
        height,
        answered: header.height,
      });
    }
    const parent = headers[place - 1];
    if (parent !== undefined && header.parentHash !== parent.hash) {
      throw readerError('INCONSISTENT_ANSWER', 'the blocks are not linked', { height, hash: header.hash });
    }
  });
  return headers;
}

export function blockRequests({ native }: Pick<Reading, 'native'>, { from, to }: BlockRange): RpcRequest[] {
  return Array.from({ length: to - from + 1 }, (_, place) => blockRequest(from + place, native));
}

/**
 * The logs of blocks, then the last block again: if its hash changed, the logs may be of either branch. Where no bloom
 * can contradict an empty answer, logs are requested by block hash, so that a node without the block returns an error.
 * Only this uses `headers`.
 */
export function logRequests(
  { bloom, tokens }: Reading,
  { from, to }: BlockRange,
  headers: readonly EvmHeader[] = [],
): RpcRequest[] {
  if (tokens.size === 0) return [blockRequest(to)]; // no address would mean every address
  const logs =
    bloom || headers.length === 0
      ? [logsRequest(tokens, from, to)]
      : headers.map((header) => logsOfBlockRequest(tokens, header.hash));
  return [...logs, blockRequest(to)];
}

export interface Account {
  readonly headers: readonly EvmHeader[];
  /** Undefined when even one block has more logs than the provider returns in an answer. */
  readonly byBlock: TransfersByBlock | undefined;
}

export function accountOf(headers: readonly EvmHeader[], logs: LogsRead | undefined): Account {
  if (logs === undefined) return { headers, byBlock: undefined };
  const last = headers.at(-1);
  const [again] = linkedHeaders(logs.others.slice(-1), last?.height ?? 0);
  if (again === undefined || last === undefined || !sameHeader(again, last)) {
    throw readerError('INCONSISTENT_ANSWER', 'the last block changed while the range was read', {
      height: again?.height,
    });
  }
  return { headers, byBlock: logs.byBlock() };
}

/** Reason why a block may have more transfers than its source's logs, judged from that source only. */
export function reasonForReceipts(
  reading: Reading,
  header: EvmHeader,
  account: Account,
): ReceiptDecision['reason'] | undefined {
  if (account.byBlock === undefined) return 'TOO_MANY_LOGS';
  const isEmpty = (account.byBlock.get(header.hash)?.logCount ?? 0) === 0;
  return isEmpty && reading.bloom && mayHoldTransfers(reading, header) ? 'BLOOM_CONTRADICTS' : undefined;
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

/** Reads from one source. RPC_RANGE_TOO_LARGE when the provider rejects more than one block as too many. */
export async function readSeenBlocks(
  reading: Reading,
  source: Pick<EvmClient, 'batch'>,
  range: BlockRange,
  options: ReadOptions,
): Promise<RangeRead> {
  const account = await (reading.bloom ? readAtOnce : readByHash)(reading, source, range, options);
  const transfers = [];
  for (const header of account.headers) {
    const reason = reasonForReceipts(reading, header, account);
    if (reason !== undefined) {
      reading.onDecidedByReceipts({ header, reason });
      transfers.push(...(await transfersByReceipts(reading, source, header, options)));
    } else transfers.push(...transfersOf(reading, header, account));
  }
  return { headers: account.headers.map(plainHeader), transfers };
}

export function transfersOf(
  reading: Reading,
  header: EvmHeader,
  { byBlock }: Account,
): RangeRead['transfers'] {
  const ofTokens = byBlock?.get(header.hash)?.transfers ?? [];
  return reading.native ? [...ofTokens, ...nativeTransfersOf(header)] : ofTokens;
}

async function readAtOnce(
  reading: Reading,
  source: Pick<EvmClient, 'batch'>,
  range: BlockRange,
  options: ReadOptions,
): Promise<Account> {
  const blocks = blockRequests(reading, range);
  const answers = await unlessTooLarge(range, () =>
    source.batch([...blocks, ...logRequests(reading, range)], options),
  );
  const rawHeaders = answers?.slice(0, blocks.length) ?? (await source.batch(blocks, options));
  const headers = linkedHeaders(rawHeaders, range.from);
  return accountOf(headers, answers && logsReadIn(reading.tokens, headers, answers.slice(blocks.length)));
}

async function readByHash(
  reading: Reading,
  source: Pick<EvmClient, 'batch'>,
  range: BlockRange,
  options: ReadOptions,
): Promise<Account> {
  const headers = linkedHeaders(await source.batch(blockRequests(reading, range), options), range.from);
  const answers = await unlessTooLarge(range, () =>
    source.batch(logRequests(reading, range, headers), options),
  );
  return accountOf(headers, answers && logsReadIn(reading.tokens, headers, answers));
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
