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
import { requireProven } from './prove-transactions.ts';
import type { Reading } from './reading.ts';
import type { Side, TronCall } from './tron-client.ts';
import type { TronSource } from './tron-sources.ts';

export interface BlockAccount {
  readonly header: TronHeader;
  readonly entries: readonly { readonly transaction: TronTransaction; readonly info: TronInfo }[];
  readonly seal?: BlockSeal | undefined;
}

export interface TransferWithReceipt extends CandidateTransfer {
  /** Compared instead of `from`, which is converted to base58 only when it is read. */
  readonly fromHex: string;
  readonly feeSun: bigint;
  /** Shared by all transfers of one reading of a block. `isByTwo`: two sources returned them with the same fees. */
  readonly agreement: { isByTwo: boolean };
}

/** More than any transaction has: at 375 energy per log it would burn more than the highest fee limit buys. */
const LOGS_PER_TRANSACTION = 2 ** 20;
/** TRX transfers are ordered after all logs. */
const NATIVE_INDEX_BASE = 2 ** 50;

/** Unique in the block, ascending, and contains the index in the receipt. */
export function indexOfLog(transactionPlace: number, logPlace: number): number {
  return transactionPlace * LOGS_PER_TRANSACTION + logPlace;
}

export function logPlaceOf(indexInBlock: number): number | undefined {
  return indexInBlock < NATIVE_INDEX_BASE ? indexInBlock % LOGS_PER_TRANSACTION : undefined;
}

export interface BlockOptions extends ReadOptions {
  /**
   * The transactions must match the root in the header (requireProven). Required where a single source returns the
   * block, and where the block proves that a transaction did not land.
   */
  readonly withProof?: boolean | undefined;
}

/**
 * Hosted nodes that are behind return an empty or partial list of receipts. INCONSISTENT_ANSWER unless each transaction
 * has a receipt, in block order, with the block's height and time and the same outcome. Also for a block without
 * transactions whose header has a root of some. BLOCK_NOT_FOUND if the source lacks the block.
 */
export async function readBlock(
  source: Pick<TronSource, 'call'>,
  side: Side,
  height: number,
  { withProof = false, ...options }: BlockOptions,
): Promise<BlockAccount> {
  const { ofBlock, ofInfos } = blockCalls(side, height, withProof);
  const [block, infos] = await Promise.all([
    source.call(ofBlock, options) as Promise<Decoded<RawBlock>>,
    ofInfos === undefined ? NO_INFOS : (source.call(ofInfos, options) as Promise<Decoded<RawInfos>>),
  ]);
  return joinAccount(block, infos);
}

/** An error is thrown when all answers have arrived. */
export type Decoded<T> = { readonly value: T } | { readonly error: unknown };

export interface RawBlock {
  readonly header: TronHeader;
  readonly transactions: readonly TronTransaction[];
  readonly isEmpty: boolean;
  readonly seal?: BlockSeal | undefined;
}
export type RawInfos = readonly TronInfo[];

/** Nodes keep no receipts of block 0 and return an empty object. */
export const NO_INFOS: Decoded<RawInfos> = { value: [] };

