import type { BlockHeader } from '@opentill/chain/block';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import { readerError } from '@opentill/chain/reader-error';
import type { CandidateTransfer, TxHash } from '@opentill/chain/transfer';
import { decodeTransaction, type TronTransaction } from './decode-block.ts';
import { decodeInfo, decodeInfos, type TronInfo } from './decode-info.ts';
import { inBatches } from './in-batches.ts';
import { isLogged } from './logs/logged-candidate.ts';
import type { SeenReceipts } from './logs/seen-receipts.ts';
import { readHeader, type TronSource } from './tron-sources.ts';

export interface Evidence {
  readonly info: TronInfo;
  readonly transaction: TronTransaction | undefined;
}
export type Evidences = ReadonlyMap<TxHash, Evidence>;
/** More transactions of a block are read with all receipts of the block, by one request. */
const RECEIPTS_APART_MAX = 8;

/** Throws unless every transaction is in the block of its candidates, so that another source is asked. */
export async function readEvidences(
  {
    source,
    receipts,
    headers,
  }: {
    readonly source: TronSource;
    readonly receipts: SeenReceipts | undefined;
    readonly headers: readonly BlockHeader[];
  },
  candidates: readonly CandidateTransfer[],
  options: ReadOptions,
): Promise<Evidences> {
  const readReceipt = createReceiptReader(source, candidates);
  const byHash = new Map(headers.map((header) => [header.hash, header]));
  // A log was read together with the header of its block; the receipt has the time of its own.
  const headerOf = (candidate: CandidateTransfer): BlockHeader | undefined =>
    isLogged(candidate) ? byHash.get(candidate.blockHash) : undefined;
  const natives = new Set(candidates.flatMap(({ contract, txHash }) => (contract === null ? [txHash] : [])));
  const byTxHash = new Map(candidates.map((candidate) => [candidate.txHash, candidate]));
  const remembered = new Map(
    candidates.flatMap((candidate) => {
      const info = receipts?.of(source, candidate, headerOf(candidate));
      return info === undefined ? [] : [[candidate.txHash, info] as const];
    }),
  );
  const unknown = candidates.filter((candidate) => headerOf(candidate) === undefined);
  const heights = [...new Set(unknown.map(({ blockHeight }) => blockHeight))];
  const infos = new Map<TxHash, TronInfo | undefined>();
  const readOne = async (candidate: CandidateTransfer): Promise<TronInfo | undefined> =>
    remembered.get(candidate.txHash) ?? readReceipt(candidate, options);
  for (const [{ txHash }, info] of await inBatches([...byTxHash.values()], readOne)) infos.set(txHash, info);
  const transactions = await inBatches([...natives], (txHash) => readTransaction(source, txHash, options));
  const read = await inBatches(heights, (height) => readHeader(source, options, height));
  for (const candidate of candidates)
    requireInBlock(
      infos.get(candidate.txHash),
      headerOf(candidate) ?? read.get(candidate.blockHeight),
      candidate,
    );
  const evidences = new Map<TxHash, Evidence>();
  for (const [txHash, info] of infos)
    if (info !== undefined) evidences.set(txHash, { info, transaction: transactions.get(txHash) });
  return evidences;
}

type ReceiptReader = (
  candidate: Pick<CandidateTransfer, 'txHash' | 'blockHeight'>,
  options: ReadOptions,
) => Promise<TronInfo | undefined>;

/** Reads receipts of one of these candidates' transactions: by its id, or with those of its block. */
function createReceiptReader(source: TronSource, candidates: readonly CandidateTransfer[]): ReceiptReader {
  const hashesAt = new Map<number, Set<TxHash>>();
  for (const { blockHeight, txHash } of candidates)
    hashesAt.set(blockHeight, (hashesAt.get(blockHeight) ?? new Set()).add(txHash));
  const ofBlocks = new Map<number, Promise<readonly TronInfo[]>>();
  return async ({ txHash, blockHeight }, options) => {
    if ((hashesAt.get(blockHeight)?.size ?? 0) <= RECEIPTS_APART_MAX)
      return readInfo(source, txHash, options);
    const ofBlock = ofBlocks.get(blockHeight) ?? readInfosOfBlock(source, blockHeight, options);
    ofBlocks.set(blockHeight, ofBlock);
    // Nodes that are behind return an empty or partial list.
    return (await ofBlock).find((info) => info.txHash === txHash) ?? readInfo(source, txHash, options);
  };
}

async function readInfosOfBlock(
  source: TronSource,
  height: number,
  options: ReadOptions,
): Promise<readonly TronInfo[]> {
  const body = { num: height };
  return decodeInfos(
    await source.call({ side: 'wallet', method: 'gettransactioninfobyblocknum', body }, options),
  );
}

export async function readInfo(
  source: TronSource,
  txHash: TxHash,
  options: ReadOptions,
): Promise<TronInfo | undefined> {
  const call = { side: 'wallet', method: 'gettransactioninfobyid', body: { value: txHash } } as const;
  const info = decodeInfo(await source.call(call, options));
  if (info !== undefined && info.txHash !== txHash)
    throw readerError('INCONSISTENT_ANSWER', "the node returned another transaction's receipt", { txHash });
  return info;
}

/** Does not prove inclusion: a pending transaction looks the same. The receipt proves it. */
export async function readTransaction(
  source: TronSource,
  txHash: TxHash,
  options: ReadOptions,
): Promise<TronTransaction> {
  const call = { side: 'wallet', method: 'gettransactionbyid', body: { value: txHash } } as const;
  const transaction = decodeTransaction(await source.call(call, options));
  if (transaction.txHash !== txHash)
    throw readerError('INCONSISTENT_ANSWER', 'the node returned another transaction', { txHash });
  return transaction;
}

/** A receipt has the height and time of its block but not its id, so the header at that height is compared. */
function requireInBlock(
  info: TronInfo | undefined,
  header: BlockHeader | undefined,
  candidate: CandidateTransfer,
): void {
  if (info === undefined)
    throw readerError('BLOCK_NOT_FOUND', 'the transaction is in no block', contextOf(candidate));
  const isThere =
    info.height === candidate.blockHeight &&
    header?.hash === candidate.blockHash &&
    Math.floor(info.blockTimeMs / 1_000) === header.timeSeconds;
  if (!isThere)
    throw readerError('INCONSISTENT_ANSWER', 'the transaction is in another block now', {
      ...contextOf(candidate),
      now: info.height,
    });
}

export function contextOf({
  txHash,
  blockHash,
  blockHeight,
}: CandidateTransfer): Readonly<Record<string, unknown>> {
  return { txHash, blockHash, height: blockHeight };
}
