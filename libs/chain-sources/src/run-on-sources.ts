import { setTimeout as delay } from 'node:timers/promises';
import type { ReaderErrorCode } from '@opentill/chain/reader-error';
import { readerError } from '@opentill/chain/reader-error';
import { GatewayError } from '@opentill/domain/gateway-error';
import { isFailoverError } from './is-failover-error.ts';

export interface Run<S, T> {
  /** Each source at most once. */
  readonly order: readonly S[];
  readonly work: (source: S, signal: AbortSignal | undefined) => Promise<T>;
  readonly signal: AbortSignal | undefined;
  /** Absent: the next source starts only after a failure. */
  readonly hedge?: {
    /** Time until another source starts in addition to this one. */
    readonly afterMs: (source: S) => number;
    readonly take: () => boolean;
  };
  /** Called for every failure, also of slower sources, but not for aborted ones. */
  readonly onFailure: (source: S, error: unknown) => void;
  readonly onSuccess: (source: S, durationMs: number) => void;
}

type Settled<S, T> =
  | { readonly source: S; readonly ok: true; readonly value: T; readonly durationMs: number }
  | { readonly source: S; readonly ok: false; readonly error: unknown };

/**
 * A failure that another source may not have (isFailoverError) leads to the next source. When all have failed, throws
 * the most informative error.
 */
export async function runOnSources<S, T>(run: Run<S, T>): Promise<T> {
  const { order, signal, hedge } = run;
  const running = new Map<
    S,
    { readonly controller: AbortController; readonly settled: Promise<Settled<S, T>> }
  >();
  const failures: unknown[] = [];
  let next = 0;

  function start(): void {
    const source = order[next];
    if (source === undefined) return;
    next += 1;
    const controller = new AbortController();
    running.set(source, { controller, settled: settle(run, source, controller) });
  }
  const stopOthers = (): void => running.forEach(({ controller }) => controller.abort());

  start();
  while (running.size > 0) {
    const settled = [...running.values()].map((one) => one.settled);
    const [only] = running.size === 1 ? running.keys() : [];
    const mayHedge = hedge !== undefined && only !== undefined && next < order.length;
    const first = mayHedge
      ? await withinMs(Promise.race(settled), hedge.afterMs(only))
      : await Promise.race(settled);
    if (first === undefined) {
      if (hedge?.take() === true) start();
      else await Promise.race(settled);
      continue;
    }
    running.delete(first.source);
    if (first.ok) {
      stopOthers();
      run.onSuccess(first.source, first.durationMs);
      return first.value;
    }
    run.onFailure(first.source, first.error);
    if (signal?.aborted === true || !isFailoverError(first.error)) {
      stopOthers();
      throw first.error;
    }
    failures.push(first.error);
    if (running.size === 0) start();
  }
  throw mostInformative(failures);
}

async function settle<S, T>(run: Run<S, T>, source: S, controller: AbortController): Promise<Settled<S, T>> {
  const { signal, hedge } = run;
  const both = signal === undefined ? controller.signal : AbortSignal.any([signal, controller.signal]);
  const startedAt = performance.now();
  try {
    // Without hedging, only the caller aborts the work.
    const value = await run.work(source, hedge === undefined ? signal : both);
    return { source, ok: true, value, durationMs: performance.now() - startedAt };
  } catch (error) {
    return { source, ok: false, error };
  }
}

async function withinMs<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  const controller = new AbortController();
  const timer = delay(ms, undefined, { signal: controller.signal }).catch(() => undefined);
  try {
    return await Promise.race([promise, timer]);
  } finally {
    controller.abort();
  }
}

/** Errors about the chain come first, then those about a single URL; an operator must fix the last three. */
const MOST_INFORMATIVE_FIRST: readonly ReaderErrorCode[] = [
  'BLOCK_NOT_FOUND',
  'FINALITY_UNAVAILABLE',
  'INCONSISTENT_ANSWER',
  'RPC_REFUSED',
  'RPC_RATE_LIMITED',
  'RPC_UNAVAILABLE',
  'RPC_METHOD_MISSING',
  'RPC_FORBIDDEN',
  'WRONG_CHAIN',
];

/**
 * `context.attempts` names all errors. Retryable unless none of them is. Has the shortest `retryAfterMs`, if all have
 * one.
 */
function mostInformative(failures: readonly unknown[]): unknown {
  const errors = failures.filter((failure) => failure instanceof GatewayError);
  const [best] = errors.toSorted(
    (a, b) =>
      MOST_INFORMATIVE_FIRST.indexOf(a.code as ReaderErrorCode) -
      MOST_INFORMATIVE_FIRST.indexOf(b.code as ReaderErrorCode),
  );
  if (best === undefined || errors.length === 1) return failures[0];
  const waits = errors
    .map(({ context }) => context['retryAfterMs'])
    .filter((wait) => typeof wait === 'number');
  const { retryAfterMs: _, ...context } = best.context;
  return readerError(
    best.code as ReaderErrorCode,
    best.message,
    {
      ...context,
      attempts: errors.map((error) => ({ endpoint: error.context['endpoint'], code: error.code })),
      ...(waits.length === errors.length ? { retryAfterMs: Math.min(...waits) } : {}),
    },
    best,
  );
}
