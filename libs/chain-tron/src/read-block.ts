import type { Address } from '@opentill/chain/address-codec';
import type { Actor, ReadOptions } from '@opentill/chain/chain-reader';
import { readerError } from '@opentill/chain/reader-error';
import type { CandidateTransfer, TxHash } from '@opentill/chain/transfer';
import { baseUnits } from '@opentill/domain/money';
import { addressOfHex, addressOfShortHex, hexOf } from './address-codec.ts';
import type { TronHeader, TronTransaction } from './decode-block.ts';
import { decodeHeader, decodeTransactions, hasEmptyRoot } from './decode-block.ts';
import type { TronInfo } from './decode-info.ts';
import { decodeInfos, hasRun, transferIn } from './decode-info.ts';
import { sealOf, type BlockSeal } from './block-seal.ts';
import { malformed } from './node-value.ts';
import { mustBeProven } from './prove-transactions.ts';
import type { Reading } from './reading.ts';
import type { Side, TronCall } from './tron-client.ts';
import type { TronSource } from './tron-sources.ts';

/** A block as one source tells it: each transaction with its receipt. */
export interface BlockAccount {
  readonly header: TronHeader;
  readonly entries: readonly { readonly transaction: TronTransaction; readonly info: TronInfo }[];
  /** Only of a block that was to be proven. */
  readonly seal?: BlockSeal | undefined;
}

