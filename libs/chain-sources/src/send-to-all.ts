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

/** What is sent of a transaction that ends by time. */
export type SentExpiring = Pick<SignedExpiring, 'txHash' | 'raw'>;

/** What a node said to a transaction that was sent to it. */
export interface SaidToSending {
  readonly outcome: ExpiringSendOutcome;
  /** In the node's own words, when it did not take it. */
  readonly said?: string;
  /** It named another transaction than was sent. */
  readonly lied?: true;
  /** Why it has given no usable answer. */
  readonly fault?: ReaderErrorCode;
}

/** What one source said to one transaction, for logs and alarms. */
export interface SendAnswer extends SaidToSending {
  /** Label of the source. */
  readonly source: string;
  readonly txHash: TxHash;
}

export interface SendingToAll<S extends Source> {
  readonly sources: Pick<Sources<S>, 'witnesses'>;
  /** Sends to one source. Never throws: what is not answered is UNKNOWN. */
  readonly send: (source: S, sent: SentExpiring, options: ReadOptions) => Promise<SaidToSending>;
  /** Transactions under way at each source. */
  readonly atOnce: number;
  readonly onAnswer: (answer: SendAnswer) => void;
  /** However many there are to send, and however slow a source is: what it has not answered by then is UNKNOWN. @default 20000 */
  readonly deadlineMs?: number | undefined;
}

/** How long the others are waited for once each transaction is taken: they go on by themselves until their deadline. */
const PATIENCE_MS = 500;
const DEADLINE_MS = 20_000;
const CONCLUSIVE: readonly ExpiringSendOutcome[] = ['ACCEPTED', 'KNOWN'];

/** Sends signed bytes, as they are, to every source. Ends by the deadline. @returns the best that was said to each */
export async function sendToAll<S extends Source>(
  { sources, send, atOnce, onAnswer, deadlineMs = DEADLINE_MS }: SendingToAll<S>,
  signed: readonly SentExpiring[],
  { signal: given }: ReadOptions,
): Promise<readonly ExpiringSendOutcome[]> {
  if (signed.length === 0) return [];
  const deadline = AbortSignal.timeout(deadlineMs);
  const signal = given === undefined ? deadline : AbortSignal.any([given, deadline]);
  const outcomes: ExpiringSendOutcome[][] = signed.map(() => []);
  const settled = Promise.withResolvers<undefined>();
  const isConclusive = (): boolean =>
    outcomes.every((said) => said.some((outcome) => CONCLUSIVE.includes(outcome)));
  const sendAll = async (source: S): Promise<void> => {
    const waiting = signed.entries();
    const sendOn = async (): Promise<void> => {
      for (const [place, sent] of waiting) {
        if (signal.aborted) return;
        const answer = await send(source, sent, { signal });
        onAnswer({ source: source.label, txHash: sent.txHash, ...answer });
        outcomes[place]?.push(answer.outcome);
        if (isConclusive()) settled.resolve(undefined);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, sendOn));
  };
  const all = Promise.all(sources.witnesses().map(sendAll));
  await Promise.race([all, settled.promise, ended(signal)]);
  const patience = new AbortController();
  await Promise.race([
    all,
    delay(PATIENCE_MS, undefined, { signal: patience.signal }).catch(() => undefined),
  ]);
  patience.abort();
  return outcomes.map(bestOutcome);
}

/** The best of what several sources said. UNKNOWN when none said anything. */
export function bestOutcome(outcomes: readonly ExpiringSendOutcome[]): ExpiringSendOutcome {
  return EXPIRING_SEND_OUTCOMES.find((outcome) => outcomes.includes(outcome)) ?? 'UNKNOWN';
}

/** Also of a source that does not notice. */
function ended(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (signal.aborted) resolve();
  else signal.addEventListener('abort', () => resolve(), { once: true });
  return promise;
}
