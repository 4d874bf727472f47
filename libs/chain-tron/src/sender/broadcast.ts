import { setTimeout as delay } from 'node:timers/promises';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { ExpiringSendOutcome, SignedExpiring } from '@opentill/chain/expiring-sender';
import type { ReaderErrorCode } from '@opentill/chain/reader-error';
import type { TxHash } from '@opentill/chain/transfer';
import { GatewayError } from '@opentill/domain/gateway-error';
import { inTurns } from '../confirm-transfers.ts';
import type { TronSource, TronSources } from '../tron-sources.ts';
import { bestOutcome, sendOutcomeOf, type SaidToSending } from './send-outcome.ts';

type Sent = Pick<SignedExpiring, 'txHash' | 'raw'>;

/** What one source said to one transaction, for logs and alarms. */
export interface SendAnswer extends SaidToSending {
  /** Label of the source. */
  readonly source: string;
  readonly txHash: TxHash;
  /** Why the source has given no usable answer. */
  readonly fault?: ReaderErrorCode;
}

/** How long the others are waited for once each transaction is taken: they go on by themselves until their deadline. */
const PATIENCE_MS = 500;
/** However many there are to send, and however slow a source is: what it has not answered by then is UNKNOWN. */
const DEADLINE_MS = 20_000;
const CONCLUSIVE: readonly ExpiringSendOutcome[] = ['ACCEPTED', 'KNOWN'];

/** See ExpiringSender.broadcast: the signed bytes as they are, so that no node writes them anew. Ends by its deadline. */
export async function broadcast(
  sources: TronSources,
  signed: readonly Sent[],
  onAnswer: (answer: SendAnswer) => void,
  { signal: given }: ReadOptions,
  deadlineMs = DEADLINE_MS,
): Promise<readonly ExpiringSendOutcome[]> {
  if (signed.length === 0) return [];
  const deadline = AbortSignal.timeout(deadlineMs);
  const signal = given === undefined ? deadline : AbortSignal.any([given, deadline]);
  const outcomes: ExpiringSendOutcome[][] = signed.map(() => []);
  const settled = Promise.withResolvers<undefined>();
  const isConclusive = (): boolean =>
    outcomes.every((said) => said.some((outcome) => CONCLUSIVE.includes(outcome)));
  const sends = sources.witnesses().map((source) =>
    inTurns([...signed.keys()], async (place) => {
      const sent = signed[place];
      if (sent === undefined || signal.aborted) return;
      const answer = await sendTo(source, sent, { signal });
      onAnswer({ source: source.label, txHash: sent.txHash, ...answer });
      outcomes[place]?.push(answer.outcome);
      if (isConclusive()) settled.resolve(undefined);
    }),
  );
  const all = Promise.all(sends);
  await Promise.race([all, settled.promise, ended(signal)]);
  const patience = new AbortController();
  await Promise.race([
    all,
    delay(PATIENCE_MS, undefined, { signal: patience.signal }).catch(() => undefined),
  ]);
  patience.abort();
  return outcomes.map(bestOutcome);
}

/** Also of a source that does not notice. */
function ended(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (signal.aborted) resolve();
  else signal.addEventListener('abort', () => resolve(), { once: true });
  return promise;
}

/** Sends to one source. Never throws: what it does not answer is UNKNOWN. */
async function sendTo(
  source: TronSource,
  { txHash, raw }: Sent,
  options: ReadOptions,
): Promise<SaidToSending & Pick<SendAnswer, 'fault'>> {
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
