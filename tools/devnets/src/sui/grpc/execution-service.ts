import { GrpcTypes } from '@mysten/sui/grpc';
import { checkSignatures } from '../chain/check-signatures.ts';
import { checkTransaction } from '../chain/check-transaction.ts';
import { execute } from '../chain/execute.ts';
import { refuse } from '../chain/refusal.ts';
import { submit, type Submission } from '../chain/submit.ts';
import { parseTransaction, transactionDigest, type TransactionRecord } from '../chain/transaction.ts';
import { makeFields, readMask } from './field-mask.ts';
import { unary, type Handlers } from './methods.ts';
import type { Node } from './node.ts';
import { showExecuted } from './show-checkpoint.ts';
import { simulate } from './simulate.ts';

/** Clients of this protocol version or later can parse expirations with proposers. */
const FIRST_VERSION_WITH_PROPOSERS = 136;
const CLIENT_VERSION_HEADER = 'x-sui-client-protocol-version';

export const EXECUTION_HANDLERS: Handlers = {
  ExecuteTransaction: unary<GrpcTypes.ExecuteTransactionRequest, GrpcTypes.ExecuteTransactionResponse>(
    async (node, request, { method }) => {
      const mask = readMask(GrpcTypes.ExecutedTransaction, request.readMask, ['effects']);
      const submission = readSubmission(request);
      const isSwallowed = node.faults.take('swallow-execute', method) !== undefined;
      const record = isSwallowed
        ? pretend(node, submission)
        : await submit(node.chain, submission, node.consensusMs);
      return { transaction: showExecuted(node, record, mask, method) };
    },
  ),
  SimulateTransaction: unary<GrpcTypes.SimulateTransactionRequest, GrpcTypes.SimulateTransactionResponse>(
    (node, request, { method, header }) => {
      const type = GrpcTypes.SimulateTransactionResponse;
      const mask = readMask(type, request.readMask, ['*']);
      const clientVersion = Number(header(CLIENT_VERSION_HEADER) ?? 0);
      const namesProposers = clientVersion >= FIRST_VERSION_WITH_PROPOSERS;
      const record = simulate(node.chain, request, { namesProposers });
      return makeFields<GrpcTypes.SimulateTransactionResponse>(type, mask, {
        transaction: (below) => showExecuted(node, record, below, method),
        suggestedGasPrice: () => node.chain.parameters.referenceGasPrice,
      });
    },
  ),
};

function readSubmission({ transaction, signatures }: GrpcTypes.ExecuteTransactionRequest): Submission {
  const bytes = transaction?.bcs?.value ?? refuse('INVALID_ARGUMENT', 'transaction.bcs is needed');
  return {
    bytes,
    signatures: signatures.map(
      ({ bcs }) => bcs?.value ?? refuse('INVALID_ARGUMENT', 'signatures.bcs is needed'),
    ),
  };
}

function pretend({ chain }: Node, { bytes, signatures }: Submission): TransactionRecord {
  const data = parseTransaction(bytes);
  checkSignatures(data, bytes, signatures);
  const digest = transactionDigest(bytes);
  const outcome = execute(chain, checkTransaction(chain, data, bytes), digest);
  return { digest, bytes, data, signatures, outcome, place: undefined };
}
