import { setTimeout as delay } from 'node:timers/promises';
import type { ReaderError } from '@opentill/chain/reader-error';
import { readerError } from '@opentill/chain/reader-error';
import type { RateLimiter } from './rate-limiter.ts';
import { RETRY_AFTER_MS_MAX } from './rate-limiter.ts';
import type { AskOptions } from './source.ts';

/** What the exchanges of one question share. */
export interface Turn {
  readonly options: AskOptions;
  /** By `performance.now()`; put off by what the limiter makes wait. */
  readonly deadline: { atMs: number };
  /** How long each exchange may wait for its turn: the question was let in, so this is longer for many calls. */
  readonly patienceMs: number;
}

export interface TurnDeps {
  readonly endpoint: string;
  readonly limiter: RateLimiter;
  readonly timeoutMs: number;
}

/**
 * Lets a question of `count` calls in, with the time it has; throws RPC_RATE_LIMITED where its turn comes too late, or,
 * of a hurried one, where the rate makes it take longer than it may.
 */
export function beginTurn(
  { endpoint, limiter, timeoutMs }: TurnDeps,
  count: number,
  options: AskOptions,
): Turn {
  const turnMs = limiter.waitMs();
  const allMs = limiter.estimateMs(count);
  if (turnMs > timeoutMs) throw notLetThrough(endpoint, turnMs);
  if (options.hurried === true && allMs > timeoutMs) throw notLetThrough(endpoint, turnMs, true);
  return { options, deadline: { atMs: performance.now() + timeoutMs }, patienceMs: allMs + timeoutMs };
}

/** Waits until the limiter lets `count` calls through. */
export async function takeTurn(
  { limiter, timeoutMs, endpoint }: TurnDeps,
  count: number,
  turn: Turn,
): Promise<void> {
  const { signal } = turn.options;
  const admission = limiter.admit(count, turn.patienceMs);
  if (!admission.admitted) throw notLetThrough(endpoint, admission.waitMs);
  if (admission.waitMs <= 0) return;
  turn.deadline.atMs = Math.max(turn.deadline.atMs, performance.now() + admission.waitMs + timeoutMs);
  await delay(admission.waitMs, undefined, signal === undefined ? {} : { signal }).catch((cause: unknown) => {
    admission.cancel();
    throw readerError('READ_ABORTED', 'the read was aborted', { endpoint }, cause);
  });
}

/** What a call fails with that would have to wait for its turn longer than it may; nothing was sent. */
function notLetThrough(endpoint: string, retryAfterMs: number, tooSlow = false): ReaderError {
  const why = tooSlow
    ? 'at the rate that the provider allows the calls take longer than they may'
    : 'the provider has to be left alone for longer than a call may wait';
  const context = { endpoint, retryAfterMs: Math.ceil(retryAfterMs), notSent: true, tooSlow };
  return readerError('RPC_RATE_LIMITED', why, context);
}

/** Has the limiter hear of the complaint; the error with the wait that counts, if the provider named one. */
export function noteComplaint(limiter: RateLimiter, error: ReaderError): ReaderError {
  const asked = error.context['retryAfterMs'];
  const retryAfterMs = typeof asked === 'number' ? Math.min(asked, RETRY_AFTER_MS_MAX) : undefined;
  limiter.refused(retryAfterMs);
  if (retryAfterMs === undefined) return error;
  return readerError(error.code, error.message, { ...error.context, retryAfterMs }, error.cause);
}
