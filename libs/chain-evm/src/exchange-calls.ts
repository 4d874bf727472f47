import { setTimeout as delay } from 'node:timers/promises';
import type { ReaderError, ReaderErrorCode } from '@opentill/chain/reader-error';
import { isReaderError, readerError } from '@opentill/chain/reader-error';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { BatchAnswer } from './batch-answer.ts';
import { batchBody, looksWell, readBatchAnswer } from './batch-answer.ts';
import type { AskOptions, RawAnswer, RpcExchange, RpcRequest } from './rpc-call.ts';
import { createPostJson } from './post-json.ts';
import type { RateLimiter } from './rate-limiter.ts';
import { RETRY_AFTER_MS_MAX } from './rate-limiter.ts';

/** What the exchanges of one question share. */
export interface Asking {
  readonly options: AskOptions;
  /** By `performance.now()`; put off by what the limiter makes wait. */
  readonly deadline: { atMs: number };
  /** How long each exchange may wait for its turn: the question was let in, so this is longer for many calls. */
  readonly patienceMs: number;
}

export type Exchanged =
  | {
      readonly kind: 'answered';
      readonly answer: RawAnswer;
      readonly newConnection: boolean;
      /** The provider's complaint that calls come too often, of a call that may be refused. */
      readonly complaint?: ReaderError | undefined;
    }
  | Extract<BatchAnswer, { kind: 'batchRefused' }>;

export interface ExchangeDeps {
  readonly url: string;
  readonly endpoint: string;
  readonly limiter: RateLimiter;
  readonly timeoutMs: number;
  readonly bytesMax: number;
  readonly onExchange: ((exchange: RpcExchange) => void) | undefined;
}

/**
 * Makes the function that sends calls in one HTTP exchange when the limiter lets it, and tells of it. Throws what the
 * calls were refused for; that they are too many at once is an answer.
 */
export function createExchangeCalls(
  deps: ExchangeDeps,
): (requests: readonly RpcRequest[], asking: Asking) => Promise<Exchanged> {
  const { endpoint, limiter, bytesMax } = deps;
  const post = createPostJson(deps.url);

  async function postAndRead(
    requests: readonly RpcRequest[],
    asking: Asking,
    traffic: { requestBytes: number; answerBytes: number },
  ): Promise<Exchanged> {
    const answer = await post(batchBody(requests), {
      timeoutMs: Math.max(1, asking.deadline.atMs - performance.now()),
      bytesMax,
      context: { endpoint },
      signal: asking.options.signal,
      traffic,
    });
    const read = (): BatchAnswer => readBatchAnswer(answer, requests, endpoint);
    const { body, newConnection } = answer;
    if (looksWell(answer, requests))
      return { kind: 'answered', newConnection, answer: { body, results: once(() => resultsOf(read())) } };
    const found = read();
    if (found.kind === 'batchRefused') return found;
    const results = resultsOf(found);
    const complaint = results.find((result) => isReaderError(result, 'RPC_RATE_LIMITED'));
    return { kind: 'answered', newConnection, answer: { body, results: () => results }, complaint };
  }

  return async (requests, asking) => {
    await turn(deps, requests.length, asking);
    const startedAt = performance.now();
    const traffic = { requestBytes: 0, answerBytes: 0 };
    const methods = requests.map((request) => request.method);
    const report = (outcome: RpcExchange['outcome']): void =>
      deps.onExchange?.({
        endpoint,
        methods,
        outcome,
        durationMs: performance.now() - startedAt,
        ...traffic,
      });
    try {
      const exchanged = await postAndRead(requests, asking, traffic);
      if (exchanged.kind === 'answered' && exchanged.complaint !== undefined)
        slowedDown(limiter, exchanged.complaint);
      else limiter.answered();
      report(exchanged.kind === 'answered' ? 'OK' : exchanged.error.code);
      return exchanged;
    } catch (error) {
      const told = isReaderError(error, 'RPC_RATE_LIMITED') ? slowedDown(limiter, error) : error;
      report(told instanceof GatewayError ? (told.code as ReaderErrorCode) : 'RPC_UNAVAILABLE');
      // Answers that are too long together may be short enough one by one.
      if (
        requests.length > 1 &&
        isReaderError(told, 'RPC_RANGE_TOO_LARGE') &&
        told.context['answerTooLong'] === true
      )
        return { kind: 'batchRefused', error: told, callsMax: undefined, lasting: false };
      throw told;
    }
  };
}

/** Waits until the limiter lets `count` calls through. */
async function turn(
  { limiter, timeoutMs, endpoint }: ExchangeDeps,
  count: number,
  asking: Asking,
): Promise<void> {
  const { signal } = asking.options;
  const admission = limiter.admit(count, asking.patienceMs);
  if (!admission.admitted) throw notLetThrough(endpoint, admission.waitMs);
  if (admission.waitMs <= 0) return;
  asking.deadline.atMs = Math.max(asking.deadline.atMs, performance.now() + admission.waitMs + timeoutMs);
  await delay(admission.waitMs, undefined, signal === undefined ? {} : { signal }).catch((cause: unknown) => {
    admission.cancel();
    throw readerError('READ_ABORTED', 'the read was aborted', { endpoint }, cause);
  });
}

/** What a call fails with that would have to wait for its turn longer than it may; nothing was sent. */
export function notLetThrough(endpoint: string, retryAfterMs: number, tooSlow = false): ReaderError {
  const why = tooSlow
    ? 'at the rate that the provider allows the calls take longer than they may'
    : 'the provider has to be left alone for longer than a call may wait';
  const context = { endpoint, retryAfterMs: Math.ceil(retryAfterMs), notSent: true, tooSlow };
  return readerError('RPC_RATE_LIMITED', why, context);
}

/** Has the limiter hear of the complaint; the error with the wait that counts, if the provider named one. */
function slowedDown(limiter: RateLimiter, error: ReaderError): ReaderError {
  const asked = error.context['retryAfterMs'];
  const retryAfterMs = typeof asked === 'number' ? Math.min(asked, RETRY_AFTER_MS_MAX) : undefined;
  limiter.refused(retryAfterMs);
  if (retryAfterMs === undefined) return error;
  return readerError(error.code, error.message, { ...error.context, retryAfterMs }, error.cause);
}

function resultsOf(read: BatchAnswer): readonly unknown[] {
  if (read.kind === 'results') return read.results;
  throw read.error;
}

function once<T>(work: () => T): () => T {
  let done: { readonly value: T } | undefined;
  return () => (done ??= { value: work() }).value;
}
