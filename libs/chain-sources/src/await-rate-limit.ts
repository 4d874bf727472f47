import { setTimeout as delay } from 'node:timers/promises';
import type { ReaderError } from '@opentill/chain/reader-error';
import { readerError } from '@opentill/chain/reader-error';
import type { RateLimiter } from './rate-limiter.ts';
import { RETRY_AFTER_MS_MAX } from './rate-limiter.ts';
import type { AskOptions } from './source.ts';

export interface AdmittedCalls {
  readonly options: AskOptions;
  /** Moment by `performance.now()`; extended by the limiter's waiting time. */
  readonly deadline: { atMs: number };
  /** Maximum wait of each exchange for the limiter; longer for a question of many calls, admitted as a whole. */
  readonly maxWaitMs: number;
}

export interface AdmissionDeps {
  readonly endpoint: string;
  readonly limiter: RateLimiter;
  readonly timeoutMs: number;
}

/**
 * Admits `count` calls and sets their deadline. RPC_RATE_LIMITED if they would start too late or, if hurried, end too
 * late.
 */
export function admitCalls(
  { endpoint, limiter, timeoutMs }: AdmissionDeps,
  count: number,
  options: AskOptions,
): AdmittedCalls {
  const turnMs = limiter.waitMs();
  const allMs = limiter.estimateMs(count);
  if (turnMs > timeoutMs) throw notLetThrough(endpoint, turnMs);
  if (options.hurried === true && allMs > timeoutMs) throw notLetThrough(endpoint, turnMs, true);
  return { options, deadline: { atMs: performance.now() + timeoutMs }, maxWaitMs: allMs + timeoutMs };
}

export async function awaitRateLimit(
  { limiter, timeoutMs, endpoint }: AdmissionDeps,
  count: number,
  turn: AdmittedCalls,
): Promise<void> {
  const { signal } = turn.options;
  const admission = limiter.admit(count, turn.maxWaitMs);
  if (!admission.admitted) throw notLetThrough(endpoint, admission.waitMs);
  if (admission.waitMs <= 0) return;
  turn.deadline.atMs = Math.max(turn.deadline.atMs, performance.now() + admission.waitMs + timeoutMs);
  await delay(admission.waitMs, undefined, signal === undefined ? {} : { signal }).catch((cause: unknown) => {
    admission.cancel();
    throw readerError('READ_ABORTED', 'the read was aborted', { endpoint }, cause);
  });
}

function notLetThrough(endpoint: string, retryAfterMs: number, tooSlow = false): ReaderError {
  const why = tooSlow
    ? "the provider's rate limit makes the calls exceed their timeout"
    : "the provider's rate limit lasts longer than a call may wait";
  const context = { endpoint, retryAfterMs: Math.ceil(retryAfterMs), notSent: true, tooSlow };
  return readerError('RPC_RATE_LIMITED', why, context);
}

/** Reports the error to the limiter. Adds the delay that applies, if the provider named one. */
export function noteComplaint(limiter: RateLimiter, error: ReaderError): ReaderError {
  const asked = error.context['retryAfterMs'];
  const retryAfterMs = typeof asked === 'number' ? Math.min(asked, RETRY_AFTER_MS_MAX) : undefined;
  limiter.refused(retryAfterMs);
  if (retryAfterMs === undefined) return error;
  return readerError(error.code, error.message, { ...error.context, retryAfterMs }, error.cause);
}
