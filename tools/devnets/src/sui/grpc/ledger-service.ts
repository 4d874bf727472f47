import { GrpcTypes } from '@mysten/sui/grpc';
import { normalizeSuiAddress } from '@mysten/sui/utils';
import { versionKey } from '../chain/chain.ts';
import type { SuiObject } from '../chain/object.ts';
import { isRefusal, refuse } from '../chain/refusal.ts';
import { readMask } from './field-mask.ts';
import { unary, type Handlers } from './methods.ts';
import { checkpointAt, headOf, lowestOf, transactionOf, type Node } from './node.ts';
import {
  CHECKPOINT_DEFAULTS,
  showCheckpoint,
  showExecuted,
  TRANSACTION_DEFAULTS,
} from './show-checkpoint.ts';
import { showEpoch } from './show-epoch.ts';
import { OBJECT_DEFAULTS, showObject } from './show-object.ts';
import { showTimestamp } from './timestamp.ts';

const GRPC_NOT_FOUND = 5;
const MOST_OBJECTS = 1_000;
const MOST_TRANSACTIONS = 200;
const SERVER = 'opentill-devnet/sui';

export const LEDGER_POINT_HANDLERS: Handlers = {
  GetServiceInfo: unary<GrpcTypes.GetServiceInfoRequest, GrpcTypes.GetServiceInfoResponse>(
    (node, _, call) => {
      const head = checkpointAt(node, headOf(node, call.method), call.method);
      const lowest = BigInt(lowestOf(node));
      return {
        chainId: node.chain.id,
        chain: 'localnet',
        epoch: head.epoch,
        checkpointHeight: BigInt(head.number),
        timestamp: showTimestamp(head.timestampMs),
        lowestAvailableCheckpoint: lowest,
        lowestAvailableCheckpointObjects: lowest,
        server: SERVER,
      };
    },
  ),
  GetObject: unary<GrpcTypes.GetObjectRequest, GrpcTypes.GetObjectResponse>((node, request) => {
    const mask = readMask(GrpcTypes.Object, request.readMask, OBJECT_DEFAULTS);
    return { object: showObject(findObject(node, request.objectId, request.version), mask) };
  }),
  BatchGetObjects: unary<GrpcTypes.BatchGetObjectsRequest, GrpcTypes.BatchGetObjectsResponse>(
    (node, request) => {
      if (request.requests.length > MOST_OBJECTS) {
        refuse('INVALID_ARGUMENT', `number of batch requests exceed limit of ${MOST_OBJECTS}`);
      }
      const mask = readMask(GrpcTypes.Object, request.readMask, OBJECT_DEFAULTS);
      const objects = request.requests.map(({ objectId, version }): GrpcTypes.GetObjectResult => {
        const object = orNotFound(() => showObject(findObject(node, objectId, version), mask));
        return { result: 'error' in object ? object.error : { oneofKind: 'object', object: object.found } };
      });
      return { objects };
    },
  ),
  GetTransaction: unary<GrpcTypes.GetTransactionRequest, GrpcTypes.GetTransactionResponse>(
    (node, request, call) => {
      const mask = readMask(GrpcTypes.ExecutedTransaction, request.readMask, TRANSACTION_DEFAULTS);
      const record = transactionOf(node, request.digest ?? '', call.method);
      return { transaction: showExecuted(node, record, mask, call.method) };
    },
  ),
  BatchGetTransactions: unary<GrpcTypes.BatchGetTransactionsRequest, GrpcTypes.BatchGetTransactionsResponse>(
    (node, request, call) => {
      if (request.digests.length > MOST_TRANSACTIONS) {
        refuse('INVALID_ARGUMENT', `number of batch requests exceed limit of ${MOST_TRANSACTIONS}`);
      }
      const mask = readMask(GrpcTypes.ExecutedTransaction, request.readMask, TRANSACTION_DEFAULTS);
      const transactions = request.digests.map((digest): GrpcTypes.GetTransactionResult => {
        const answer = orNotFound(() =>
          showExecuted(node, transactionOf(node, digest, call.method), mask, call.method),
        );
        return {
          result: 'error' in answer ? answer.error : { oneofKind: 'transaction', transaction: answer.found },
        };
      });
      return { transactions };
    },
  ),
  GetCheckpoint: unary<GrpcTypes.GetCheckpointRequest, GrpcTypes.GetCheckpointResponse>(
    (node, request, call) => {
      const mask = readMask(GrpcTypes.Checkpoint, request.readMask, CHECKPOINT_DEFAULTS);
      const checkpoint = checkpointAt(node, numberOf(node, request, call.method), call.method);
      return { checkpoint: showCheckpoint(node, checkpoint, mask, call.method) };
    },
  ),
  GetEpoch: unary<GrpcTypes.GetEpochRequest, GrpcTypes.GetEpochResponse>((node, request) => {
    const mask = readMask(GrpcTypes.Epoch, request.readMask, ['epoch']);
    const { epoch, pastEpochs } = node.chain;
    const number = request.epoch ?? epoch.number;
    const found = [epoch, ...pastEpochs].find((other) => other.number === number);
    return { epoch: showEpoch(node.chain, found ?? refuse('NOT_FOUND', `Epoch ${number} not found`), mask) };
  }),
};

function numberOf(node: Node, { checkpointId }: GrpcTypes.GetCheckpointRequest, method: string): number {
  if (checkpointId.oneofKind === 'sequenceNumber') return Number(checkpointId.sequenceNumber);
  if (checkpointId.oneofKind === undefined) return headOf(node, method);
  for (let number = headOf(node, method); number >= lowestOf(node); number--) {
    if (checkpointAt(node, number, method).digest === checkpointId.digest) return number;
  }
  return refuse('NOT_FOUND', `Checkpoint ${checkpointId.digest} not found`);
}

function findObject({ chain }: Node, id: string | undefined, version: bigint | undefined): SuiObject {
  const objectId = normalizeSuiAddress(id ?? '');
  const object =
    version === undefined
      ? chain.objects.get(objectId)
      : chain.objectVersions.get(versionKey(objectId, version));
  const at = version === undefined ? '' : ` at version ${version}`;
  return object ?? refuse('NOT_FOUND', `Object ${objectId}${at} not found`);
}

interface NotFound {
  readonly error: {
    readonly oneofKind: 'error';
    readonly error: { code: number; message: string; details: [] };
  };
}

/** Each item of a batch has its own error. */
function orNotFound<T>(find: () => T): { readonly found: T } | NotFound {
  try {
    return { found: find() };
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return {
      error: { oneofKind: 'error', error: { code: GRPC_NOT_FOUND, message: error.message, details: [] } },
    };
  }
}
