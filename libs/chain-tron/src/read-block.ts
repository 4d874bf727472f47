import type { ReadOptions } from '@opentill/chain/chain-reader';
import { readerError } from '@opentill/chain/reader-error';
import type { CandidateTransfer } from '@opentill/chain/transfer';
import { baseUnits } from '@opentill/domain/money';
import type { AddressOf } from './address-book.ts';
import type { AnswerTwin } from './answer-twin.ts';
import type { TronHeader, TronTransaction } from './decode-block.ts';
import { decodeHeader, decodeTransactions, hasEmptyRoot } from './decode-block.ts';
import type { TronInfo } from './decode-info.ts';
import { decodeInfos, hasRun, transferIn } from './decode-info.ts';
import type { Reading } from './reading.ts';
import type { Side } from './tron-client.ts';
import type { TronSource } from './tron-sources.ts';

/** A block as one source tells it: each transaction with its receipt. */
export interface BlockAccount {
  readonly header: TronHeader;
  readonly entries: readonly { readonly transaction: TronTransaction; readonly info: TronInfo }[];
}

/** Both answers about a block, when several sources are asked for it. */
export interface BlockTwins {
  readonly block: AnswerTwin;
  readonly infos: AnswerTwin;
}

/** No transaction logs so much: at 375 energy for a log alone it would burn more than the highest fee limit buys. */
const LOGS_PER_TRANSACTION = 2 ** 20;
/** What transactions carry themselves stands behind all logs. */
const NATIVE_INDEX_BASE = 2 ** 50;

/** Where a log stands in its block: unique there, ascending, and it tells the place in the receipt. */
export function indexOfLog(transactionPlace: number, logPlace: number): number {
  return transactionPlace * LOGS_PER_TRANSACTION + logPlace;
}

/** The place of the log in its receipt; undefined for what is no log. */
export function logPlaceOf(indexInBlock: number): number | undefined {
  return indexInBlock < NATIVE_INDEX_BASE ? indexInBlock % LOGS_PER_TRANSACTION : undefined;
}

/**
 * Reads a block and its receipts from one source; only together they are an answer. Hosted nodes that are behind give
 * an empty list of receipts, or part of it (tron.md section 3.2): INCONSISTENT_ANSWER unless there is one for each
 * transaction, in the order of the block, of its height and its time, and of the same success; nor is a block without
 * transactions believed whose header has the root of some. BLOCK_NOT_FOUND where it has not got the block.
 */
export async function readBlock(
  source: Pick<TronSource, 'call'>,
  side: Side,
  height: number,
  options: ReadOptions,
): Promise<BlockAccount> {
  const [rawBlock, rawInfos] = await askForBlock(source, side, height, options);
  return decodeAccount(rawBlock, rawInfos, height);
}

/** Asks for a block and its receipts; with `twins` a value is SAME where the other source has told the same bytes. */
export function askForBlock(
  source: Pick<TronSource, 'call'>,
  side: Side,
  height: number,
  options: ReadOptions,
  twins?: BlockTwins,
): Promise<readonly [rawBlock: unknown, rawInfos: unknown]> {
  const body = { num: height };
  return Promise.all([
    source.call({ side, method: 'getblockbynum', body, twin: twins?.block }, options),
    // Of block 0 nodes keep no receipts, and say so with an empty object.
    height === 0
      ? []
      : source.call({ side, method: 'gettransactioninfobyblocknum', body, twin: twins?.infos }, options),
  ]);
}

/** See readBlock. */
export function decodeAccount(
  rawBlock: unknown,
  rawInfos: unknown,
  height: number,
  addressOf?: AddressOf,
): BlockAccount {
  const header = decodeHeader(rawBlock, height);
  if (height === 0) return { header, entries: [] };
  const transactions = decodeTransactions(rawBlock, addressOf);
  if (transactions.length === 0 && !hasEmptyRoot(rawBlock))
    throw inconsistent(header, 'no transactions under a header with the root of some');
  const infos = decodeInfos(rawInfos);
  if (infos.length !== transactions.length)
    throw inconsistent(header, `${infos.length} receipts of ${transactions.length} transactions`);
  const entries = transactions.map((transaction, place) => {
    const info = infos[place];
    if (info?.txHash !== transaction.txHash) throw inconsistent(header, 'a receipt of another transaction');
    if (info.height !== height || info.blockTimeMs !== header.timeMs)
      throw inconsistent(header, 'receipts of another block');
    mustBeSaidAlike(header, transaction, info);
    return { transaction, info };
  });
  return { header, entries };
}

/** The transfers of a block, ascending: of configured tokens what the logs of successful transactions say, and TRX. */
export function transfersOf(
  reading: Reading,
  { header, entries }: BlockAccount,
): readonly CandidateTransfer[] {
  const ofTokens: CandidateTransfer[] = [];
  const ofTrx: CandidateTransfer[] = [];
  const { hash: blockHash, height: blockHeight } = header;
  for (const [place, { transaction, info }] of entries.entries()) {
    const { txHash } = transaction;
    const here = { txHash, blockHash, blockHeight };
    if (hasRun(info)) {
      for (const [logPlace, log] of info.logs.entries()) {
        const found = transferIn(log, reading.tokens, reading.addressOf);
        if (found === undefined) continue;
        const { contract, from, to, amount } = found;
        const indexInBlock = indexOfLog(place, logPlace);
        ofTokens.push({ ...here, indexInBlock, contract, from, to, amountBaseUnits: baseUnits(amount) });
      }
    }
    const { trx } = transaction;
    if (reading.native && trx !== undefined && trx.sun > 0n && hasCarried(transaction, info)) {
      const { from, to, sun } = trx;
      const indexInBlock = NATIVE_INDEX_BASE + place;
      ofTrx.push({ ...here, indexInBlock, contract: null, from, to, amountBaseUnits: baseUnits(sun) });
    }
  }
  return [...ofTokens, ...ofTrx];
}

/** Whether a TransferContract moved what it carries. */
export function hasCarried({ contractRet }: TronTransaction, { failed }: TronInfo): boolean {
  return contractRet === 'SUCCESS' && !failed;
}

/**
 * Block and receipt say each for itself what came of a contract's run, and no block is valid in which they differ (java-tron,
 * TransactionTrace.check): who says so invents the success, or the failure.
 */
function mustBeSaidAlike(
  header: TronHeader,
  { contractRet, txHash }: TronTransaction,
  { contractResult }: TronInfo,
): void {
  if (contractRet === undefined || contractResult === undefined) return;
  if ((contractRet === 'SUCCESS') !== (contractResult === 'SUCCESS'))
    throw inconsistent(header, `block and receipt disagree about the success of ${txHash}`);
}

function inconsistent({ height, hash }: TronHeader, why: string): Error {
  return readerError('INCONSISTENT_ANSWER', `block ${height}: ${why}`, { height, hash });
}
