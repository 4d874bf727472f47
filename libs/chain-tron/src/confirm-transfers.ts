import type { ConfirmedTransfers, ConfirmOptions, ReadOptions } from '@opentill/chain/chain-reader';
import { readerError } from '@opentill/chain/reader-error';
import type { CandidateTransfer, Transfer, TransferPosition, TxHash } from '@opentill/chain/transfer';
import { askTwoSources } from '@opentill/chain-sources/ask-two-sources';
import { baseUnits } from '@opentill/domain/money';
import { addressOfHex } from './address-codec.ts';
import type { TronHeader, TronTransaction } from './decode-block.ts';
import { decodeTransaction } from './decode-block.ts';
import type { TronInfo } from './decode-info.ts';
import { decodeInfo, hasRun, isBetween, transferIn } from './decode-info.ts';
import { hasCarried, logPlaceOf, readBlock, transfersOf, type TransferWithReceipt } from './read-block.ts';
import { sameTransfer } from './compare-blocks.ts';
import type { Reading } from './reading.ts';
import type { TronSource, TronSources } from './tron-sources.ts';
import { readHeader } from './tron-sources.ts';

interface Evidence {
  readonly info: TronInfo;
  readonly transaction: TronTransaction | undefined;
}
type Evidences = ReadonlyMap<TxHash, Evidence>;
interface SourceEvidence {
  readonly source: TronSource;
  readonly evidences: Evidences;
}

const TRANSACTIONS_AT_ONCE = 8;

/**
 * A candidate that a receipt refutes must also be refuted by the whole block, at each source that was asked.
 *
 * Candidates need no request if two sources have just returned their block identically, with all receipts. Candidates
 * of one source need none where a single source is accepted. A block may have hundreds of them, and some of many
 * requests fail.
 */
export async function confirmTransfers(
  reading: Reading,
  sources: TronSources,
  candidates: readonly CandidateTransfer[],
  options: ConfirmOptions,
): Promise<ConfirmedTransfers> {
  const proven = alreadyProven(reading, candidates, options);
  const asked = candidates.filter((candidate) => !proven.has(candidate));
  const sourceEvidences = asked.length === 0 ? [] : await readFromSources(reading, sources, asked, options);
  const confirmed: Transfer[] = [];
  const refuted: CandidateTransfer[] = [];
  for (const candidate of candidates) {
    const transfer = proven.get(candidate) ?? agreedOn(reading, sourceEvidences, candidate);
    if (transfer === undefined) {
      for (const { source } of sourceEvidences)
        await requireRefutedByBlock(reading, source, candidate, options);
      refuted.push(candidate);
    } else confirmed.push(transfer);
  }
  return { confirmed, refuted };
}

function alreadyProven(
  { chain }: Reading,
  candidates: readonly CandidateTransfer[],
  { headers = [], byOneSource = false }: ConfirmOptions,
): ReadonlyMap<CandidateTransfer, Transfer> {
  const blocks = new Set(headers.map(({ hash }) => hash));
  const proven = new Map<CandidateTransfer, Transfer>();
  for (const candidate of candidates) {
    if (!hasReceipt(candidate) || !blocks.has(candidate.blockHash)) continue;
    if (!byOneSource && !candidate.agreement.isByTwo) continue;
    const { feeSun, agreement: _, fromHex: __, ...transfer } = candidate;
    const position = positionOf(candidate) as TransferPosition;
    proven.set(candidate, { ...transfer, chain, position, feeBaseUnits: baseUnits(feeSun) });
  }
  return proven;
}

function hasReceipt(candidate: CandidateTransfer | TransferWithReceipt): candidate is TransferWithReceipt {
  return 'agreement' in candidate;
}

function positionOf({ indexInBlock }: CandidateTransfer): string {
  const place = logPlaceOf(indexInBlock);
  return place === undefined ? 'value' : `log:${place}`;
}

async function readFromSources(
  reading: Reading,
  sources: TronSources,
  candidates: readonly CandidateTransfer[],
  { byOneSource = false, ...options }: ConfirmOptions,
): Promise<readonly SourceEvidence[]> {
  const ask = (source: TronSource, own: ReadOptions): Promise<Evidences> =>
    readEvidences(source, candidates, own);
  if (byOneSource)
    return sources.run(async (source, own) => [{ source, evidences: await ask(source, own) }], {
      ...options,
      hedge: true,
    });
  const height = Math.max(...candidates.map(({ blockHeight }) => blockHeight));
  const answers = await askTwoSources(
    sources,
    { ask, height, onSingleSource: reading.onSingleSource },
    options,
  );
  return answers.flatMap((one) => (one === undefined ? [] : [{ source: one.source, evidences: one.answer }]));
}

