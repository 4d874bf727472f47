import type { Address } from '@opentill/chain/address-codec';
import type { BlockHash } from '@opentill/chain/block';
import { readerError } from '@opentill/chain/reader-error';
import type { CandidateTransfer, TokenContract, TxHash } from '@opentill/chain/transfer';
import type { BaseUnits } from '@opentill/domain/money';
import { hexQuantity } from './block-requests.ts';
import type { EvmHeader, EvmLog } from './decode.ts';
import { decodeLogs, TRANSFER_TOPIC, transferOf } from './decode.ts';
import { ADDRESS_PADDING, isAddressWord, isAmountWord, isShortQuantity, isWord } from './hex-word.ts';

export interface BlockTransfers {
  /** Includes logs that are no transfers. */
  readonly logCount: number;
  /** Ascending by index, without duplicates. */
  readonly transfers: readonly CandidateTransfer[];
}

/** Every requested header has an entry. */
export type TransfersByBlock = ReadonlyMap<BlockHash, BlockTransfers>;

/** Throws INCONSISTENT_ANSWER for a malformed log, a log of another block, and two different logs at one position. */
export function transfersByBlock(
  tokens: ReadonlySet<string>,
  headers: readonly EvmHeader[],
  rawLogs: readonly unknown[],
): TransfersByBlock {
  return readQuickly(tokens, headers, rawLogs) ?? readSlowly(tokens, headers, decodeLogs(rawLogs));
}

interface QuickBlock {
  readonly header: EvmHeader;
  readonly heightHex: string;
  readonly transfers: CandidateTransfer[];
  logCount: number;
  lastIndex: number;
}

/**
 * Fast path for the usual answer: logs in order, once each, in lower case, all well-formed transfers. Returns undefined
 * for any other answer, which the slow path then reads. It runs for every transfer on the chain.
 */
function readQuickly(
  tokens: ReadonlySet<string>,
  headers: readonly EvmHeader[],
  rawLogs: readonly unknown[],
): TransfersByBlock | undefined {
  const blocks = new Map<unknown, QuickBlock>();
  for (const header of headers) {
    const heightHex = hexQuantity(header.height);
    blocks.set(header.hash, { header, heightHex, transfers: [], logCount: 0, lastIndex: -1 });
  }
  const contracts = [...tokens]; // a few: compared sooner than hashed
  let block: QuickBlock | undefined;
  for (const raw of rawLogs) {
    if (typeof raw !== 'object' || raw === null) return undefined;
    const log = raw as Readonly<Record<string, unknown>>;
    if (block === undefined || block.header.hash !== log['blockHash']) block = blocks.get(log['blockHash']);
    if (block === undefined || !readQuickLog(block, log, contracts)) return undefined;
  }
  const byBlock = new Map<BlockHash, BlockTransfers>();
  for (const { header, transfers, logCount } of blocks.values())
    byBlock.set(header.hash, { transfers, logCount });
  return byBlock;
}

function readQuickLog(
  block: QuickBlock,
  log: Readonly<Record<string, unknown>>,
  contracts: readonly string[],
): boolean {
  const { address, topics, data, logIndex, transactionHash } = log;
  if (typeof address !== 'string' || !contracts.includes(address) || log['removed'] === true) return false;
  if (log['blockNumber'] !== block.heightHex || !Array.isArray(topics) || topics.length !== 3) return false;
  const from: unknown = topics[1];
  const to: unknown = topics[2];
  if (topics[0] !== TRANSFER_TOPIC || !isAddressWord(from) || !isAddressWord(to)) return false;
  if (!isAmountWord(data) || !isWord(transactionHash)) return false;
  if (!isShortQuantity(logIndex)) return false;
  const indexInBlock = Number(logIndex);
  if (indexInBlock <= block.lastIndex) return false;
  block.lastIndex = indexInBlock;
  block.logCount += 1;
  const amount = BigInt(data);
  if (amount === 0n) return true;
  block.transfers.push({
    txHash: transactionHash as TxHash,
    blockHash: block.header.hash,
    blockHeight: block.header.height,
    indexInBlock,
    contract: address as TokenContract,
    from: `0x${from.slice(ADDRESS_PADDING.length)}` as Address,
    to: `0x${to.slice(ADDRESS_PADDING.length)}` as Address,
    amountBaseUnits: amount as BaseUnits, // a word: neither negative nor beyond 78 digits
  });
  return true;
}

function readSlowly(
  tokens: ReadonlySet<string>,
  headers: readonly EvmHeader[],
  logs: readonly EvmLog[],
): TransfersByBlock {
  const byBlock = new Map(
    headers.map((header) => [header.hash, { header, logs: new Map<number, EvmLog>() }]),
  );
  for (const log of logs) {
    const block = byBlock.get(log.blockHash);
    if (block === undefined || block.header.height !== log.blockHeight) {
      throw readerError('INCONSISTENT_ANSWER', 'a log belongs to a block that was not requested', {
        blockHash: log.blockHash,
        height: log.blockHeight,
      });
    }
    const duplicate = block.logs.get(log.logIndex);
    if (duplicate !== undefined && !sameLog(duplicate, log)) {
      throw readerError('INCONSISTENT_ANSWER', 'two different logs have the same index', { ...log });
    }
    block.logs.set(log.logIndex, log);
  }
  return new Map(
    [...byBlock].map(([hash, block]) => {
      const sorted = [...block.logs.values()].sort((a, b) => a.logIndex - b.logIndex);
      const transfers = sorted.flatMap((log) => transferOf(log, tokens) ?? []);
      return [hash, { logCount: sorted.length, transfers }];
    }),
  );
}

function sameLog(a: EvmLog, b: EvmLog): boolean {
  return (
    a.txHash === b.txHash &&
    a.address === b.address &&
    a.data === b.data &&
    a.topics.join() === b.topics.join()
  );
}

/** Ignores the number of logs that are no transfers. */
export function sameTransfers(a: readonly CandidateTransfer[], b: readonly CandidateTransfer[]): boolean {
  return (
    a.length === b.length &&
    a.every((one, place) => {
      const other = b[place];
      return (
        other !== undefined &&
        one.indexInBlock === other.indexInBlock &&
        one.amountBaseUnits === other.amountBaseUnits &&
        one.txHash === other.txHash &&
        one.blockHash === other.blockHash &&
        one.contract === other.contract &&
        one.from === other.from &&
        one.to === other.to
      );
    })
  );
}
