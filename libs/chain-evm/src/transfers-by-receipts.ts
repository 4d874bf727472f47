import type { ReadOptions } from '@opentill/chain/chain-reader';
import { isReaderError, readerError } from '@opentill/chain/reader-error';
import type { CandidateTransfer, TxHash } from '@opentill/chain/transfer';
import { blockReceiptsRequest, receiptRequest } from './block-requests.ts';
import { fitBloom, isBloomOf } from './bloom.ts';
import type { EvmClient } from './client.ts';
import type { EvmHeader, EvmLog, EvmReceipt } from './decode.ts';
import { decodeReceipt, TRANSFER_TOPIC, transactionHashes, transferOf } from './decode.ts';
import { nativeTransfersOf } from './native-transfers.ts';
import { readQuickReceipts } from './quick-receipts.ts';
import type { Reading } from './reading.ts';

/** Transactions whose receipts are requested in one call: about 2 MB. */
const TRANSACTIONS_PER_CALL = 1_000;
const RECEIPTS_PER_CALL = 50;

export interface ReceiptTransfers {
  readonly transfers: readonly CandidateTransfer[];
  /** Logs that an answer to the request for logs has, also those that are no transfers. */
  readonly logCount: number;
}

type ReceiptSource = Pick<EvmClient, 'batch'>;
type ReceiptRules = Pick<Reading, 'bloom' | 'hasStateSync'>;

export async function transfersByReceipts(
  reading: Reading,
  source: ReceiptSource,
  header: EvmHeader,
  options: ReadOptions,
): Promise<ReceiptTransfers> {
  const [read] = await transfersOfBlocksByReceipts(reading, source, [header], options);
  return read ?? { transfers: [], logCount: 0 };
}

/** Returns transfers in block order, with as few calls as the receipts' size permits. */
export async function transfersOfBlocksByReceipts(
  reading: Reading,
  source: ReceiptSource,
  headers: readonly EvmHeader[],
  options: ReadOptions,
): Promise<readonly ReceiptTransfers[]> {
  const read: ReceiptTransfers[] = [];
  for (const part of partsOf(headers)) {
    const answers = await askForReceipts(source, part, options);
    for (const [place, header] of part.entries())
      read.push(await transfersIn(reading, source, header, answers[place], options));
  }
  return read;
}

/**
 * Receipts of a block, checked for completeness: one for each transaction of the header and no other, log indices from
 * zero without a gap. Where the bloom is the block's own, the logs must explain all of its bits and be within it.
 * Elsewhere each receipt's bloom is checked. Throws INCONSISTENT_ANSWER.
 */
export async function readBlockReceipts(
  reading: ReceiptRules,
  source: ReceiptSource,
  header: EvmHeader,
  options: ReadOptions,
): Promise<readonly EvmReceipt[]> {
  const [answer] = await askForReceipts(source, [header], options);
  return wholeReceipts(reading, source, header, answer, options);
}

function partsOf(headers: readonly EvmHeader[]): readonly (readonly EvmHeader[])[] {
  const parts: EvmHeader[][] = [];
  let left = 0;
  for (const header of headers) {
    if (left < header.transactions.length || parts.length === 0) {
      parts.push([]);
      left = TRANSACTIONS_PER_CALL;
    }
    parts.at(-1)?.push(header);
    left -= header.transactions.length;
  }
  return parts;
}

/** Asks for single blocks when the answer is too large, for single transactions when the node lacks the method. */
async function askForReceipts(
  source: ReceiptSource,
  headers: readonly EvmHeader[],
  options: ReadOptions,
): Promise<readonly unknown[]> {
  try {
    return await source.batch(
      headers.map(({ hash }) => blockReceiptsRequest(hash)),
      options,
    );
  } catch (error) {
    const answers: unknown[] = [];
    if (isReaderError(error, 'RPC_RANGE_TOO_LARGE') && headers.length > 1) {
      for (const header of headers) answers.push(...(await askForReceipts(source, [header], options)));
    } else if (isReaderError(error, 'RPC_METHOD_MISSING')) {
      for (const header of headers) answers.push(await receiptsOneByOne(source, header, options));
    } else throw error;
    return answers;
  }
}

async function receiptsOneByOne(
  source: ReceiptSource,
  header: EvmHeader,
  options: ReadOptions,
): Promise<readonly unknown[]> {
  const hashes = transactionHashes(header);
  const receipts: unknown[] = [];
  for (let at = 0; at < hashes.length; at += RECEIPTS_PER_CALL)
    receipts.push(
      ...(await source.batch(hashes.slice(at, at + RECEIPTS_PER_CALL).map(receiptRequest), options)),
    );
  return receipts;
}

