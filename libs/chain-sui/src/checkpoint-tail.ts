import { setTimeout as delay } from 'node:timers/promises';
import { isReaderError } from '@opentill/chain/reader-error';
import type { SuiCheckpoint } from './decode-checkpoint.ts';
import { CHECKPOINT_MASK, decodeCheckpoint } from './decode-checkpoint.ts';
import type { SuiSource } from './sui-sources.ts';

/**
 * The newest checkpoints of one source, as its subscription delivers them: reading at the head then needs no request. A
 * missing checkpoint (stream cut, silent, or with a gap) is requested instead.
 */
export interface CheckpointTail {
  get(height: number): SuiCheckpoint | undefined;
  /** Waits briefly for a checkpoint that is at most 4 ahead of the newest one. */
  await(height: number, signal: AbortSignal | undefined): Promise<SuiCheckpoint | undefined>;
  /** Only if it arrived recently enough to represent the head. */
  newest(): SuiCheckpoint | undefined;
  clear(): void;
  /** Subscribes, and reconnects until `signal` is aborted. Never rejects. */
  run(onCheckpoint: (checkpoint: SuiCheckpoint) => void, signal: AbortSignal): Promise<void>;
}

export interface CheckpointTailDeps {
  readonly source: SuiSource;
  /** Coin types whose balance changes are kept. */
  readonly coins: ReadonlySet<string>;
  readonly blockTimeMs: number;
  readonly onFault: (error: unknown) => void;
  readonly nowMs: () => number;
}

const CHECKPOINTS_KEPT = 64;
const TRANSACTIONS_KEPT = 20_000;
/** Silence after which a subscription counts as broken. SUI makes about four checkpoints a second. */
const SILENCE_MS_MIN = 5_000;
const SILENCE_BLOCKS = 20;
const FRESH_BLOCKS = 4;
/** Sources deliver the same checkpoint some moments apart; `await` bridges that. */
const AWAITED_AHEAD = 4;
const AWAITED_BLOCKS = 2;
const RECONNECT_MS = 250;
const RECONNECT_MS_MAX = 10_000;
const NOT_OFFERED_MS = 10 * 60 * 1_000;

export function createCheckpointTail(deps: CheckpointTailDeps): CheckpointTail {
  const { blockTimeMs, nowMs } = deps;
  const kept = createKept();
  const waiting = new Set<() => void>();
  let cameAtMs = -Infinity;
  const isFresh = (): boolean => nowMs() - cameAtMs <= FRESH_BLOCKS * blockTimeMs;

  function take(checkpoint: SuiCheckpoint): void {
    kept.take(checkpoint);
    cameAtMs = nowMs();
    for (const wake of waiting) wake();
  }

  return {
    get: kept.get,
    async await(height, signal) {
      const newest = kept.newest()?.header.height;
      const isNear = newest !== undefined && height > newest && height - newest <= AWAITED_AHEAD;
      if (!isNear || !isFresh()) return kept.get(height);
      const over = AbortSignal.timeout(AWAITED_BLOCKS * blockTimeMs);
      const ended = signal === undefined ? over : AbortSignal.any([over, signal]);
      while (!ended.aborted && kept.get(height) === undefined) {
        const { promise, resolve } = Promise.withResolvers<undefined>();
        const wake = (): void => resolve(undefined);
        waiting.add(wake);
        ended.addEventListener('abort', wake, { once: true });
        await promise;
        ended.removeEventListener('abort', wake);
        waiting.delete(wake);
      }
      return kept.get(height);
    },
    newest: () => (isFresh() ? kept.newest() : undefined),
    clear: kept.clear,
    async run(onCheckpoint, signal) {
      let waitMs = RECONNECT_MS;
      while (!signal.aborted) {
        let came = false;
        const deliver = (checkpoint: SuiCheckpoint): void => {
          came = true;
          take(checkpoint);
          onCheckpoint(checkpoint);
        };
        const error = await follow(deps, deliver, signal).catch((failure: unknown) => failure);
        kept.clear();
        if (signal.aborted) return;
        deps.onFault(error);
        waitMs = came ? RECONNECT_MS : Math.min(waitMs * 2, RECONNECT_MS_MAX);
        const isOffered = !isReaderError(error, 'RPC_METHOD_MISSING');
        await delay(isOffered ? waitMs : NOT_OFFERED_MS, undefined, { signal }).catch(() => undefined);
      }
    },
  };
}

function follow(
  { source, coins, blockTimeMs }: CheckpointTailDeps,
  onCheckpoint: (checkpoint: SuiCheckpoint) => void,
  signal: AbortSignal,
): Promise<never> {
  return source.follow({
    signal,
    silenceMs: Math.max(SILENCE_MS_MIN, SILENCE_BLOCKS * blockTimeMs),
    async open({ subscription }, call, alive) {
      const stream = subscription.subscribeCheckpoints({ readMask: CHECKPOINT_MASK }, call);
      const broken = Promise.withResolvers<never>();
      // A callback instead of an iterator, so no queue builds up.
      stream.responses.onMessage(({ checkpoint: raw }) => {
        try {
          const checkpoint = decodeCheckpoint(raw, coins);
          alive();
          onCheckpoint(checkpoint);
        } catch (error) {
          broken.reject(error);
        }
      });
      stream.responses.onError(broken.reject);
      await Promise.race([broken.promise, stream]);
    },
  });
}

interface Kept {
  get(height: number): SuiCheckpoint | undefined;
  newest(): SuiCheckpoint | undefined;
  take(checkpoint: SuiCheckpoint): void;
  clear(): void;
}

function createKept(): Kept {
  const kept = new Map<number, SuiCheckpoint>();
  let newest: SuiCheckpoint | undefined;
  let transactions = 0;

  function clear(): void {
    kept.clear();
    transactions = 0;
    newest = undefined;
  }

  return {
    get: (height) => kept.get(height),
    newest: () => newest,
    clear,
    take(checkpoint) {
      const { height, parentHash } = checkpoint.header;
      const parent = kept.get(height - 1);
      // Another node behind the same URL has another history.
      const isOther = parent !== undefined && parent.header.hash !== parentHash;
      if (isOther || (newest !== undefined && height <= newest.header.height)) clear();
      kept.set(height, checkpoint);
      transactions += checkpoint.transactions.length;
      newest = checkpoint;
      for (const [oldest, { transactions: its }] of kept) {
        if (kept.size <= CHECKPOINTS_KEPT && (transactions <= TRANSACTIONS_KEPT || kept.size === 1)) break;
        transactions -= its.length;
        kept.delete(oldest);
      }
    },
  };
}
