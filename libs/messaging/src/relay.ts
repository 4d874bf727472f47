import { GatewayError } from '@opentill/domain/gateway-error';
import { abortableDelay } from '@opentill/runtime/abortable-delay';
import type { Logger } from '@opentill/runtime/logger';
import { startLoop } from '@opentill/runtime/loop';
import type { Metrics } from '@opentill/runtime/metrics';
import type { OutboundMessage, Publisher } from './publisher.ts';

export interface OutboxStore {
  /** Publishes and deletes in one transaction; rows stay when `publish` throws. 'busy': another replica drains. */
  drain(
    limit: number,
    publish: (rows: readonly OutboundMessage[]) => Promise<void>,
  ): Promise<number | 'busy'>;
  /** `oldestSeconds` is 0 when no event waits. */
  backlog(): Promise<{ readonly events: number; readonly oldestSeconds: number }>;
}

export interface RelayOptions {
  readonly store: OutboxStore;
  readonly publisher: Publisher;
  /** Per transaction. @default 200 */
  readonly batch?: number;
  /** Polling interval without a `wake`, for events of a process that ended after its commit. @default 2,000 */
  readonly idleMs?: number;
  /** A woken relay waits this long to collect more events: larger batches cost database and broker less. @default 0 */
  readonly gatherMs?: number;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

export interface Relay {
  /** Call it right after a commit that appended events. */
  wake(): void;
  stop(): Promise<void>;
}

/** The other replica's select may have missed the row that woke this relay. */
const BUSY_PAUSE_MS = 40;
const MAX_BACKOFF_MS = 1_000;

/**
 * The only publisher of a service's events: in order, each row at least once. After a failure the batch size falls to 1
 * and then doubles, so that rows behind a bad one are not sent repeatedly.
 */
export function startRelay(options: RelayOptions): Relay {
  const { store, publisher, logger } = options;
  const maxBatch = options.batch ?? 200;
  const observe = createRelayMetrics(options);
  let limit = maxBatch;

  async function publish(rows: readonly OutboundMessage[]): Promise<void> {
    await publisher.publish(rows);
    observe.published(rows.length);
  }

  const gatherMs = options.gatherMs ?? 0;

  async function run(signal: AbortSignal): Promise<void | 'again'> {
    if (gatherMs > 0) await abortableDelay(gatherMs, signal);
    let drained: number | 'busy';
    try {
      drained = await store.drain(limit, publish);
    } catch (error) {
      limit = 1;
      throw error;
    }
    if (drained === 'busy') {
      await abortableDelay(BUSY_PAUSE_MS, signal);
      return 'again';
    }
    const wasFull = drained >= limit;
    if (drained > 0) limit = Math.min(maxBatch, limit * 2);
    return wasFull ? 'again' : undefined;
  }

  const loop = startLoop({
    name: 'outbox relay',
    intervalMs: options.idleMs ?? 2_000,
    maxBackoffMs: MAX_BACKOFF_MS,
    run,
    onError(error, failuresInRow) {
      observe.failed(error instanceof GatewayError ? error.code : 'UNKNOWN');
      if (failuresInRow === 1 || failuresInRow % 30 === 0)
        logger.warn('outbox not drained', { failuresInRow, error });
    },
  });
  publisher.onOpen(() => loop.wake());
  return { wake: () => loop.wake(), stop: () => loop.stop() };
}

interface RelayMetrics {
  published(count: number): void;
  failed(code: string): void;
}

function createRelayMetrics({ metrics, store }: Pick<RelayOptions, 'metrics' | 'store'>): RelayMetrics {
  const published = metrics.counter({
    name: 'opentill_outbox_published_total',
    help: 'Events confirmed by the broker',
  });
  const failures = metrics.counter({
    name: 'opentill_outbox_failures_total',
    help: 'Attempts to drain the outbox that failed',
    labelNames: ['code'],
  });
  const waiting = metrics.gauge({
    name: 'opentill_outbox_waiting_count',
    help: 'Events that the broker has not confirmed yet',
  });
  metrics.gauge({
    name: 'opentill_outbox_lag_seconds',
    help: 'Age of the oldest event that the broker has not confirmed yet',
    async collect(lag) {
      // The last values stay; the database's own metrics show the failure.
      const backlog = await store.backlog().catch(() => undefined);
      if (backlog === undefined) return;
      lag.set(backlog.oldestSeconds);
      waiting.set(backlog.events);
    },
  });
  return {
    published: (count) => published.inc(count),
    failed: (code) => failures.inc({ code }),
  };
}
