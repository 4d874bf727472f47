import type { BlockHeader } from '@opentill/chain/block';
import type { ConfirmedTransfers, ConfirmOptions, ReadOptions } from '@opentill/chain/chain-reader';
import { readerError } from '@opentill/chain/reader-error';
import type { CandidateTransfer, Transfer, TransferPosition, TxHash } from '@opentill/chain/transfer';
import { baseUnits } from '@opentill/domain/money';
import { askTwoSources } from '@opentill/chain-sources/ask-two-sources';
import { blockByHashRequest, blockRequest, receiptRequest, transactionRequest } from './block-requests.ts';
import type { PaidBlocks } from './block-times.ts';
import { checkTimes, isInAnotherBlock, readPaidBlocks, unknownHeights } from './block-times.ts';
import { isBloomOf } from './bloom.ts';
import type { EvmClient } from './client.ts';
import type { EvmReceipt } from './decode.ts';
import { dataFeeOf } from './data-fee.ts';
import { decodeHeader, decodeReceipt, decodeTransaction, plainHeader, transferOf } from './decode.ts';
import { readBlockReceipts } from './transfers-by-receipts.ts';
import { nativeTransferOf } from './native-transfers.ts';
import type { Reading } from './reading.ts';
import type { EvmSource, EvmSources } from './sources.ts';

const TRANSACTIONS_PER_CALL = 20;

interface Evidence {
  readonly receipt: EvmReceipt;
  readonly native: CandidateTransfer | undefined;
}

type Evidences = ReadonlyMap<TxHash, Evidence>;

interface Witness extends Statement {
  readonly source: EvmSource;
}
interface Statement {
  readonly evidences: Evidences;
  readonly blocks: PaidBlocks;
}

/**
 * A source's receipt refutes a candidate only if the receipts of the whole block do so too, at each asked source. With
 * `refutesOtherBlocks`, a log of a block that is not in the source's chain is refuted as well: it was of another branch.
 */
export async function confirmTransfers(
  reading: Reading,
  sources: EvmSources,
  candidates: readonly CandidateTransfer[],
  options: ConfirmOptions,
): Promise<ConfirmedTransfers> {
  if (candidates.length === 0) return { confirmed: [], refuted: [] };
  const witnesses = await askSources(reading, sources, candidates, options);
  checkTimes(reading, witnesses);
  const asked = witnesses.map(({ source }) => source);
  const blocks: PaidBlocks = witnesses[0]?.blocks ?? new Map();
  const confirmed: Transfer[] = [];
  const refuted: CandidateTransfer[] = [];
  for (const candidate of candidates) {
    if (isInAnotherBlock(blocks, candidate)) {
      refuted.push(candidate);
      continue;
    }
    const transfer = agreedOn(reading, witnesses, candidate);
    const evidence = witnesses[0]?.evidences.get(candidate.txHash);
    if (transfer !== undefined) confirmed.push(transfer);
    else {
      const isOrdinary = candidate.contract === null && evidence?.receipt.succeeded === false;
      await checkRefuted(
        isOrdinary ? { ...reading, onDecidedByReceipts: () => undefined } : reading,
        asked,
        candidate,
        options,
      );
      if (!isOrdinary) refuted.push(candidate);
    }
  }
  const paid = new Set(confirmed.map(({ blockHeight }) => blockHeight));
  const headers = [...blocks.values()].filter(({ height }) => paid.has(height)).map(plainHeader);
  return { confirmed, refuted, ...(headers.length === 0 ? {} : { headers }) };
}

