import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { ExpiringSendOutcome } from '@opentill/chain/expiring-sender';
import type { ReaderErrorCode } from '@opentill/chain/reader-error';
import {
  sendToAll,
  type SendReply,
  type SendAnswer,
  type SentExpiring,
} from '@opentill/chain-sources/send-to-all';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { TronSource, TronSources } from '../tron-sources.ts';
import { sendOutcomeOf } from './send-outcome.ts';

const AT_ONCE = 8;

/** Sends the signed bytes unchanged, so that no node encodes them again. */
export function broadcast(
  sources: TronSources,
  signed: readonly SentExpiring[],
  onAnswer: (answer: SendAnswer) => void,
  options: ReadOptions,
  deadlineMs?: number,
): Promise<readonly ExpiringSendOutcome[]> {
  return sendToAll({ sources, send: sendTo, atOnce: AT_ONCE, onAnswer, deadlineMs }, signed, options);
}

async function sendTo(
  source: TronSource,
  { txHash, raw }: SentExpiring,
  options: ReadOptions,
): Promise<SendReply> {
  try {
    const body = { transaction: Buffer.from(raw).toString('hex') };
    return sendOutcomeOf(
      await source.call({ side: 'wallet', method: 'broadcasthex', body }, options),
      txHash,
    );
  } catch (error) {
    const fault = error instanceof GatewayError ? (error.code as ReaderErrorCode) : 'RPC_UNAVAILABLE';
    return { outcome: 'UNKNOWN', fault };
  }
}
