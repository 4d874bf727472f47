import type { Database } from '@opentill/db/database';
import { announcePresence } from '@opentill/db/presence';
import type { Broker } from '@opentill/messaging/connection';
import { startConsumer, type Consumer } from '@opentill/messaging/consumer';
import { batchHandling } from '@opentill/messaging/batch-handling';
import { observeQueues } from '@opentill/messaging/observe-queues';
import type { Clock } from '@opentill/runtime/clock';
import type { Checks } from '@opentill/runtime/health';
import type { Logger } from '@opentill/runtime/logger';
import { startLoop, type Loop } from '@opentill/runtime/loop';
import type { Metrics } from '@opentill/runtime/metrics';
import { STOP_LIMITS_MS, stopWithin } from '@opentill/runtime/stop-within';
import { startDeliverer, type Deliverer } from './deliver-due.ts';
import { createAddressGuard } from './forbidden-addresses.ts';
import { onOrdersNotified } from './handlers/on-order-notified.ts';
import { startHousekeeping, type Retention } from './housekeeping.ts';
import type { EndpointRules } from './endpoint-health.ts';
import { createObserve, observeBacklog, type Observe } from './observe.ts';
import type { ResolveHost } from './resolve-endpoint.ts';
import { oldestDueSeconds, waitingText } from './store/measure-backlog.ts';
import { markUnaddressedDead } from './store/queue-deliveries.ts';
import { createNotificationSweep, QUICK_SWEEP, THOROUGH_SWEEP } from './sweep-notifications.ts';

export interface WebhookSenderSettings {
  readonly instance: string;
  readonly retryScheduleSeconds: readonly number[];
  readonly allowedCallbackAddresses: readonly string[];
  readonly allowHttpCallbacks: boolean;
  readonly concurrency: number;
  readonly concurrencyPerEndpoint: number;
  readonly endpointRules?: EndpointRules;
  /** Deadline of a whole attempt. @default 10 000 */
  readonly attemptDeadlineMs?: number;
  /** For due retries. New callbacks wake the poll. @default 250 */
  readonly pollIntervalMs?: number;
  /** For events lost within the last seconds. @default 5 000 */
  readonly sweepIntervalMs?: number;
  readonly retention?: Retention;
}

export interface WebhookSenderDeps {
  readonly database: Database;
  readonly broker: Broker;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly random: () => number;
  readonly resolveHost: ResolveHost;
  readonly secretsKey: Buffer;
  readonly settings: WebhookSenderSettings;
}

/** Per event type. Events that arrive meanwhile form the next batch. */
const HANDLED_AT_ONCE = 2;
const STOP_LIMIT_MS = STOP_LIMITS_MS.intake + STOP_LIMITS_MS.tail;
/** For running attempts and handlers. The rest of the limit is for releasing claims and closing. */
const STOP_GRACE_MS = 4_000;
const MAX_BACKOFF_MS = 5_000;
const THOROUGH_SWEEP_INTERVAL_MS = 60_000;
const UNADDRESSED_BATCH = 1_000;

interface Work {
  readonly consumers: readonly Consumer[];
  readonly deliverer: Deliverer;
  readonly loops: readonly Loop[];
  readonly presence: { stop(): Promise<void> };
}

export function createApp(deps: WebhookSenderDeps) {
  const { kysely: db } = deps.database;
  const observe = createObserve(deps);
  let work: Work | undefined;

  observeBacklog(deps.metrics, db, deps.settings.concurrencyPerEndpoint);

  function start(): void {
    work = startWork(deps, observe);
  }

  async function stop(): Promise<void> {
    if (work === undefined) return;
    const { consumers, deliverer, loops, presence } = work;
    work = undefined;
    const stopAll = (parts: readonly { stop(): Promise<void> }[]) => () =>
      Promise.all(parts.map((part) => part.stop()));
    // Stops everything in parallel. Another process sends what a handler still queues.
    await stopWithin(
      STOP_LIMIT_MS,
      {
        consumers: stopAll(consumers),
        loops: stopAll(loops),
        deliverer: () => deliverer.stop(),
        presence: () => presence.stop(),
      },
      deps.logger,
    );
  }

  const checks: Checks = {
    database: async () => {
      return {
        ok: true,
        detail: waitingText(await oldestDueSeconds(db, deps.settings.concurrencyPerEndpoint)),
      };
    },
    broker: async () => ({ ok: deps.broker.state === 'connected', detail: deps.broker.state }),
  };
  return { start, stop, checks };
}

function startWork(deps: WebhookSenderDeps, observe: Observe): Work {
  const { broker, metrics, settings } = deps;
  const { kysely: db } = deps.database;
  observeQueues({ broker, service: 'webhook-sender', metrics });
  const deliverer = startDeliverer({
    db,
    clock: deps.clock,
    random: deps.random,
    observe,
    secretsKey: deps.secretsKey,
    instance: settings.instance,
    rules: {
      guard: createAddressGuard(settings.allowedCallbackAddresses),
      allowHttp: settings.allowHttpCallbacks,
      resolveHost: deps.resolveHost,
    },
    retryScheduleSeconds: settings.retryScheduleSeconds,
    ...(settings.endpointRules && { endpointRules: settings.endpointRules }),
    attemptDeadlineMs: settings.attemptDeadlineMs ?? 10_000,
    concurrency: settings.concurrency,
    concurrencyPerEndpoint: settings.concurrencyPerEndpoint,
    pollIntervalMs: settings.pollIntervalMs ?? 250,
    stopGraceMs: STOP_GRACE_MS,
  });
  const wake = (): void => deliverer.wake();
  const consume = (type: 'order.created' | 'order.changed', prefetch: number, together: number) =>
    startConsumer({
      broker,
      service: 'webhook-sender',
      type,
      prefetch,
      handle: batchHandling({
        together,
        atOnce: HANDLED_AT_ONCE,
        handleTogether: (events) => onOrdersNotified({ db, observe, wake }, events),
      }),
      logger: deps.logger,
      metrics: deps.metrics,
      drainTimeoutMs: STOP_GRACE_MS,
    });
  return {
    deliverer,
    consumers: [consume('order.created', 200, 100), consume('order.changed', 20, 5)],
    loops: startLoops(deps, observe, wake),
    presence: announcePresence({
      db,
      schema: 'webhook',
      instance: settings.instance,
      onError: (error) => observe.presenceFailed(error),
    }),
  };
}

function startLoops(deps: WebhookSenderDeps, observe: Observe, wake: () => void): readonly Loop[] {
  const { settings } = deps;
  const { kysely: db } = deps.database;
  const intervalMs = settings.sweepIntervalMs ?? 5_000;
  const loop = (name: string, pauseMs: number, run: (signal: AbortSignal) => Promise<void | 'again'>) =>
    startLoop({
      name,
      intervalMs: pauseMs,
      maxBackoffMs: MAX_BACKOFF_MS,
      run,
      onError: (error, failuresInRow) => observe.roundFailed(name, error, failuresInRow),
    });
  return [
    loop('sweep notifications', intervalMs, createNotificationSweep({ db, observe, wake }, QUICK_SWEEP)),
    loop(
      'sweep all notifications',
      THOROUGH_SWEEP_INTERVAL_MS,
      createNotificationSweep({ db, observe, wake }, THOROUGH_SWEEP),
    ),
    loop('mark unaddressed dead', intervalMs, async () => {
      const count = await markUnaddressedDead(db, UNADDRESSED_BATCH);
      observe.unaddressedDied(count);
      return count === 0 ? undefined : 'again';
    }),
    ...startHousekeeping({ db, observe, instance: settings.instance }, settings.retention),
  ];
}