async function askSources(
  reading: Reading,
  sources: EvmSources,
  candidates: readonly CandidateTransfer[],
  { byOneSource = false, refutesOtherBlocks = false, headers = [], ...options }: ConfirmOptions,
): Promise<readonly Witness[]> {
  const heights = unknownHeights(candidates, headers);
  const last = byOneSource && refutesOtherBlocks ? headers.at(-1) : undefined;
  const ask = async (source: EvmSource, own: ReadOptions): Promise<Statement> => {
    const [evidences, blocks] = await Promise.all([
      readEvidences(reading, source, candidates, own),
      readPaidBlocks(source, heights, own),
    ]);
    const isElsewhere = candidates.some((candidate) => isInAnotherBlock(blocks, candidate));
    // A lagging source has the blocks of the branch before.
    const mayRefute = isElsewhere && last !== undefined && (await isInChain(source, last, own));
    for (const candidate of candidates)
      if (!mayRefute || !isInAnotherBlock(blocks, candidate))
        checkInBlock(evidences.get(candidate.txHash)?.receipt, blocks, candidate);
    return { evidences, blocks };
  };
  if (byOneSource) {
    return sources.run(
      async (source, own) => {
        return [{ source, ...(await ask(source, own)) }];
      },
      { ...options, hedge: true },
    );
  }
  const height = Math.max(...candidates.map(({ blockHeight }) => blockHeight));
  const received = await askTwoSources(
    sources,
    { ask, height, onSingleSource: reading.onSingleSource },
    options,
  );
  return received.flatMap((one) => (one === undefined ? [] : [{ source: one.source, ...one.answer }]));
}

async function isInChain(
  source: Pick<EvmClient, 'batch'>,
  { height, hash }: BlockHeader,
  options: ReadOptions,
): Promise<boolean> {
  const [raw] = await source.batch([blockRequest(height)], options);
  return raw !== null && decodeHeader(raw).hash === hash;
}

function agreedOn(
  reading: Reading,
  witnesses: readonly Witness[],
  candidate: CandidateTransfer,
): Transfer | undefined {
  const proven = witnesses.map(({ evidences }) => {
    const evidence = evidences.get(candidate.txHash);
    return evidence && provenBy(reading, evidence, candidate);
  });
  const [first, ...others] = proven;
  if (others.every((other) => other?.position === first?.position)) return first;
  const sources = witnesses.map(({ source }) => source.label);
  throw readerError('INCONSISTENT_ANSWER', 'the receipts of two sources differ on a transfer', {
    ...shown(candidate),
    sources,
  });
}

function shown(candidate: CandidateTransfer): Readonly<Record<string, unknown>> {
  return { txHash: candidate.txHash, blockHash: candidate.blockHash, height: candidate.blockHeight };
}

async function readEvidences(
  reading: Pick<Reading, 'hasStateSync' | 'dataFee'>,
  source: Pick<EvmClient, 'batch'>,
  candidates: readonly CandidateTransfer[],
  options: ReadOptions,
): Promise<Evidences> {
  const natives = new Set(candidates.flatMap(({ contract, txHash }) => (contract === null ? [txHash] : [])));
  const hashes = [...new Set(candidates.map(({ txHash }) => txHash))];
  const evidences = new Map<TxHash, Evidence>();
  for (let at = 0; at < hashes.length; at += TRANSACTIONS_PER_CALL) {
    const asked = hashes.slice(at, at + TRANSACTIONS_PER_CALL);
    const withTransaction = asked.filter((txHash) => natives.has(txHash));
    const answers = await source.batch(
      [...asked.map(receiptRequest), ...withTransaction.map(transactionRequest)],
      options,
    );
    asked.forEach((txHash, place) => {
      const receipt = checkedReceipt(txHash, answers[place], reading);
      const transaction = answers[asked.length + withTransaction.indexOf(txHash)];
      if (receipt === undefined) return;
      evidences.set(txHash, {
        receipt,
        native: natives.has(txHash) ? nativeIn(txHash, transaction) : undefined,
      });
    });
  }
  return evidences;
}

export function checkedReceipt(
  txHash: TxHash,
  raw: unknown,
  { hasStateSync, dataFee }: Pick<Reading, 'hasStateSync' | 'dataFee'>,
): EvmReceipt | undefined {
  if (raw === null) return undefined;
  const receipt = decodeReceipt(raw, hasStateSync);
  if (receipt.txHash !== txHash)
    throw readerError('INCONSISTENT_ANSWER', "the node answered another transaction's receipt", { txHash });
  // The transfer's position counts from the receipt's first log, so no log before it may be missing or invented.
  if (receipt.logsBloom !== undefined && !receipt.isStateSync && !isBloomOf(receipt.logsBloom, receipt.logs))
    throw readerError('INCONSISTENT_ANSWER', 'the bloom of the receipt does not match its logs', { txHash });
  return { ...receipt, feeWei: receipt.feeWei + dataFeeOf(raw as object, dataFee) };
}

