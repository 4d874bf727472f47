import type { ConfirmedTransfers, ReadOptions } from '@opentill/chain/chain-reader';
import { readerError } from '@opentill/chain/reader-error';
import type { CandidateTransfer, Transfer, TransferPosition, TxHash } from '@opentill/chain/transfer';
import type { Chain } from '@opentill/domain/chains';
import { baseUnits } from '@opentill/domain/money';
import { receiptRequest } from './block-requests.ts';
import { bloomIsExplainedBy } from './bloom.ts';
import type { EvmReceipt } from './decode.ts';
import { decodeHeader, decodeReceipt, transferOf } from './decode.ts';
import type { Judging } from './judge-by-receipts.ts';
import { readBlockReceipts } from './judge-by-receipts.ts';

const RECEIPTS_PER_CALL = 20;

/** Judges candidates by the receipts of their transactions; see ChainReader.confirmTransfers. */
export async function confirmTransfers(
  judging: Judging & { readonly chain: Chain },
  candidates: readonly CandidateTransfer[],
  options: ReadOptions,
): Promise<ConfirmedTransfers> {
  const receipts = await readReceipts(
    judging,
    [...new Set(candidates.map((candidate) => candidate.txHash))],
    options,
  );
  const confirmed: Transfer[] = [];
  const refuted: CandidateTransfer[] = [];
  for (const candidate of candidates) {
    const receipt = receipts.get(candidate.txHash);
    if (receipt === undefined)
      throw readerError('BLOCK_NOT_FOUND', 'the transaction is in no block', { ...shown(candidate) });
    if (receipt.blockHash !== candidate.blockHash || receipt.blockHeight !== candidate.blockHeight) {
      throw readerError('INCONSISTENT_ANSWER', 'the transaction is in another block now', {
        ...shown(candidate),
        now: receipt.blockHash,
      });
    }
    const transfer = provenBy(receipt, candidate, judging);
    if (transfer !== undefined) confirmed.push(transfer);
    else {
      await mustBeRefuted(judging, candidate, options);
      refuted.push(candidate);
    }
  }
  return { confirmed, refuted };
}

function shown(candidate: CandidateTransfer): Readonly<Record<string, unknown>> {
  return { txHash: candidate.txHash, blockHash: candidate.blockHash, height: candidate.blockHeight };
}

async function readReceipts(
  { client }: Judging,
  txHashes: readonly TxHash[],
  options: ReadOptions,
): Promise<ReadonlyMap<TxHash, EvmReceipt>> {
  const receipts = new Map<TxHash, EvmReceipt>();
  for (let at = 0; at < txHashes.length; at += RECEIPTS_PER_CALL) {
    const asked = txHashes.slice(at, at + RECEIPTS_PER_CALL);
    const answers = await client.batch(asked.map(receiptRequest), options);
    asked.forEach((txHash, place) => {
      if (answers[place] === null) return;
      const receipt = decodeReceipt(answers[place]);
      if (receipt.txHash !== txHash) {
        throw readerError('INCONSISTENT_ANSWER', "the node answered another transaction's receipt", {
          txHash,
        });
      }
      // The position is counted from the receipt's first log, so none may be missing before it.
      if (receipt.logsBloom !== undefined && !bloomIsExplainedBy(receipt.logsBloom, receipt.logs)) {
        throw readerError('INCONSISTENT_ANSWER', 'logs are missing in the receipt', { txHash });
      }
      receipts.set(txHash, receipt);
    });
  }
  return receipts;
}

function provenBy(
  receipt: EvmReceipt,
  candidate: CandidateTransfer,
  { chain, tokens }: Judging & { readonly chain: Chain },
): Transfer | undefined {
  const place = receipt.logs.findIndex((log) => log.logIndex === candidate.indexInBlock);
  const log = receipt.logs[place];
  const stated = log === undefined ? undefined : transferOf(log, tokens);
  if (
    stated?.contract !== candidate.contract ||
    stated.from !== candidate.from ||
    stated.to !== candidate.to ||
    stated.amountBaseUnits !== candidate.amountBaseUnits
  ) {
    return undefined;
  }
  return {
    ...candidate,
    chain,
    position: `log:${place}` as TransferPosition,
    feeBaseUnits: baseUnits(receipt.feeWei),
  };
}

/** Receipt and logs contradict each other: a third read decides, and only when it sides with the receipt. */
async function mustBeRefuted(
  judging: Judging & { readonly chain: Chain },
  candidate: CandidateTransfer,
  options: ReadOptions,
): Promise<void> {
  const [raw] = await judging.client.batch(
    [{ method: 'eth_getBlockByHash', params: [candidate.blockHash, false] }],
    options,
  );
  if (raw === null)
    throw readerError('BLOCK_NOT_FOUND', 'the node does not have the block', { ...shown(candidate) });
  const block = { header: decodeHeader(raw), reason: 'RECEIPT_CONTRADICTS' } as const;
  const receipts = await readBlockReceipts(judging, block, options);
  if (receipts.some((receipt) => provenBy(receipt, candidate, judging) !== undefined)) {
    throw readerError('INCONSISTENT_ANSWER', "the block's receipts and the transaction's receipt differ", {
      ...shown(candidate),
    });
  }
}
