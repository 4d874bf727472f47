import { setTimeout as delay } from 'node:timers/promises';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { TxHash } from '@opentill/chain/transfer';
import type { SendOutcome, SignedTransaction } from '@opentill/chain/wallet-sender';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { ReaderError, ReaderErrorCode } from '@opentill/chain/reader-error';
import { boundedText } from '@opentill/chain-sources/node-text';
import type { EvmSource, EvmSources } from '../sources.ts';
import { bestOutcome, sendOutcomeOf } from './send-outcome.ts';

type Sent = Pick<SignedTransaction, 'txHash' | 'raw'>;

export interface SendAnswer {
  readonly source: string;
  readonly txHash: TxHash;
  readonly outcome: SendOutcome;
  /** Node's message for a rejection. With `wrongHash`: the node returned another hash than the transaction's. */
  readonly said?: string;
  readonly wrongHash?: true;
  readonly fault?: ReaderErrorCode;
}

/**
 * Wait for the other sources once every transaction has a conclusive outcome. Their requests then continue until their
 * timeout.
 */
const GRACE_MS = 500;
const CONCLUSIVE: readonly SendOutcome[] = ['ACCEPTED', 'KNOWN', 'NONCE_TOO_LOW'];

/** Skips sources in backoff, unless all are. */
export async function broadcast(
  sources: EvmSources,
  signed: readonly Sent[],
  onAnswer: (answer: SendAnswer) => void,
  options: ReadOptions,
): Promise<readonly SendOutcome[]> {
  if (signed.length === 0) return [];
  const outcomes: (SendOutcome | undefined)[][] = signed.map(() => []);
  const settled = Promise.withResolvers<undefined>();
  const isConclusive = (): boolean =>
    outcomes.every((replies) =>
      replies.some((outcome) => outcome !== undefined && CONCLUSIVE.includes(outcome)),
    );
  const sends = sources.quorumSources().map(async (source) => {
    const replies = await sendTo(source, signed, onAnswer, options);
    replies.forEach((outcome, place) => outcomes[place]?.push(outcome));
    if (isConclusive()) settled.resolve(undefined);
  });
  const all = Promise.all(sends);
  await Promise.race([all, settled.promise]);
  const grace = new AbortController();
  await Promise.race([all, delay(GRACE_MS, undefined, { signal: grace.signal }).catch(() => undefined)]);
  grace.abort();
  return outcomes.map(bestOutcome);
}

async function sendTo(
  source: EvmSource,
  signed: readonly Sent[],
  onAnswer: (answer: SendAnswer) => void,
  options: ReadOptions,
): Promise<readonly SendOutcome[]> {
  const requests = signed.map(({ raw }) => ({
    method: 'eth_sendRawTransaction',
    params: [`0x${Buffer.from(raw).toString('hex')}`],
    mayBeRefused: true,
  }));
  const answers = await source.batch(requests, options).catch((error: unknown) => error);
  return signed.map(({ txHash }, place) => {
    const reply = Array.isArray(answers) ? outcomeOf(txHash, answers[place]) : faultOf(answers);
    onAnswer({ source: source.label, txHash, ...reply });
    return reply.outcome;
  });
}

function faultOf(error: unknown): Pick<SendAnswer, 'outcome' | 'fault'> {
  const fault = error instanceof GatewayError ? (error.code as ReaderErrorCode) : 'RPC_UNAVAILABLE';
  return { outcome: 'UNKNOWN', fault };
}

function outcomeOf(txHash: TxHash, answer: unknown): Pick<SendAnswer, 'outcome' | 'said' | 'wrongHash'> {
  if (answer instanceof GatewayError) {
    const { said } = answer.context;
    return { outcome: sendOutcomeOf(answer as ReaderError), ...(typeof said === 'string' ? { said } : {}) };
  }
  if (typeof answer === 'string' && answer.toLowerCase() === txHash) return { outcome: 'ACCEPTED' };
  return { outcome: 'UNKNOWN', said: boundedText(JSON.stringify(answer) ?? ''), wrongHash: true };
}