async function wholeReceipts(
  { bloom, hasStateSync }: ReceiptRules,
  source: ReceiptSource,
  header: EvmHeader,
  raw: unknown,
  options: ReadOptions,
): Promise<readonly EvmReceipt[]> {
  if (raw === null)
    throw readerError('BLOCK_NOT_FOUND', 'the node does not have the block', { hash: header.hash });
  const inconsistent = (why: string): never => {
    throw readerError('INCONSISTENT_ANSWER', `the receipts of the block are incomplete or wrong: ${why}`, {
      height: header.height,
      hash: header.hash,
    });
  };
  if (!Array.isArray(raw)) return inconsistent('not a list');
  const answered = raw.map((receipt) => decodeReceipt(receipt, hasStateSync));
  const receipts = hasStateSync
    ? [...answered, ...(await stateSyncLeftOut(source, header, answered, options))]
    : answered;
  if (
    receipts.some(({ blockHash, blockHeight }) => blockHash !== header.hash || blockHeight !== header.height)
  )
    inconsistent('another block');
  const ordinary = receipts.filter((receipt) => !receipt.isStateSync);
  const [stateSync, ...more] = receipts.filter(({ isStateSync }) => isStateSync);
  const listed = transactionHashes(header);
  if (more.length > 0 || (stateSync !== undefined && stateSync !== receipts.at(-1)))
    inconsistent('more than one state-sync transaction, or not the last');
  const asked = stateSync !== undefined && listed.at(-1) === stateSync.txHash ? listed.slice(0, -1) : listed;
  if (ordinary.length !== asked.length || ordinary.some(({ txHash }, place) => txHash !== asked[place]))
    inconsistent('they do not match the transactions');
  if (logsOf(ordinary).some((log, place) => log.logIndex !== place)) inconsistent('a gap between logs');
  if (bloom) {
    const fit = fitBloom(header.logsBloom, logsOf(ordinary), stateSync?.logs);
    if (!fit.isExplained) inconsistent('the bloom contains more logs');
    if (fit.isExceeded) inconsistent('a log is not in the bloom');
  } else if (ordinary.some(({ logsBloom, logs }) => logsBloom !== undefined && !isBloomOf(logsBloom, logs)))
    inconsistent('the bloom of a receipt does not match its logs');
  return receipts;
}

const logsOf = (receipts: readonly EvmReceipt[]): readonly EvmLog[] => receipts.flatMap(({ logs }) => logs);

/** Polygon: the last transaction's receipt, if it is the only one missing and is the state-sync transaction. */
async function stateSyncLeftOut(
  source: ReceiptSource,
  header: EvmHeader,
  answered: readonly EvmReceipt[],
  options: ReadOptions,
): Promise<readonly EvmReceipt[]> {
  const last = transactionHashes(header).at(-1);
  if (last === undefined || answered.length !== header.transactions.length - 1) return [];
  if (answered.some(({ txHash }) => txHash === last)) return [];
  const [raw] = await source.batch([receiptRequest(last)], options);
  if (raw === null) return [];
  const receipt = decodeReceipt(raw, true);
  return receipt.isStateSync ? [receipt] : [];
}

async function transfersIn(
  reading: Reading,
  source: ReceiptSource,
  header: EvmHeader,
  raw: unknown,
  options: ReadOptions,
): Promise<ReceiptTransfers> {
  const { tokens, native } = reading;
  const withNatives = (
    transfers: readonly CandidateTransfer[],
    isPaid: (txHash: TxHash) => boolean,
  ): readonly CandidateTransfer[] =>
    native ? [...transfers, ...nativeTransfersOf(header).filter(({ txHash }) => isPaid(txHash))] : transfers;
  const quick = reading.bloom && !reading.hasStateSync ? readQuickReceipts(tokens, header, raw) : undefined;
  if (quick !== undefined) {
    const transfers = withNatives(quick.transfers, (txHash) => !quick.failed.has(txHash));
    return { transfers, logCount: quick.logCount };
  }
  const receipts = await wholeReceipts(reading, source, header, raw, options);
  const logs = logsOf(receipts).filter(
    ({ address, topics }) => tokens.has(address) && topics[0] === TRANSFER_TOPIC,
  );
  const succeeded = new Set(receipts.flatMap((receipt) => (receipt.succeeded ? [receipt.txHash] : [])));
  const ofTokens = logs.flatMap((log) => transferOf(log, tokens) ?? []);
  return { transfers: withNatives(ofTokens, (txHash) => succeeded.has(txHash)), logCount: logs.length };
}