function agreedOn(
  reading: Reading,
  sourceEvidences: readonly SourceEvidence[],
  candidate: CandidateTransfer,
): Transfer | undefined {
  const [first, ...others] = sourceEvidences.map(({ evidences }) => {
    const evidence = evidences.get(candidate.txHash);
    return evidence && provenBy(reading, evidence, candidate);
  });
  const isSame = (other: Transfer | undefined): boolean =>
    other?.position === first?.position && other?.feeBaseUnits === first?.feeBaseUnits;
  if (others.every(isSame)) return first;
  throw readerError('INCONSISTENT_ANSWER', 'the receipts of two sources differ on a transfer', {
    ...contextOf(candidate),
    sources: sourceEvidences.map(({ source }) => source.label),
  });
}

/** Throws unless every transaction is in the block of its candidates, so that another source is asked. */
async function readEvidences(
  source: TronSource,
  candidates: readonly CandidateTransfer[],
  options: ReadOptions,
): Promise<Evidences> {
  const natives = new Set(candidates.flatMap(({ contract, txHash }) => (contract === null ? [txHash] : [])));
  const hashes = [...new Set(candidates.map(({ txHash }) => txHash))];
  const heights = [...new Set(candidates.map(({ blockHeight }) => blockHeight))];
  const infos = await inBatches(hashes, (txHash) => readInfo(source, txHash, options));
  const transactions = await inBatches([...natives], (txHash) => readTransaction(source, txHash, options));
  const headers = await inBatches(heights, (height) => readHeader(source, options, height));
  for (const candidate of candidates)
    requireInBlock(infos.get(candidate.txHash), headers.get(candidate.blockHeight), candidate);
  const evidences = new Map<TxHash, Evidence>();
  for (const [txHash, info] of infos)
    if (info !== undefined) evidences.set(txHash, { info, transaction: transactions.get(txHash) });
  return evidences;
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
  header: TronHeader | undefined,
  candidate: CandidateTransfer,
): void {
  if (info === undefined)
    throw readerError('BLOCK_NOT_FOUND', 'the transaction is in no block', contextOf(candidate));
  const isThere =
    info.height === candidate.blockHeight &&
    header?.hash === candidate.blockHash &&
    info.blockTimeMs === header.timeMs;
  if (!isThere)
    throw readerError('INCONSISTENT_ANSWER', 'the transaction is in another block now', {
      ...contextOf(candidate),
      now: info.height,
    });
}

function provenBy(
  { chain, tokens }: Reading,
  { info, transaction }: Evidence,
  candidate: CandidateTransfer,
): Transfer | undefined {
  const feeBaseUnits = baseUnits(info.feeSun);
  const { contract, from, to, amountBaseUnits, indexInBlock } = candidate;
  const place = logPlaceOf(indexInBlock);
  if (contract === null) {
    const trx = transaction !== undefined && hasCarried(transaction, info) ? transaction.trx : undefined;
    const isIt =
      place === undefined &&
      addressOfHex(transaction?.ownerHex ?? '') === from &&
      addressOfHex(trx?.toHex ?? '') === to &&
      trx?.sun === amountBaseUnits;
    return isIt ? { ...candidate, chain, position: 'value' as TransferPosition, feeBaseUnits } : undefined;
  }
  const log = place === undefined || !hasRun(info) ? undefined : info.logs[place];
  const stated = log === undefined ? undefined : transferIn(log, tokens);
  const isIt =
    stated?.contract === contract && isBetween(stated, from, to) && stated.amount === amountBaseUnits;
  return isIt
    ? { ...candidate, chain, position: `log:${place}` as TransferPosition, feeBaseUnits }
    : undefined;
}

/** The receipt contradicts the candidate. Throws unless the receipts of the whole block do so too. */
async function requireRefutedByBlock(
  reading: Reading,
  source: TronSource,
  candidate: CandidateTransfer,
  options: ReadOptions,
): Promise<void> {
  const account = await readBlock(source, 'wallet', candidate.blockHeight, options);
  if (account.header.hash !== candidate.blockHash)
    throw readerError('INCONSISTENT_ANSWER', 'another block is at this height now', contextOf(candidate));
  if (transfersOf(reading, account).some((transfer) => sameTransfer(transfer, candidate)))
    throw readerError(
      'INCONSISTENT_ANSWER',
      'the receipts of the block and the receipt differ',
      contextOf(candidate),
    );
}

function contextOf({ txHash, blockHash, blockHeight }: CandidateTransfer): Readonly<Record<string, unknown>> {
  return { txHash, blockHash, height: blockHeight };
}

export async function inBatches<K, T>(
  keys: readonly K[],
  work: (key: K) => Promise<T>,
): Promise<ReadonlyMap<K, T>> {
  const answers = new Map<K, T>();
  for (let at = 0; at < keys.length; at += TRANSACTIONS_AT_ONCE) {
    const some = keys.slice(at, at + TRANSACTIONS_AT_ONCE);
    const found = await Promise.all(some.map(work));
    for (const [place, key] of some.entries()) answers.set(key, found[place] as T);
  }
  return answers;
}
