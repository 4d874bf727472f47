import { setTimeout as delay } from 'node:timers/promises';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import {
  EXPIRING_SEND_OUTCOMES,
  type ExpiringSendOutcome,
  type SignedExpiring,
} from '@opentill/chain/expiring-sender';
import type { ReaderErrorCode } from '@opentill/chain/reader-error';
import type { TxHash } from '@opentill/chain/transfer';
import type { Source } from './source.ts';
import type { Sources } from './sources.ts';

export type SentExpiring = Pick<SignedExpiring, 'txHash' | 'raw'>;

export interface SendReply {
  readonly outcome: ExpiringSendOutcome;
  /** The node's message when it did not accept the transaction. */
  readonly said?: string;
  /** The node returned the hash of another transaction. */
  readonly wrongHash?: true;
  readonly fault?: ReaderErrorCode;
}

export interface SendAnswer extends SendReply {
  readonly source: string;
  readonly txHash: TxHash;
}

export interface SendingToAll<S extends Source> {
  readonly sources: Pick<Sources<S>, 'quorumSources'>;
  /** Never throws: an unanswered transaction is UNKNOWN. */
  readonly send: (source: S, sent: SentExpiring, options: ReadOptions) => Promise<SendReply>;
  readonly atOnce: number;
  readonly onAnswer: (answer: SendAnswer) => void;
  /** Limit for all transactions together. @default 20000 */
  readonly deadlineMs?: number | undefined;
}

/**
 * Wait for the other sources once every transaction has a conclusive outcome. Their requests then continue until the
 * deadline.
 */
const GRACE_MS = 500;
const DEADLINE_MS = 20_000;
const CONCLUSIVE: readonly ExpiringSendOutcome[] = ['ACCEPTED', 'KNOWN'];

export async function sendToAll<S extends Source>(
  { sources, send, atOnce, onAnswer, deadlineMs = DEADLINE_MS }: SendingToAll<S>,
  signed: readonly SentExpiring[],
  { signal: callerSignal }: ReadOptions,
): Promise<readonly ExpiringSendOutcome[]> {
  if (signed.length === 0) return [];
  const deadline = AbortSignal.timeout(deadlineMs);
  const signal = callerSignal === undefined ? deadline : AbortSignal.any([callerSignal, deadline]);
  const outcomes: ExpiringSendOutcome[][] = signed.map(() => []);
  const settled = Promise.withResolvers<undefined>();
  const isConclusive = (): boolean =>
    outcomes.every((replies) => replies.some((outcome) => CONCLUSIVE.includes(outcome)));
  const sendAll = async (source: S): Promise<void> => {
    const queue = signed.entries();
    const sendQueued = async (): Promise<void> => {
      for (const [index, sent] of queue) {
        if (signal.aborted) return;
        const answer = await send(source, sent, { signal });
        onAnswer({ source: source.label, txHash: sent.txHash, ...answer });
        outcomes[index]?.push(answer.outcome);
        if (isConclusive()) settled.resolve(undefined);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, sendQueued));
  };
  const all = Promise.all(sources.quorumSources().map(sendAll));
  await Promise.race([all, settled.promise, aborted(signal)]);
  const grace = new AbortController();
  await Promise.race([all, delay(GRACE_MS, undefined, { signal: grace.signal }).catch(() => undefined)]);
  grace.abort();
  return outcomes.map(bestOutcome);
}

export function bestOutcome(outcomes: readonly ExpiringSendOutcome[]): ExpiringSendOutcome {
  return EXPIRING_SEND_OUTCOMES.find((outcome) => outcomes.includes(outcome)) ?? 'UNKNOWN';
}

/** Resolves on abort, even if a source ignores the signal. */
function aborted(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (signal.aborted) resolve();
  else signal.addEventListener('abort', () => resolve(), { once: true });
  return promise;
}
