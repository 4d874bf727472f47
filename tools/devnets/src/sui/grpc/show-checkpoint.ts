import { GrpcTypes } from '@mysten/sui/grpc';
import type { Checkpoint } from '../chain/checkpoint.ts';
import { LIMITS } from '../chain/parameters.ts';
import type { TransactionRecord } from '../chain/transaction.ts';
import { certify, committeeOf } from '../validators.ts';
import { makeFields, type FieldMask } from './field-mask.ts';
import type { Node } from './node.ts';
import { showEffects, showGas } from './show-effects.ts';
import { showTransaction } from './show-transaction.ts';
import { showTimestamp } from './timestamp.ts';

export const CHECKPOINT_DEFAULTS = ['sequence_number', 'digest'];
export const TRANSACTION_DEFAULTS = ['digest'];

/** A transaction outside a checkpoint has no timestamp. */
export function showExecuted(
  node: Node,
  record: TransactionRecord,
  mask: FieldMask,
  method: string,
): GrpcTypes.ExecutedTransaction {
  const { outcome, place, digest } = record;
  return makeFields<GrpcTypes.ExecutedTransaction>(GrpcTypes.ExecutedTransaction, mask, {
    digest: () => digest,
    transaction: (below) => showTransaction(record, below),
    signatures: () => record.signatures.map(showSignature),
    effects: (below) => showEffects(outcome, digest, below),
    checkpoint: () => place && BigInt(place.checkpoint),
    timestamp() {
      const checkpoint = place && node.chain.checkpoints.get(place.checkpoint);
      return checkpoint && showTimestamp(checkpoint.timestampMs);
    },
    balanceChanges: () =>
      node.faults.holding('no-balance-changes', method).length > 0
        ? []
        : outcome.balanceChanges.map((change) => ({ ...change, amount: String(change.amount) })),
    transactionIndex: () => place && BigInt(place.index),
  });
}

function showSignature(signature: Uint8Array): GrpcTypes.UserSignature {
  const scheme = signature[0] ?? 0;
  const simple = { scheme, signature: signature.slice(1, 65), publicKey: signature.slice(65) };
  return {
    bcs: { name: 'UserSignatureBytes', value: signature },
    scheme,
    signature: { oneofKind: 'simple', simple },
  };
}

export function showCheckpoint(
  node: Node,
  checkpoint: Checkpoint,
  mask: FieldMask,
  method: string,
): GrpcTypes.Checkpoint {
  return makeFields<GrpcTypes.Checkpoint>(GrpcTypes.Checkpoint, mask, {
    sequenceNumber: () => BigInt(checkpoint.number),
    digest: () => checkpoint.digest,
    summary: (below) => showSummary(checkpoint, below),
    signature() {
      // The validators sign the real checkpoint, also when the node reports another.
      const certified = node.chain.checkpoints.get(checkpoint.number) ?? checkpoint;
      return certify(certified.summaryBytes, certified.epoch);
    },
    contents: () => ({
      ...(checkpoint.contentsBytes.length > 0 && {
        bcs: { name: 'CheckpointContents', value: checkpoint.contentsBytes },
      }),
      digest: checkpoint.contentDigest,
      version: 1,
      transactions: checkpoint.transactions.map(({ digest, outcome, signatures }) => ({
        transaction: digest,
        effects: outcome.effectsDigest,
        signatures: signatures.map(showSignature),
        addressAliasesVersions: [],
      })),
    }),
    transactions: (below) =>
      checkpoint.transactions.map((record) => showExecuted(node, record, below, method)),
  });
}

function showSummary(checkpoint: Checkpoint, mask: FieldMask): GrpcTypes.CheckpointSummary {
  return makeFields<GrpcTypes.CheckpointSummary>(GrpcTypes.CheckpointSummary, mask, {
    bcs: () =>
      checkpoint.summaryBytes.length > 0
        ? { name: 'CheckpointSummary', value: checkpoint.summaryBytes }
        : undefined,
    digest: () => checkpoint.digest,
    epoch: () => checkpoint.epoch,
    sequenceNumber: () => BigInt(checkpoint.number),
    totalNetworkTransactions: () => BigInt(checkpoint.totalTransactions),
    contentDigest: () => checkpoint.contentDigest,
    previousDigest: () => checkpoint.previousDigest,
    epochRollingGasCostSummary: () => showGas(checkpoint.epochGas),
    timestamp: () => showTimestamp(checkpoint.timestampMs),
    endOfEpochData: () =>
      checkpoint.endOfEpoch
        ? {
            nextEpochCommittee: [...committeeOf(checkpoint.epoch + 1n)],
            nextEpochProtocolVersion: BigInt(LIMITS.protocolVersion),
            epochCommitments: [],
          }
        : undefined,
  });
}