/** A transfer of a block that was read whole, with what its receipt says besides. */
export interface ToldTransfer extends CandidateTransfer {
  /** Whoever looks for it among a few looks by this one: `from` is written when it is asked for. */
  readonly fromHex: string;
  /** All that was burnt for its transaction. */
  readonly feeSun: bigint;
  /** The same object for all transfers of one reading of a block. */
  readonly telling: { /** Two sources told all of them, with the same fees. */ isByTwo: boolean };
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

export interface BlockOptions extends ReadOptions {
  /**
   * The transactions must be those of the root in the header (see mustBeProven), so that none can be left out. Required where a
   * single source gives a block, and where a block serves to prove that a transaction did not land.
   */
  readonly isToBeProven?: boolean | undefined;
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
  { isToBeProven = false, ...options }: BlockOptions,
): Promise<BlockAccount> {
  const { ofBlock, ofInfos } = blockCalls(side, height, isToBeProven);
  const [block, infos] = await Promise.all([
    source.call(ofBlock, options) as Promise<Decoded<ToldBlock>>,
    ofInfos === undefined ? NO_INFOS : (source.call(ofInfos, options) as Promise<Decoded<ToldInfos>>),
  ]);
  return joinAccount(block, infos);
}

/** What an answer came to, or what is wrong with it: that is thrown when all answers are there. */
export type Decoded<T> = { readonly value: T } | { readonly error: unknown };

/** What an answer about a block tells, without its receipts. */
export interface ToldBlock {
  readonly header: TronHeader;
  readonly transactions: readonly TronTransaction[];
  /** Whether its header says that it has no transactions. */
  readonly isEmpty: boolean;
  readonly seal?: BlockSeal | undefined;
}
export type ToldInfos = readonly TronInfo[];

/** Of block 0 nodes keep no receipts, and say so with an empty object. */
export const NO_INFOS: Decoded<ToldInfos> = { value: [] };

/** The questions for a block and for its receipts: their values are a Decoded ToldBlock and Decoded ToldInfos. */
export function blockCalls(
  side: Side,
  height: number,
  isToBeProven = false,
): { readonly ofBlock: TronCall; readonly ofInfos: TronCall | undefined } {
  const callOf = (method: string, decode: (raw: unknown) => unknown): TronCall => ({
    side,
    method,
    body: { num: height },
    decode: (raw, exactly) => {
      const quick = decoded(() => decode(raw));
      // A number that is too large for a double is refused wherever it is read: then all of it is read once more.
      return 'error' in quick && exactly !== undefined ? decoded(() => decode(exactly())) : quick;
    },
  });
  return {
    ofBlock: callOf('getblockbynum', (raw) => decodeBlock(raw, height, isToBeProven)),
    ofInfos: height === 0 ? undefined : callOf('gettransactioninfobyblocknum', decodeInfos),
  };
}

function decoded<T>(decode: () => T): Decoded<T> {
  try {
    return { value: decode() };
  } catch (error) {
    return { error };
  }
}

function decodeBlock(raw: unknown, height: number, isToBeProven: boolean): ToldBlock {
  const header = decodeHeader(raw, height);
  if (height === 0) return { header, transactions: [], isEmpty: true };
  const transactions = decodeTransactions(raw);
  const told = { header, transactions, isEmpty: hasEmptyRoot(raw) };
  if (!isToBeProven) return told;
  mustBeProven(raw, transactions);
  return { ...told, seal: sealOf(raw, height) };
}

/** See readBlock. */
export function joinAccount(ofBlock: Decoded<ToldBlock>, ofInfos: Decoded<ToldInfos>): BlockAccount {
  const { header, transactions, isEmpty, seal } = valueOf(ofBlock);
  if (transactions.length === 0 && !isEmpty)
    throw inconsistent(header, 'no transactions under a header with the root of some');
  const infos = valueOf(ofInfos);
  if (infos.length !== transactions.length)
    throw inconsistent(header, `${infos.length} receipts of ${transactions.length} transactions`);
  const entries = transactions.map((transaction, place) => {
    const info = infos[place];
    if (info?.txHash !== transaction.txHash) throw inconsistent(header, 'a receipt of another transaction');
    if (info.height !== header.height || info.blockTimeMs !== header.timeMs)
      throw inconsistent(header, 'receipts of another block');
    mustBeSaidAlike(header, transaction, info);
    return { transaction, info };
  });
  return { header, entries, seal };
}

function valueOf<T>(one: Decoded<T>): T {
  if ('error' in one) throw one.error;
  return one.value;
}

/** A block, and what of it matters. */
export interface ReadBlock {
  readonly header: TronHeader;
  readonly transfers: readonly ToldTransfer[];
  /** All of them but such as a node shows otherwise than chains do: these are nobody's. */
  readonly owned: readonly OwnedTransaction[];
}

/** Whose a transaction is, as nodes write it. */
export interface OwnedTransaction {
  readonly txHash: TxHash;
  readonly ownerHex: string;
}

export function readBlockOf(reading: Reading, account: BlockAccount): ReadBlock {
  return { header: account.header, transfers: transfersOf(reading, account), owned: ownedIn(account) };
}

function ownedIn({ entries }: BlockAccount): readonly OwnedTransaction[] {
  return entries.flatMap(({ transaction: { txHash, ownerHex } }) =>
    ownerHex === undefined ? [] : [{ txHash, ownerHex }],
  );
}

/** What wallets did in these blocks, or had moved out of them; see RangeRead.actsOf. */
export function actsIn(blocks: readonly ReadBlock[], wallets: ReadonlySet<Address>): readonly Actor[] {
  const byHex = new Map([...wallets].map((wallet) => [hexOf(wallet), wallet] as const));
  if (byHex.size === 0) return [];
  return blocks.flatMap(({ header: { height: blockHeight }, owned, transfers }) => {
    const moved = transfers.map(({ txHash, fromHex }) => ({ txHash, ownerHex: fromHex }));
    return [...owned, ...moved].flatMap(({ txHash, ownerHex }) => {
      const wallet = byHex.get(ownerHex);
      return wallet === undefined ? [] : [{ txHash, wallet, blockHeight }];
    });
  });
}

/** The transfers of a block, ascending: of configured tokens what the logs of successful transactions say, and TRX. */
export function transfersOf(reading: Reading, { header, entries }: BlockAccount): readonly ToldTransfer[] {
  const ofTokens: ToldTransfer[] = [];
  const ofTrx: ToldTransfer[] = [];
  const telling = { isByTwo: false };
  for (const [place, { transaction, info }] of entries.entries()) {
    const told = { header, transaction, info, telling };
    if (hasRun(info)) {
      for (const [logPlace, log] of info.logs.entries()) {
        const found = transferIn(log, reading.tokens);
        const to = addressOfShortHex(found?.toHex ?? '');
        if (found === undefined || to === undefined) continue;
        const { contract, amount, fromHex } = found;
        const indexInBlock = indexOfLog(place, logPlace);
        ofTokens.push(toldTransfer(told, { indexInBlock, contract, fromHex: `41${fromHex}`, to, amount }));
      }
    }
    const { trx, ownerHex } = transaction;
    if (reading.native && trx !== undefined && trx.sun > 0n && hasCarried(transaction, info)) {
      const fromHex = ownerHex ?? malformed('owner_address', ownerHex);
      const to = addressOfHex(trx.toHex) ?? malformed('to_address', trx.toHex);
      const indexInBlock = NATIVE_INDEX_BASE + place;
      ofTrx.push(toldTransfer(told, { indexInBlock, contract: null, fromHex, to, amount: trx.sun }));
    }
  }
  return [...ofTokens, ...ofTrx];
}

function toldTransfer(
  {
    header,
    transaction: { txHash },
    info: { feeSun },
    telling,
  }: {
    readonly header: TronHeader;
    readonly transaction: TronTransaction;
    readonly info: TronInfo;
    readonly telling: ToldTransfer['telling'];
  },
  moved: Pick<ToldTransfer, 'indexInBlock' | 'contract' | 'fromHex' | 'to'> & { readonly amount: bigint },
): ToldTransfer {
  const { hash: blockHash, height: blockHeight } = header;
  const { indexInBlock, contract, fromHex, to, amount } = moved;
  return {
    txHash,
    blockHash,
    blockHeight,
    indexInBlock,
    contract,
    fromHex,
    get from() {
      return addressOfHex(fromHex) ?? malformed('owner_address', fromHex);
    },
    to,
    amountBaseUnits: baseUnits(amount),
    feeSun,
    telling,
  };
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
