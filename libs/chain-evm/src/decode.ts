import type { Address } from '@opentill/chain/address-codec';
import type { BlockHash, BlockHeader } from '@opentill/chain/block';
import { readerError } from '@opentill/chain/reader-error';
import type { CandidateTransfer, TokenContract, TxHash } from '@opentill/chain/transfer';
import { baseUnits } from '@opentill/domain/money';
import { isBloom } from './bloom.ts';
import { isWord } from './hex-word.ts';
import { boundedText } from '@opentill/chain-sources/node-text';

/** keccak256 of `Transfer(address,address,uint256)`. */
export const TRANSFER_TOPIC = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';

const QUANTITY_GRAMMAR = /^0x[0-9a-fA-F]{1,64}$/;
const HASH_GRAMMAR = /^0x[0-9a-fA-F]{64}$/;
const ADDRESS_GRAMMAR = /^0x[0-9a-fA-F]{40}$/;
const DATA_GRAMMAR = /^0x(?:[0-9a-fA-F]{2})*$/;
const INDEXED_ADDRESS_GRAMMAR = /^0x0{24}[0-9a-fA-F]{40}$/;
const TRANSFER_TOPICS = 3;

export interface EvmHeader extends BlockHeader {
  readonly logsBloom: string;
  /** Hashes, or whole transactions if the request asked for them. */
  readonly transactions: readonly unknown[];
}

export interface EvmTransaction {
  readonly txHash: TxHash;
  readonly blockHash: BlockHash;
  readonly blockHeight: number;
  readonly index: number;
  readonly from: Address;
  /** Null: the transaction creates a contract. */
  readonly to: Address | null;
  readonly valueWei: bigint;
}

/** Addresses and hashes in lower case. */
export interface EvmLog {
  readonly address: string;
  readonly topics: readonly string[];
  readonly data: string;
  readonly blockHash: BlockHash;
  readonly blockHeight: number;
  readonly txHash: TxHash;
  readonly logIndex: number;
}

export interface EvmReceipt {
  readonly txHash: TxHash;
  readonly from: Address | undefined;
  readonly blockHash: BlockHash;
  readonly blockHeight: number;
  readonly succeeded: boolean;
  readonly feeWei: bigint;
  /** In the order of the receipt; empty unless the transaction succeeded. */
  readonly logs: readonly EvmLog[];
  readonly logsBloom: string | undefined;
  /** The chain itself made the transaction (Polygon). */
  readonly isStateSync: boolean;
}

type Raw = Readonly<Record<string, unknown>>;

function malformed(what: string, raw: unknown): never {
  throw readerError('INCONSISTENT_ANSWER', `the node's answer is malformed: ${what}`, {
    sample: boundedText(JSON.stringify(raw) ?? ''),
  });
}

function object(raw: unknown, what: string): Raw {
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) malformed(what, raw);
  return raw as Raw;
}

function array(raw: unknown, what: string): readonly unknown[] {
  return Array.isArray(raw) ? raw : malformed(what, raw);
}

function matching(grammar: RegExp, raw: unknown, what: string): string {
  return typeof raw === 'string' && grammar.test(raw) ? raw.toLowerCase() : malformed(what, raw);
}

/** Nearly all are in lower case: that check is faster than the regular expression. */
function word(raw: unknown, what: string): string {
  return isWord(raw) ? raw : matching(HASH_GRAMMAR, raw, what);
}

export function quantity(raw: unknown, what: string): bigint {
  return BigInt(matching(QUANTITY_GRAMMAR, raw, what));
}

export function decodeInteger(raw: unknown, what: string): number {
  const value = quantity(raw, what);
  return value <= Number.MAX_SAFE_INTEGER ? Number(value) : malformed(what, raw);
}

/** Expects a block without transaction bodies. */
export function decodeHeader(raw: unknown): EvmHeader {
  const block = object(raw, 'block');
  return {
    height: decodeInteger(block['number'], 'block.number'),
    hash: word(block['hash'], 'block.hash') as BlockHash,
    parentHash: word(block['parentHash'], 'block.parentHash') as BlockHash,
    timeSeconds: decodeInteger(block['timestamp'], 'block.timestamp'),
    logsBloom: isBloom(block['logsBloom'])
      ? block['logsBloom']
      : malformed('block.logsBloom', block['logsBloom']),
    transactions: array(block['transactions'], 'block.transactions'),
  };
}

export function transactionHashes(header: EvmHeader): readonly TxHash[] {
  return header.transactions.map((transaction) => {
    const hash = typeof transaction === 'string' ? transaction : object(transaction, 'transaction')['hash'];
    return word(hash, 'transaction.hash') as TxHash;
  });
}

export function decodeTransaction(raw: unknown): EvmTransaction {
  const transaction = object(raw, 'transaction');
  const to = transaction['to'] ?? null;
  return {
    txHash: word(transaction['hash'], 'transaction.hash') as TxHash,
    blockHash: word(transaction['blockHash'], 'transaction.blockHash') as BlockHash,
    blockHeight: decodeInteger(transaction['blockNumber'], 'transaction.blockNumber'),
    index: decodeInteger(transaction['transactionIndex'], 'transaction.transactionIndex'),
    from: matching(ADDRESS_GRAMMAR, transaction['from'], 'transaction.from') as Address,
    to: to === null ? null : (matching(ADDRESS_GRAMMAR, to, 'transaction.to') as Address),
    valueWei: quantity(transaction['value'], 'transaction.value'),
  };
}

