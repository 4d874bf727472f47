import { GrpcTypes } from '@mysten/sui/grpc';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { ExpiringSendOutcome } from '@opentill/chain/expiring-sender';
import {
  sendToAll,
  type SendReply,
  type SendAnswer,
  type SentExpiring,
} from '@opentill/chain-sources/send-to-all';
import type { SuiSource, SuiSources } from '../sui-sources.ts';
import { outcomeOfFailure } from './send-outcome.ts';
import { decodeSigned } from './transaction-bytes.ts';

/** Requests per source. A node answers when the transaction is final, half a second later. */
const AT_ONCE = 32;
const EXECUTED_MASK = { paths: ['digest'] };

export function broadcast(
  sources: SuiSources,
  signed: readonly SentExpiring[],
  onAnswer: (answer: SendAnswer) => void,
  options: ReadOptions,
): Promise<readonly ExpiringSendOutcome[]> {
  return sendToAll({ sources, send: sendTo, atOnce: AT_ONCE, onAnswer }, signed, options);
}

/** A transaction that was executed and failed counts as accepted. */
async function sendTo(
  source: SuiSource,
  { txHash, raw }: SentExpiring,
  options: ReadOptions,
): Promise<SendReply> {
  try {
    const { transaction, signatures } = decodeSigned(raw);
    const request = {
      transaction: GrpcTypes.Transaction.create({ bcs: { value: transaction } }),
      signatures: signatures.map((value) => GrpcTypes.UserSignature.create({ bcs: { value } })),
      readMask: EXECUTED_MASK,
    };
    const { response } = await source.ask(
      ({ execution }, call) => execution.executeTransaction(request, call),
      options,
    );
    const named = response.transaction?.digest;
    return named === txHash
      ? { outcome: 'ACCEPTED' }
      : { outcome: 'UNKNOWN', said: `${named}`, wrongHash: true };
  } catch (error) {
    return outcomeOfFailure(error);
  }
}
