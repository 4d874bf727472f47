import { GatewayError } from '@opentill/domain/gateway-error';
import { abortableDelay } from '@opentill/runtime/abortable-delay';
import type { Logger } from '@opentill/runtime/logger';
import { startLoop } from '@opentill/runtime/loop';
import type { Metrics } from '@opentill/runtime/metrics';
import type { OutboundMessage, Publisher } from './publisher.ts';

/** What the relay needs of libs/db's outbox. */
export interface OutboxStore {
  /**
   * In one transaction: takes up to `limit` rows in order, publishes them, deletes them. A throw of `publish` leaves
   * the rows where they are. @returns how many rows left, or 'busy' while another replica drains.
   */
  drain(
    limit: number,
    publish: (rows: readonly OutboundMessage[]) => Promise<void>,
  ): Promise<number | 'busy'>;
}

export interface RelayOptions {
  readonly store: OutboxStore;
  readonly publisher: Publisher;
  /** The most rows in one transaction. @default 200 */
  readonly batch?: number;
  /** Pause between looks at an outbox that was empty and for which nobody called `wake`. @default 250 */
  readonly idleMs?: number;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

export interface Relay {
  /** Call it right after a commit that appended events: they are published within milliseconds. */
  wake(): void;
  stop(): Promise<void>;
}

/** While another replica drains: its select may have missed the row we were woken for. */
const BUSY_PAUSE_MS = 40;
const MAX_BACKOFF_MS = 1_000;

/**
 * Moves a service's outbox to the broker, in order, each row at least once. The only publisher of events.
 *
 * After a failure it takes one row, then doubles: a row that can't be published stays first in line, and those behind
 * it are not sent again and again with it.
 */
export function startRelay(options: RelayOptions): Relay {
  const { store, publisher, logger } = options;
  const maxBatch = options.batch ?? 200;
  const observe = createRelayMetrics(options.metrics);
  let limit = maxBatch;

  async function publish(rows: readonly OutboundMessage[]): Promise<void> {
    observe.oldestIs(occurredAt(rows[0]));
    await publisher.publish(rows);
    observe.published(rows.length);
  }

  async function run(signal: AbortSignal): Promise<void | 'again'> {
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
    if (wasFull) return 'again';
    observe.oldestIs(undefined);
    return undefined;
  }

  const loop = startLoop({
    name: 'outbox relay',
    intervalMs: options.idleMs ?? 250,
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
  /** Milliseconds since 1970 of the first row in line; undefined when none waits. */
  oldestIs(occurredAtMs: number | undefined): void;
  published(count: number): void;
  failed(code: string): void;
}

function createRelayMetrics(metrics: Metrics): RelayMetrics {
  let oldestMs: number | undefined;
  const published = metrics.counter({
    name: 'opentill_outbox_published_total',
    help: 'Events confirmed by the broker',
  });
  const failures = metrics.counter({
    name: 'opentill_outbox_failures_total',
    help: 'Attempts to drain the outbox that failed',
    labelNames: ['code'],
  });
  metrics.gauge({
    name: 'opentill_outbox_lag_seconds',
    help: 'Age of the oldest event that the relay knows of and the broker has not confirmed',
    collect: (gauge) => gauge.set(oldestMs === undefined ? 0 : Math.max(0, (Date.now() - oldestMs) / 1_000)),
  });
  return {
    oldestIs: (occurredAtMs) => (oldestMs = occurredAtMs),
    published: (count) => published.inc(count),
    failed: (code) => failures.inc({ code }),
  };
}

function occurredAt(row: OutboundMessage | undefined): number | undefined {
  if (row === undefined) return undefined;
  try {
    const ms = Date.parse((JSON.parse(row.payload) as { occurredAt?: string }).occurredAt ?? '');
    return Number.isNaN(ms) ? undefined : ms;
  } catch {
    return undefined;
  }
}