/**
 * Nodes differ in whether they list the chain's own transactions (Polygon), so the transaction list does not matter.
 */
export function sameHeader(a: EvmHeader, b: EvmHeader): boolean {
  return (
    a.hash === b.hash &&
    a.height === b.height &&
    a.parentHash === b.parentHash &&
    a.timeSeconds === b.timeSeconds &&
    a.logsBloom.toLowerCase() === b.logsBloom.toLowerCase()
  );
}

export function plainHeader({ height, hash, parentHash, timeSeconds }: BlockHeader): BlockHeader {
  return { height, hash, parentHash, timeSeconds };
}

export function decodeLog(raw: unknown): EvmLog {
  const log = object(raw, 'log');
  if (log['removed'] === true) malformed('a removed log', raw);
  return {
    address: matching(ADDRESS_GRAMMAR, log['address'], 'log.address'),
    topics: array(log['topics'], 'log.topics').map((topic) => word(topic, 'log.topics')),
    data: matching(DATA_GRAMMAR, log['data'], 'log.data'),
    blockHash: word(log['blockHash'], 'log.blockHash') as BlockHash,
    blockHeight: decodeInteger(log['blockNumber'], 'log.blockNumber'),
    txHash: word(log['transactionHash'], 'log.transactionHash') as TxHash,
    logIndex: decodeInteger(log['logIndex'], 'log.logIndex'),
  };
}

export function decodeLogs(raw: unknown): readonly EvmLog[] {
  return array(raw, 'logs').map(decodeLog);
}

/**
 * Undefined for another contract or event, an NFT transfer (4 topics), data that is not exactly one word, or a zero
 * amount. Read from the log, never from call data: fee-on-transfer tokens log the amount that arrived.
 */
export function transferOf(log: EvmLog, tokens: ReadonlySet<string>): CandidateTransfer | undefined {
  const [event, from, to] = log.topics;
  if (event !== TRANSFER_TOPIC || log.topics.length !== TRANSFER_TOPICS || !tokens.has(log.address))
    return undefined;
  if (!HASH_GRAMMAR.test(log.data) || from === undefined || to === undefined) return undefined;
  if (!INDEXED_ADDRESS_GRAMMAR.test(from) || !INDEXED_ADDRESS_GRAMMAR.test(to)) return undefined;
  const amount = BigInt(log.data);
  if (amount === 0n) return undefined;
  return {
    txHash: log.txHash,
    blockHash: log.blockHash,
    blockHeight: log.blockHeight,
    indexInBlock: log.logIndex,
    contract: log.address as TokenContract,
    from: `0x${from.slice(-40)}` as Address,
    to: `0x${to.slice(-40)}` as Address,
    amountBaseUnits: baseUnits(amount),
  };
}

const STATE_SYNC_TYPE = 0x7f;
const ZERO_ADDRESS = `0x${'0'.repeat(40)}`;

/**
 * Recognises Polygon's state-sync transaction, with which the chain imports bridged state. At most one, the last of
 * its block; type 0x7f since PIP-74, before that from and to the zero address. Nodes differ in whether they list it
 * among a block's transactions and receipts, so a block is complete with or without it.
 */
function isStateSync(receipt: Raw, type: number): boolean {
  return type === STATE_SYNC_TYPE || (receipt['from'] === ZERO_ADDRESS && receipt['to'] === ZERO_ADDRESS);
}

/** Its logs must be of this transaction and block, with consecutive indices. */
export function decodeReceipt(raw: unknown, hasStateSync: boolean): EvmReceipt {
  const receipt = object(raw, 'receipt');
  const type = receipt['type'] === undefined ? 0 : decodeInteger(receipt['type'], 'receipt.type');
  const stateSync = hasStateSync && isStateSync(receipt, type);
  const status = decodeInteger(receipt['status'], 'receipt.status');
  if (status > 1) malformed('receipt.status', raw);
  const decoded = {
    txHash: word(receipt['transactionHash'], 'receipt.transactionHash') as TxHash,
    from: senderOf(receipt['from']),
    blockHash: word(receipt['blockHash'], 'receipt.blockHash') as BlockHash,
    blockHeight: decodeInteger(receipt['blockNumber'], 'receipt.blockNumber'),
    succeeded: status === 1,
    feeWei:
      quantity(receipt['gasUsed'], 'receipt.gasUsed') *
      // The chain's own transactions have no fee; nodes omit the price.
      quantity(receipt['effectiveGasPrice'] ?? (stateSync ? '0x0' : undefined), 'receipt.effectiveGasPrice'),
    logs: decodeLogs(receipt['logs']),
    logsBloom: isBloom(receipt['logsBloom']) ? receipt['logsBloom'] : undefined,
    isStateSync: stateSync,
  };
  const first = decoded.logs[0]?.logIndex ?? 0;
  decoded.logs.forEach((log, place) => {
    if (log.logIndex !== first + place) malformed('receipt.logs has a gap', raw);
    if (log.txHash !== decoded.txHash || log.blockHash !== decoded.blockHash) malformed('receipt.logs', raw);
  });
  if (!decoded.succeeded && decoded.logs.length > 0) malformed('a failed transaction with logs', raw);
  return decoded;
}

/** Used for own transactions only: a malformed sender of a foreign transaction must not cause an error. */
function senderOf(raw: unknown): Address | undefined {
  return typeof raw === 'string' && ADDRESS_GRAMMAR.test(raw) ? (raw.toLowerCase() as Address) : undefined;
}
