import { createBcsWriter } from '../bcs-writer.ts';
import { digestOf } from '../digest.ts';
import type { Checkpoint } from './checkpoint.ts';
import { indexOutcomes, pruneBelow, type Chain, type EmptyChain } from './chain.ts';
import { LIMITS } from './parameters.ts';
import { NO_GAS, type GasSummary, type TransactionRecord } from './transaction.ts';
import { prologue } from './system-transactions.ts';
import { committeeOf } from '../validators.ts';

const CONTENTS_V1 = 0;
/** CheckpointVersionSpecificData::V1 without randomness rounds. */
const VERSION_SPECIFIC_DATA = Uint8Array.of(0, 0);

export function contentsBytes(records: readonly TransactionRecord[]): Uint8Array {
  const writer = createBcsWriter().u8(CONTENTS_V1);
  writer.vector(records, (record) => writer.digest(record.digest).digest(record.outcome.effectsDigest));
  writer.vector(records, ({ signatures }) =>
    writer.vector(signatures, (signature) => writer.bytes(signature)),
  );
  return writer.finish();
}

type Summary = Omit<Checkpoint, 'digest' | 'summaryBytes' | 'contentsBytes' | 'transactions'>;

function summaryBytes(summary: Summary, versionSpecificData: Uint8Array): Uint8Array {
  const writer = createBcsWriter().u64(summary.epoch).u64(summary.number).u64(summary.totalTransactions);
  writer.digest(summary.contentDigest).option(summary.previousDigest, (digest) => writer.digest(digest));
  const { computationCost, storageCost, storageRebate, nonRefundableStorageFee } = summary.epochGas;
  writer.u64(computationCost).u64(storageCost).u64(storageRebate).u64(nonRefundableStorageFee);
  writer.u64(summary.timestampMs).uleb(0); // no commitments
  writer.option(summary.endOfEpoch ? summary : undefined, ({ epoch }) => {
    writer.vector(committeeOf(epoch + 1n), ({ publicKey, weight }) => writer.bytes(publicKey).u64(weight));
    return writer.u64(LIMITS.protocolVersion).uleb(0);
  });
  return writer.bytes(versionSpecificData).finish();
}

export function encodeCheckpoint(
  summary: Omit<Summary, 'contentDigest'>,
  transactions: readonly TransactionRecord[],
  versionSpecificData = VERSION_SPECIFIC_DATA,
): Checkpoint {
  const contents = contentsBytes(transactions);
  const whole = { ...summary, contentDigest: digestOf('CheckpointContents', contents) };
  const bytes = summaryBytes(whole, versionSpecificData);
  const digest = digestOf('CheckpointSummary', bytes);
  return { ...whole, digest, transactions, contentsBytes: contents, summaryBytes: bytes };
}

function sumGas(before: GasSummary, records: readonly TransactionRecord[]): GasSummary {
  let { computationCost, storageCost, storageRebate, nonRefundableStorageFee } = before;
  for (const { outcome } of records) {
    computationCost += outcome.gas.computationCost;
    storageCost += outcome.gas.storageCost;
    storageRebate += outcome.gas.storageRebate;
    nonRefundableStorageFee += outcome.gas.nonRefundableStorageFee;
  }
  return { computationCost, storageCost, storageRebate, nonRefundableStorageFee };
}

export function sealCheckpoint(
  chain: EmptyChain,
  previous: Checkpoint | undefined,
  content: {
    readonly transactions: readonly TransactionRecord[];
    readonly timestampMs: number;
    readonly endOfEpoch: boolean;
  },
): Checkpoint {
  const { transactions, timestampMs, endOfEpoch } = content;
  const number = previous === undefined ? 0 : previous.number + 1;
  const before = previous?.totalTransactions ?? 0;
  for (const [index, record] of transactions.entries()) {
    record.place = { checkpoint: number, index, sequence: before + index };
  }
  chain.epoch.gas = sumGas(chain.epoch.gas, transactions);
  const summary = {
    number,
    previousDigest: previous?.digest,
    timestampMs,
    epoch: chain.epoch.number,
    endOfEpoch,
    totalTransactions: before + transactions.length,
    epochGas: chain.epoch.gas,
  };
  const checkpoint = encodeCheckpoint(summary, transactions);
  chain.checkpoints.set(number, checkpoint);
  indexOutcomes(chain.index, transactions);
  if (number >= chain.keepCheckpoints) pruneBelow(chain, number + 1 - chain.keepCheckpoints);
  return checkpoint;
}

/** The checkpoint's time is never before that of the previous one. */
export function closeCheckpoint(
  chain: Chain,
  nowMs: number,
  { endOfEpoch = false }: { readonly endOfEpoch?: boolean } = {},
): Checkpoint {
  const timestampMs = Math.max(nowMs, chain.head.timestampMs);
  const waiting = chain.pending;
  chain.pending = [];
  const first = prologue(chain, chain.head.number + 1, timestampMs);
  const checkpoint = sealCheckpoint(chain, chain.head, {
    transactions: [first, ...waiting],
    timestampMs,
    endOfEpoch,
  });
  chain.head = checkpoint;
  if (endOfEpoch) {
    chain.pastEpochs.push({ ...chain.epoch, lastCheckpoint: checkpoint.number, endMs: timestampMs });
    const number = chain.epoch.number + 1n;
    chain.epoch = { number, startMs: timestampMs, firstCheckpoint: checkpoint.number + 1, gas: NO_GAS };
  }
  for (const listener of chain.listeners) listener(checkpoint);
  return checkpoint;
}
