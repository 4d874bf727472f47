import type { ReadOptions } from '@opentill/chain/chain-reader';
import { readerError } from '@opentill/chain/reader-error';
import type { TxHash } from '@opentill/chain/transfer';
import { transferIn, TRANSFER_TOPIC, type LoggedTransfer, type TokensByHex } from '../decode-info.ts';
import { hashIn, listIn, malformed, objectIn } from '../node-value.ts';
import type { BlockRange } from '../reading.ts';
import type { TronSource } from '../tron-sources.ts';
import { askJsonRpc, type RpcCall } from './json-rpc.ts';

/** A transfer of a configured token, as `eth_getLogs` returns it. */
export interface TokenLog extends LoggedTransfer {
  readonly txHash: TxHash;
  readonly blockHash: string;
  readonly height: number;
  /** Among all logs of the block. */
  readonly logIndex: number;
  /** 20 bytes of hex. */
  readonly tokenHex: string;
}

/** Transfers of these tokens (20 bytes of hex); with `from` or `to` (20 bytes of hex), only between these addresses. */
export interface LogFilter {
  readonly tokens: readonly string[];
  readonly from?: readonly string[];
  readonly to?: readonly string[];
  /** The log is of one of the last alternatives. @default any log */
  readonly proves?: (log: TokenLog) => boolean;
}

export interface LogQuestion {
  /** `from` must be above 0. */
  readonly range: BlockRange;
  readonly filters: readonly LogFilter[];
  /** The range ends with the node's head, so that no block above can prove that the answer was not cut off. */
  readonly isToHead?: boolean;
}

export interface LogsRead {
  /** Ascending. */
  readonly logs: readonly TokenLog[];
  /** Heights of which an answer shows no log that proves its index. Their logs may be missing. */
  readonly unproven: ReadonlySet<number>;
}

export interface LogTerms {
  readonly tokens: TokensByHex;
  /** Last four bytes of the id of block 0, as `eth_chainId` returns them. */
  readonly genesisId: string;
}

const QUANTITY = /^0x[0-9a-f]{1,13}$/;

/**
 * BLOCK_NOT_FOUND if the node does not have the last block: java-tron cuts the range at its head without an error. The
 * head is read in the same request, before the logs. A provider may still divide a request among nodes, cut off a long
 * list, or drop alternatives of a filter. So each answer to a filter must prove each block by a log, and show such logs
 * below and above it. The range is extended by a block at both ends for this.
 */
export async function readLogs(
  source: Pick<TronSource, 'call'>,
  terms: LogTerms,
  { range, filters, isToHead = false }: LogQuestion,
  options: ReadOptions,
): Promise<LogsRead> {
  const within = { from: range.from - 1, to: isToHead ? range.to : range.to + 1 };
  const unproven = new Set<number>();
  const found = new Map<string, TokenLog>();
  for (const { filter, logs } of await askForLists(source, terms, within, filters, options)) {
    for (const token of terms.tokens.keys()) {
      const proofs = logs.filter((log) => log.tokenHex === token && (filter.proves?.(log) ?? true));
      for (const height of heightsWithout(proofs, range, isToHead)) unproven.add(height);
    }
    for (const log of logs)
      if (log.height >= range.from && log.height <= range.to) found.set(keyOf(log), log);
  }
  const logs = [...found.values()].toSorted((a, b) => a.height - b.height || a.logIndex - b.logIndex);
  return { logs, unproven };
}

function heightsWithout(
  proofs: readonly TokenLog[],
  { from, to }: BlockRange,
  isToHead: boolean,
): readonly number[] {
  const proven = new Set(proofs.map(({ height }) => height));
  const [lowest, highest] = [Math.min(...proven), isToHead ? Infinity : Math.max(...proven)];
  const without: number[] = [];
  for (let height = from; height <= to; height += 1)
    if (!proven.has(height) || height === lowest || height === highest) without.push(height);
  return without;
}

