import { configuredTokens } from '@opentill/contracts/format-unmatched';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Db } from '@opentill/db/database';
import { createOutboxStore } from '@opentill/db/outbox';
import { announcePresence } from '@opentill/db/presence';
import type { Broker } from '@opentill/messaging/connection';
import type { Consumer } from '@opentill/messaging/consumer';
import { observeQueues } from '@opentill/messaging/observe-queues';
import { createPublisher } from '@opentill/messaging/publisher';
import { startRelay } from '@opentill/messaging/relay';
import type { Clock } from '@opentill/runtime/clock';
import type { CheckResult, Checks } from '@opentill/runtime/health';
import type { NewId } from '@opentill/runtime/ids';
import type { Logger } from '@opentill/runtime/logger';
import type { Metrics } from '@opentill/runtime/metrics';
import { STOP_LIMITS_MS, stopWithin } from '@opentill/runtime/stop-within';
import { verifiedDepths } from './agreed-height.ts';
import { loadDisplayForms } from './display-forms.ts';
import { dustBelowOf } from './dust-below.ts';
import type { HandlerDeps } from './handlers/settle-event.ts';
import { nativeSymbols, payableCoins } from './native-symbols.ts';
import { createObserve, observeBacklog, observeCursors, observeDatabase, type Observe } from './observe.ts';
import { startConsumers } from './start-consumers.ts';
import { DEFAULT_TIMING, startSweeps, type Sweeps, type TrackerTiming } from './start-sweeps.ts';
import { readAnyCursor } from './store/find-unsettled.ts';

export interface TrackerDeps {
  readonly db: Db;
  readonly broker: Broker;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly newId: NewId;
  readonly networks: readonly NetworkConfig[];
  readonly instanceId: string;
  readonly timing?: Partial<TrackerTiming>;
}

export interface TrackerApp {
  readonly checks: Checks;
  start(): Promise<void>;
  /** Stops consumers and sweeps first; takes at most 6 s. Unpublished events stay in the outbox. */
  stop(): Promise<void>;
}

interface Work {
  readonly consumers: readonly Consumer[];
  readonly sweeps: Sweeps;
  readonly relay: { stop(): Promise<void> };
  readonly presence: { stop(): Promise<void> };
}

/** Does not close its dependencies. */
export function createApp(deps: TrackerDeps): TrackerApp {
  const { db, broker, logger, metrics } = deps;
  const observe = createObserve(deps);
  observeDatabase(metrics, db);
  observeBacklog(metrics, db);
  const enabled = deps.networks.filter((network) => network.enabled);
  observeCursors(
    metrics,
    db,
    enabled.map(({ chain }) => chain),
  );
  let work: Work | undefined;
  return {
    checks: {
      database: () => databaseAnswers(db),
      broker: () => Promise.resolve(brokerState(broker, work?.consumers ?? [])),
      backlog: () => Promise.resolve(work?.sweeps.check() ?? { ok: false, detail: 'not started' }),
    },
    async start() {
      work = startWork(deps, observe, await loadDisplayForms(deps.networks));
    },
    async stop() {
      if (work === undefined) return;
      const { consumers, sweeps, relay, presence } = work;
      const stopConsumers = () => Promise.all(consumers.map((consumer) => consumer.stop()));
      await stopWithin(
        STOP_LIMITS_MS.intake,
        { consumers: stopConsumers, sweeps: () => sweeps.stop() },
        logger,
      );
      await stopWithin(
        STOP_LIMITS_MS.tail,
        { relay: () => relay.stop(), presence: () => presence.stop() },
        logger,
      );
    },
  };
}

function startWork(deps: TrackerDeps, observe: Observe, displayOf: HandlerDeps['displayOf']): Work {
  const { db, broker, logger, metrics, clock, newId } = deps;
  observeQueues({ broker, service: 'confirmation-tracker', metrics });
  const publisher = createPublisher(broker);
  const relay = startRelay({ store: createOutboxStore(db, 'tracker'), publisher, logger, metrics });
  const handlerDeps: HandlerDeps = {
    db,
    newId,
    clock,
    displayOf,
    verifiedDepths: verifiedDepths(deps.networks),
    tokens: configuredTokens(deps.networks),
    dustBelow: dustBelowOf(deps.networks),
    nativeSymbolOf: nativeSymbols(deps.networks),
    observe,
    wakeRelay: () => relay.wake(),
  };
  const sweeps = startSweeps(handlerDeps, { ...DEFAULT_TIMING, ...deps.timing }, payableCoins(deps.networks));
  return {
    consumers: startConsumers(deps, { ...handlerDeps, wakeDueSweep: sweeps.wakeDueSweep }),
    sweeps,
    relay,
    presence: announcePresence({
      db,
      schema: 'tracker',
      instance: deps.instanceId,
      onError: (error) => observe.presenceFailed(error),
    }),
  };
}

async function databaseAnswers(db: Db): Promise<CheckResult> {
  await readAnyCursor(db);
  return { ok: true };
}

function brokerState(broker: Broker, consumers: readonly Consumer[]): CheckResult {
  const idle = consumers.filter((consumer) => !consumer.consuming).length;
  return {
    ok: idle === 0,
    detail: `${broker.state}, ${consumers.length - idle} of ${consumers.length} consuming`,
  };
}
