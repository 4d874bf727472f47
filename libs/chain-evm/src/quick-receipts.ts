import type { Address } from '@opentill/chain/address-codec';
import type { CandidateTransfer, TokenContract, TxHash } from '@opentill/chain/transfer';
import type { BaseUnits } from '@opentill/domain/money';
import { hexQuantity } from './block-requests.ts';
import { checkBloom, type BloomCheck } from './bloom.ts';
import type { EvmHeader } from './decode.ts';
import { TRANSFER_TOPIC, transactionHashes } from './decode.ts';
import { ADDRESS_PADDING, isAddressWord, isLowerHex, isShortQuantity, isWord } from './hex-word.ts';

export interface QuickReceipts {
  readonly transfers: readonly CandidateTransfer[];
  /** Transfer events of the tokens, also those that are no transfers. */
  readonly logCount: number;
  /** All other transactions of the block succeeded. */
  readonly failed: ReadonlySet<TxHash>;
}

type Raw = Readonly<Record<string, unknown>>;

interface QuickBlock {
  readonly header: EvmHeader;
  readonly heightHex: string;
  readonly tokens: ReadonlySet<string>;
  readonly check: BloomCheck;
  readonly transfers: CandidateTransfer[];
  logCount: number;
  nextLogIndex: number;
}

const ADDRESS_LENGTH = 42;
const QUANTITY_LENGTH_MAX = 66;
const TRANSFER_TOPICS = 3;

/**
 * Fast path for the usual answer: lower case, one receipt for each transaction in order, log indices from zero without
 * a gap, and logs that match the bloom exactly. The header's bloom must be the block's own. Returns undefined for any
 * other answer, which the slow path then reads. Never accepts what the slow path would reject.
 */
export function readQuickReceipts(
  tokens: ReadonlySet<string>,
  header: EvmHeader,
  raw: unknown,
): QuickReceipts | undefined {
  const hashes = transactionHashes(header);
  if (!Array.isArray(raw) || raw.length !== hashes.length) return undefined;
  const heightHex = hexQuantity(header.height);
  const check = checkBloom(header.logsBloom);
  const block: QuickBlock = { header, heightHex, tokens, check, transfers: [], logCount: 0, nextLogIndex: 0 };
  const failed = new Set<TxHash>();
  for (const [place, txHash] of hashes.entries()) {
    const receipt: unknown = raw[place];
    if (typeof receipt !== 'object' || receipt === null) return undefined;
    const status = readQuickReceipt(block, txHash, receipt as Raw);
    if (status === undefined) return undefined;
    if (status === '0x0') failed.add(txHash);
  }
  const { isExplained, isExceeded } = check.fit();
  const { transfers, logCount } = block;
  return isExplained && !isExceeded ? { transfers, logCount, failed } : undefined;
}

function readQuickReceipt(block: QuickBlock, txHash: TxHash, receipt: Raw): '0x0' | '0x1' | undefined {
  const { status, type, gasUsed, effectiveGasPrice, logs } = receipt;
  if (receipt['transactionHash'] !== txHash || receipt['blockHash'] !== block.header.hash) return undefined;
  if (receipt['blockNumber'] !== block.heightHex || !Array.isArray(logs)) return undefined;
  if (type !== undefined && !isShortQuantity(type)) return undefined;
  if (!isQuantity(gasUsed) || !isQuantity(effectiveGasPrice)) return undefined;
  if (status !== '0x1' && (status !== '0x0' || logs.length > 0)) return undefined;
  for (const log of logs as readonly unknown[]) {
    if (typeof log !== 'object' || log === null || !readQuickLog(block, txHash, log as Raw)) return undefined;
  }
  return status;
}

function isQuantity(value: unknown): value is string {
  return isLowerHex(value) && value.length > 2 && value.length <= QUANTITY_LENGTH_MAX;
}

function readQuickLog(block: QuickBlock, txHash: TxHash, log: Raw): boolean {
  const { address, topics, data } = log;
  if (log['transactionHash'] !== txHash || log['blockHash'] !== block.header.hash) return false;
  if (log['blockNumber'] !== block.heightHex || log['removed'] === true) return false;
  if (log['logIndex'] !== hexQuantity(block.nextLogIndex)) return false;
  if (typeof address !== 'string' || !Array.isArray(topics)) return false;
  const isToken = block.tokens.has(address);
  if (!isToken && (address.length !== ADDRESS_LENGTH || !isLowerHex(address))) return false;
  if (!isLowerHex(data) || data.length % 2 !== 0) return false;
  block.check.take(address);
  for (const topic of topics as readonly unknown[]) {
    if (topic !== TRANSFER_TOPIC && !isWord(topic)) return false;
    block.check.take(topic as string);
  }
  if (isToken) takeTransfer(block, txHash, address, topics as readonly string[], data);
  block.nextLogIndex += 1;
  return true;
}

function takeTransfer(
  block: QuickBlock,
  txHash: TxHash,
  contract: string,
  topics: readonly string[],
  data: string,
): void {
  const [event, from, to] = topics;
  if (event !== TRANSFER_TOPIC) return;
  block.logCount += 1;
  if (topics.length !== TRANSFER_TOPICS || !isWord(data, data.length)) return;
  if (!isAddressWord(from) || !isAddressWord(to)) return;
  const amount = BigInt(data);
  if (amount === 0n) return;
  block.transfers.push({
    txHash,
    blockHash: block.header.hash,
    blockHeight: block.header.height,
    indexInBlock: block.nextLogIndex,
    contract: contract as TokenContract,
    from: `0x${from.slice(ADDRESS_PADDING.length)}` as Address,
    to: `0x${to.slice(ADDRESS_PADDING.length)}` as Address,
    amountBaseUnits: amount as BaseUnits, // a word: neither negative nor beyond 78 digits
  });
}