function nativeIn(txHash: TxHash, raw: unknown): CandidateTransfer | undefined {
  if (raw === null)
    throw readerError('BLOCK_NOT_FOUND', 'the node does not have the transaction', { txHash });
  const transaction = decodeTransaction(raw);
  if (transaction.txHash !== txHash)
    throw readerError('INCONSISTENT_ANSWER', 'the node answered another transaction', { txHash });
  return nativeTransferOf(transaction);
}

/** Throws unless the transaction is in the candidate's block, so that another source may be asked. */
function checkInBlock(
  receipt: EvmReceipt | undefined,
  blocks: PaidBlocks,
  candidate: CandidateTransfer,
): void {
  if (receipt === undefined)
    throw readerError('BLOCK_NOT_FOUND', 'the transaction is in no block', { ...shown(candidate) });
  if (isInAnotherBlock(blocks, candidate))
    throw readerError('INCONSISTENT_ANSWER', 'the block is not in the chain', { ...shown(candidate) });
  if (receipt.blockHash !== candidate.blockHash || receipt.blockHeight !== candidate.blockHeight) {
    throw readerError('INCONSISTENT_ANSWER', 'the transaction is in another block now', {
      ...shown(candidate),
      now: receipt.blockHash,
    });
  }
}

function provenBy(
  { chain, tokens }: Reading,
  { receipt, native }: Evidence,
  candidate: CandidateTransfer,
): Transfer | undefined {
  const place = receipt.logs.findIndex((log) => log.logIndex === candidate.indexInBlock);
  const log = receipt.logs[place];
  const ofToken = log === undefined ? undefined : transferOf(log, tokens);
  const stated = candidate.contract === null ? (receipt.succeeded ? native : undefined) : ofToken;
  if (
    stated === undefined ||
    stated.blockHash !== candidate.blockHash ||
    stated.indexInBlock !== candidate.indexInBlock ||
    stated.contract !== candidate.contract ||
    stated.from !== candidate.from ||
    stated.to !== candidate.to ||
    stated.amountBaseUnits !== candidate.amountBaseUnits
  ) {
    return undefined;
  }
  return {
    ...candidate,
    chain,
    position: (candidate.contract === null ? 'value' : `log:${place}`) as TransferPosition,
    feeBaseUnits: baseUnits(receipt.feeWei),
  };
}

async function checkRefuted(
  reading: Reading,
  asked: readonly EvmSource[],
  candidate: CandidateTransfer,
  options: ReadOptions,
): Promise<void> {
  for (const source of asked) {
    const evidence = await readEvidenceInBlock(reading, source, candidate, options);
    if (evidence !== undefined && provenBy(reading, evidence, candidate) !== undefined) {
      throw readerError('INCONSISTENT_ANSWER', "the block's receipts and the transaction's receipt differ", {
        ...shown(candidate),
      });
    }
  }
}

async function readEvidenceInBlock(
  reading: Reading,
  source: Pick<EvmClient, 'batch'>,
  candidate: CandidateTransfer,
  options: ReadOptions,
): Promise<Evidence | undefined> {
  const [raw, transaction] = await source.batch(
    [
      blockByHashRequest(candidate.blockHash),
      ...(candidate.contract === null ? [transactionRequest(candidate.txHash)] : []),
    ],
    options,
  );
  if (raw === null)
    throw readerError('BLOCK_NOT_FOUND', 'the node does not have the block', { ...shown(candidate) });
  const header = decodeHeader(raw);
  reading.onDecidedByReceipts({ header, reason: 'RECEIPT_CONTRADICTS' });
  const receipts = await readBlockReceipts(reading, source, header, options);
  const receipt = receipts.find(({ txHash }) => txHash === candidate.txHash);
  return (
    receipt && {
      receipt,
      native: candidate.contract === null ? nativeIn(candidate.txHash, transaction) : undefined,
    }
  );
}