export function blockCalls(
  side: Side,
  height: number,
  withProof = false,
): { readonly ofBlock: TronCall; readonly ofInfos: TronCall | undefined } {
  const callOf = (method: string, decode: (raw: unknown) => unknown): TronCall => ({
    side,
    method,
    body: { num: height },
    decode: (raw, exactly) => {
      const quick = decoded(() => decode(raw));
      // Decoding rejects a number that was rounded to a double. The answer is then parsed and decoded again exactly.
      return 'error' in quick && exactly !== undefined ? decoded(() => decode(exactly())) : quick;
    },
  });
  return {
    ofBlock: callOf('getblockbynum', (raw) => decodeBlock(raw, height, withProof)),
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

function decodeBlock(raw: unknown, height: number, withProof: boolean): RawBlock {
  const header = decodeHeader(raw, height);
  if (height === 0) return { header, transactions: [], isEmpty: true };
  const transactions = decodeTransactions(raw);
  const plain = { header, transactions, isEmpty: hasEmptyRoot(raw) };
  if (!withProof) return plain;
  requireProven(raw, transactions);
  return { ...plain, seal: sealOf(raw, height) };
}

export function joinAccount(ofBlock: Decoded<RawBlock>, ofInfos: Decoded<RawInfos>): BlockAccount {
  const { header, transactions, isEmpty, seal } = valueOf(ofBlock);
  if (transactions.length === 0 && !isEmpty)
    throw inconsistent(header, 'it has no transactions, but its header has a root of some');
  const infos = valueOf(ofInfos);
  if (infos.length !== transactions.length)
    throw inconsistent(header, `${infos.length} receipts for ${transactions.length} transactions`);
  const entries = transactions.map((transaction, place) => {
    const info = infos[place];
    if (info?.txHash !== transaction.txHash)
      throw inconsistent(header, 'a receipt is of another transaction');
    if (info.height !== header.height || info.blockTimeMs !== header.timeMs)
      throw inconsistent(header, 'the receipts are of another block');
    requireSameOutcome(header, transaction, info);
    return { transaction, info };
  });
  return { header, entries, seal };
}

function valueOf<T>(one: Decoded<T>): T {
  if ('error' in one) throw one.error;
  return one.value;
}

export interface ReadBlock {
  readonly header: TronHeader;
  readonly transfers: readonly TransferWithReceipt[];
  /** Excludes those that the node returns in an unknown form; they belong to no wallet. */
  readonly owned: readonly OwnedTransaction[];
}

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

/** Transactions that these wallets sent, or that moved tokens out of them. */
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

/** Ascending: logs of configured tokens in successful transactions, and TRX. */
export function transfersOf(
  reading: Reading,
  { header, entries }: BlockAccount,
): readonly TransferWithReceipt[] {
  const ofTokens: TransferWithReceipt[] = [];
  const ofTrx: TransferWithReceipt[] = [];
  const agreement = { isByTwo: false };
  for (const [place, { transaction, info }] of entries.entries()) {
    const plain = { header, transaction, info, agreement };
    if (hasRun(info)) {
      for (const [logPlace, log] of info.logs.entries()) {
        const found = transferIn(log, reading.tokens);
        const to = addressOfShortHex(found?.toHex ?? '');
        if (found === undefined || to === undefined) continue;
        const { contract, amount, fromHex } = found;
        const indexInBlock = indexOfLog(place, logPlace);
        ofTokens.push(
          transferWithReceipt(plain, { indexInBlock, contract, fromHex: `41${fromHex}`, to, amount }),
        );
      }
    }
    const { trx, ownerHex } = transaction;
    if (reading.native && trx !== undefined && trx.sun > 0n && hasCarried(transaction, info)) {
      const fromHex = ownerHex ?? malformed('owner_address', ownerHex);
      const to = addressOfHex(trx.toHex) ?? malformed('to_address', trx.toHex);
      const indexInBlock = NATIVE_INDEX_BASE + place;
      ofTrx.push(transferWithReceipt(plain, { indexInBlock, contract: null, fromHex, to, amount: trx.sun }));
    }
  }
  return [...ofTokens, ...ofTrx];
}

function transferWithReceipt(
  {
    header,
    transaction: { txHash },
    info: { feeSun },
    agreement,
  }: {
    readonly header: TronHeader;
    readonly transaction: TronTransaction;
    readonly info: TronInfo;
    readonly agreement: TransferWithReceipt['agreement'];
  },
  moved: Pick<TransferWithReceipt, 'indexInBlock' | 'contract' | 'fromHex' | 'to'> & {
    readonly amount: bigint;
  },
): TransferWithReceipt {
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
    agreement,
  };
}

export function hasCarried({ contractRet }: TronTransaction, { failed }: TronInfo): boolean {
  return contractRet === 'SUCCESS' && !failed;
}

/**
 * Block and receipt contain the same outcome of a contract call in every valid block (java-tron,
 * TransactionTrace.check). If they differ, one of them is invented.
 */
function requireSameOutcome(
  header: TronHeader,
  { contractRet, txHash }: TronTransaction,
  { contractResult }: TronInfo,
): void {
  if (contractRet === undefined || contractResult === undefined) return;
  if ((contractRet === 'SUCCESS') !== (contractResult === 'SUCCESS'))
    throw inconsistent(header, `block and receipt differ on the success of ${txHash}`);
}

function inconsistent({ height, hash }: TronHeader, why: string): Error {
  return readerError('INCONSISTENT_ANSWER', `block ${height}: ${why}`, { height, hash });
}
