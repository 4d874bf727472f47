import type { FateOptions, ReadOptions } from '@opentill/chain/chain-reader';
import type { FatesRead, OwnTransaction, TransactionFate } from '@opentill/chain/own-transaction';
import { isReaderError, readerError } from '@opentill/chain/reader-error';
import type { TxHash } from '@opentill/chain/transfer';
import { askFates, type FateReport, type FateAnswer } from '@opentill/chain-sources/ask-fates';
import type { Address } from '@opentill/chain/address-codec';
import { addressOfHex, shortHexOf } from './address-codec.ts';
import { inBatches, readInfo, readTransaction } from './confirm-transfers.ts';
import type { TronHeader } from './decode-block.ts';
import type { TronInfo } from './decode-info.ts';
import { hasRun, isBetween, transferIn } from './decode-info.ts';
import type { Reading } from './reading.ts';
import type { TronSource, TronSources } from './tron-sources.ts';
import { readHeader } from './tron-sources.ts';

export async function readFates(
  { onSingleSource }: Pick<Reading, 'onSingleSource'>,
  sources: TronSources,
  own: readonly OwnTransaction[],
  options: FateOptions,
): Promise<FatesRead> {
  const ask = (source: TronSource, askOptions: ReadOptions): Promise<FateReport> =>
    readReport(sources, source, own, options.atHeight, askOptions);
  return askFates(sources, own, { ask, onSingleSource }, options);
}

/** Asks for the head first: a node that had the block then knows all transactions up to it. */
async function readReport(
  sources: TronSources,
  source: TronSource,
  own: readonly OwnTransaction[],
  atHeight: number | undefined,
  options: ReadOptions,
): Promise<FateReport> {
  const { height } = await sources.readHead(source, options);
  if (atHeight !== undefined && height < atHeight)
    throw readerError('BLOCK_NOT_FOUND', 'the node is behind the block', { height: atHeight, head: height });
  const infos = await inBatches(
    own.map(({ txHash }) => txHash),
    (txHash) => readSoundInfo(source, txHash, options),
  );
  const heights = new Set(
    [...infos.values()].flatMap((info) => (typeof info === 'object' ? [info.height] : [])),
  );
  const headers = await inBatches([...heights], (at) => readHeader(source, options, at));
  const answers = own.map((transaction) => {
    const info = infos.get(transaction.txHash) ?? 'none';
    return typeof info === 'string' ? info : fateOf(transaction, info, headers.get(info.height));
  });
  const unproven = own.filter((transaction, place) => needsOwner(transaction, answers[place]));
  const owners = await inBatches(
    unproven.map(({ txHash }) => txHash),
    (txHash) => readSoundOwner(source, txHash, options),
  );
  return new Map(
    own.map((transaction, place): [TxHash, FateAnswer] => {
      const { txHash, from } = transaction;
      const answer = answers[place] ?? 'none';
      if (!needsOwner(transaction, answer)) return [txHash, answer];
      const owner = owners.get(txHash);
      return [txHash, owner === from ? answer : owner === undefined ? 'unsound' : 'foreign'];
    }),
  );
}

/** A receipt does not contain the sender. Only a log that moves tokens out of the wallet proves it. */
function needsOwner({ contract }: OwnTransaction, answer: FateAnswer | undefined): boolean {
  return typeof answer === 'object' && (contract === null || answer.deliveredBaseUnits === 0n);
}

async function readSoundOwner(
  source: TronSource,
  txHash: TxHash,
  options: ReadOptions,
): Promise<Address | undefined> {
  try {
    return addressOfHex((await readTransaction(source, txHash, options)).ownerHex ?? '');
  } catch (error) {
    if (isReaderError(error, 'INCONSISTENT_ANSWER')) return undefined;
    throw error;
  }
}

async function readSoundInfo(
  source: TronSource,
  txHash: TxHash,
  options: ReadOptions,
): Promise<TronInfo | 'none' | 'unsound'> {
  try {
    return (await readInfo(source, txHash, options)) ?? 'none';
  } catch (error) {
    if (isReaderError(error, 'INCONSISTENT_ANSWER')) return 'unsound';
    throw error;
  }
}

/** The header must have the receipt's block time: after a fork between the two requests it would be another block's. */
function fateOf(
  own: OwnTransaction,
  info: TronInfo,
  header: TronHeader | undefined,
): TransactionFate | 'unsound' {
  if (header?.timeMs !== info.blockTimeMs) return 'unsound';
  const succeeded = info.contractResult === undefined ? !info.failed : hasRun(info);
  return {
    txHash: own.txHash,
    blockHeight: header.height,
    blockHash: header.hash,
    succeeded,
    deliveredBaseUnits: succeeded ? deliveredBy(own, info) : 0n,
    feeBaseUnits: info.feeSun,
  };
}

/** Receiver and amount of TRX are part of the signed bytes, so the id proves them. */
function deliveredBy({ contract, from, to, amountBaseUnits }: OwnTransaction, { logs }: TronInfo): bigint {
  if (contract === null) return amountBaseUnits;
  const tokens = new Map([[shortHexOf(contract as unknown as OwnTransaction['to']), contract]]);
  return logs.reduce<bigint>((sum, log) => {
    const transfer = transferIn(log, tokens);
    return transfer !== undefined && isBetween(transfer, from, to) ? sum + transfer.amount : sum;
  }, 0n);
}