async function askForLists(
  source: Pick<TronSource, 'call'>,
  { tokens, genesisId }: LogTerms,
  range: BlockRange,
  filters: readonly LogFilter[],
  options: ReadOptions,
): Promise<readonly { readonly filter: LogFilter; readonly logs: readonly TokenLog[] }[]> {
  const calls: readonly RpcCall[] = [
    { method: 'eth_chainId', params: [] },
    { method: 'eth_blockNumber', params: [] },
    ...filters.map((filter) => callOf(filter, range)),
  ];
  const [chainId, head, ...lists] = await askJsonRpc(source, calls, options);
  if (chainId !== genesisId)
    throw readerError('RPC_REFUSED', `/jsonrpc serves the chain ${String(chainId)}, not ${genesisId}`);
  if (quantityIn(head, 'eth_blockNumber') < range.to)
    throw readerError('BLOCK_NOT_FOUND', 'the node does not have the block', { height: range.to });
  return filters.map((filter, place) => {
    const logs = listIn(lists[place], 'logs').flatMap((raw) => decodeLog(raw, tokens, range) ?? []);
    const isEachOnce = new Set(logs.map(keyOf)).size === logs.length;
    return { filter, logs: isEachOnce ? logs : malformed('logs', 'the same log twice') };
  });
}

/** Two filters may return the same log. A provider may count logs by transaction, so their place does not identify them. */
export function keyOf(log: TokenLog): string {
  const { height, blockHash, txHash, logIndex, contract, fromHex, toHex, amount } = log;
  return `${height} ${blockHash} ${txHash} ${logIndex} ${contract} ${fromHex} ${toHex} ${amount}`;
}

function callOf({ tokens, from, to }: LogFilter, range: BlockRange): RpcCall {
  const topicsOf = (addresses: readonly string[] | undefined): readonly string[] | null =>
    addresses === undefined ? null : addresses.flatMap(wordsOf);
  const topics = [`0x${TRANSFER_TOPIC}`, topicsOf(from), topicsOf(to)];
  while (topics.at(-1) === null) topics.pop();
  const filter = {
    fromBlock: `0x${range.from.toString(16)}`,
    toBlock: `0x${range.to.toString(16)}`,
    address: tokens.map((hex) => `0x${hex}`),
    topics,
  };
  return { method: 'eth_getLogs', params: [filter] };
}

/**
 * With and without the prefix 41. A contract that does not mask the argument writes it as the sender's call data has it,
 * so the same token may have both (see INDEXED_ADDRESS).
 */
function wordsOf(hex: string): readonly string[] {
  return [`0x${hex.padStart(64, '0')}`, `0x${`41${hex.padStart(40, '0')}`.padStart(64, '0')}`];
}

/** Undefined for other events and transfers of zero, as in receipts. */
function decodeLog(raw: unknown, tokens: TokensByHex, range: BlockRange): TokenLog | undefined {
  const log = objectIn(raw, 'log');
  const height = quantityIn(log['blockNumber'], 'log.blockNumber');
  if (log['removed'] !== false || height < range.from || height > range.to) return malformed('log', log);
  const topics = listIn(log['topics'], 'log.topics');
  const tokenHex = bareHex(log['address'], 'log.address');
  const moved = transferIn(
    {
      address: tokenHex,
      topics: topics.map((topic) => bareHex(topic, 'log.topics')),
      data: bareHex(log['data'], 'log.data'),
    },
    tokens,
  );
  if (moved === undefined) return undefined;
  return {
    ...moved,
    tokenHex,
    txHash: hashIn(bareHex(log['transactionHash'], 'log.transactionHash'), 'log.transactionHash') as TxHash,
    blockHash: hashIn(bareHex(log['blockHash'], 'log.blockHash'), 'log.blockHash'),
    height,
    logIndex: quantityIn(log['logIndex'], 'log.logIndex'),
  };
}

function bareHex(value: unknown, what: string): string {
  return typeof value === 'string' && value.startsWith('0x') ? value.slice(2) : malformed(what, value);
}

function quantityIn(value: unknown, what: string): number {
  return typeof value === 'string' && QUANTITY.test(value) ? Number(value) : malformed(what, value);
}
