import type { FateOptions, ReadOptions } from '@opentill/chain/chain-reader';
import type { FatesRead, OwnTransaction, TransactionFate } from '@opentill/chain/own-transaction';
import { isReaderError, readerError } from '@opentill/chain/reader-error';
import { askFates, type FateReport, type FateAnswer } from '@opentill/chain-sources/ask-fates';
import { headHeightRequest, receiptRequest } from './block-requests.ts';
import { checkedReceipt } from './confirm-transfers.ts';
import type { EvmReceipt } from './decode.ts';
import { decodeInteger, transferOf } from './decode.ts';
import type { Reading } from './reading.ts';
import type { EvmSource, EvmSources } from './sources.ts';

export async function readFates(
  reading: Pick<Reading, 'hasStateSync' | 'dataFee' | 'onSingleSource'>,
  sources: EvmSources,
  own: readonly OwnTransaction[],
  options: FateOptions,
): Promise<FatesRead> {
  const ask = (source: EvmSource, askOptions: ReadOptions): Promise<FateReport> =>
    readReport(reading, source, own, options.atHeight, askOptions);
  return askFates(sources, own, { ask, onSingleSource: reading.onSingleSource }, options);
}

/** One batch, so one node: if it has the block of `atHeight`, its missing receipts mean something. */
async function readReport(
  reading: Pick<Reading, 'hasStateSync' | 'dataFee'>,
  source: EvmSource,
  own: readonly OwnTransaction[],
  atHeight: number | undefined,
  options: ReadOptions,
): Promise<FateReport> {
  // The height comes first: the node then had all earlier blocks when it answered the receipts.
  const answers = await source.batch(
    [headHeightRequest(), ...own.map(({ txHash }) => receiptRequest(txHash))],
    options,
  );
  const height = decodeInteger(answers[0], 'eth_blockNumber');
  if (atHeight !== undefined && height < atHeight)
    throw readerError('BLOCK_NOT_FOUND', 'the node is behind the block', { height: atHeight, head: height });
  return new Map(
    own.map((transaction, place) => [transaction.txHash, fateIn(reading, transaction, answers[place + 1])]),
  );
}

function fateIn(
  reading: Pick<Reading, 'hasStateSync' | 'dataFee'>,
  own: OwnTransaction,
  raw: unknown,
): FateAnswer {
  try {
    const receipt = checkedReceipt(own.txHash, raw, reading);
    if (receipt === undefined) return 'none';
    return receipt.from === own.from ? fateOf(own, receipt) : 'foreign';
  } catch (error) {
    if (isReaderError(error, 'INCONSISTENT_ANSWER')) return 'unsound';
    throw error;
  }
}

function fateOf(own: OwnTransaction, receipt: EvmReceipt): TransactionFate {
  const { txHash, blockHeight, blockHash, succeeded, feeWei } = receipt;
  return {
    txHash,
    blockHeight,
    blockHash,
    succeeded,
    deliveredBaseUnits: deliveredBy(own, receipt),
    feeBaseUnits: feeWei,
  };
}

/** For the native coin, the transaction hash commits to receiver and value: both are signed. */
function deliveredBy(own: OwnTransaction, { succeeded, logs }: EvmReceipt): bigint {
  if (own.contract === null) return succeeded ? own.amountBaseUnits : 0n;
  const tokens = new Set([own.contract]);
  return logs.reduce((sum, log) => {
    const transfer = transferOf(log, tokens);
    return transfer?.from === own.from && transfer.to === own.to ? sum + transfer.amountBaseUnits : sum;
  }, 0n);
}
