import { sql } from 'kysely';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Db } from '@opentill/db/database';
import { createOutboxStore } from '@opentill/db/outbox';
import { announcePresence } from '@opentill/db/presence';
import type { Broker } from '@opentill/messaging/connection';
import type { Consumer } from '@opentill/messaging/consumer';
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
import { createObserve, observeDatabase } from './observe.ts';
import { startConsumers } from './start-consumers.ts';
import { DEFAULT_TIMING, startSweeps, type TrackerTiming } from './start-sweeps.ts';

export interface TrackerDeps {
  /** As the role opentill_tracker. */
  readonly db: Db;
  readonly broker: Broker;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly newId: NewId;
  readonly networks: readonly NetworkConfig[];
  /** Unique to the process. */
  readonly instanceId: string;
  readonly timing?: Partial<TrackerTiming>;
}

/** The service without its process. */
export interface TrackerApp {
  /** What /readyz asks. */
  readonly checks: Checks;
  /**
   * Consumers and sweeps first, so that nothing new is begun; within 6 s, whatever hangs. What is not yet published
   * waits in the outbox for the next relay.
   */
  stop(): Promise<void>;
}

/** Starts consumers, sweeps, the relay and the presence of this instance. Closes none of what it was given. */
export async function startTracker(deps: TrackerDeps): Promise<TrackerApp> {
  const { db, broker, logger, metrics, clock, newId } = deps;
  const observe = createObserve({ logger, metrics, clock });
  observeDatabase(metrics, db);
  const displayOf = await loadDisplayForms(deps.networks);
  const publisher = createPublisher(broker);
  const relay = startRelay({ store: createOutboxStore(db, 'tracker'), publisher, logger, metrics });
  const wakeRelay = () => relay.wake();
  const handlerDeps: HandlerDeps = {
    db,
    newId,
    clock,
    displayOf,
    verifiedDepths: verifiedDepths(deps.networks),
    dustBelow: dustBelowOf(deps.networks),
    nativeSymbolOf: nativeSymbols(deps.networks),
    observe,
    wakeRelay,
  };
  const timing = { ...DEFAULT_TIMING, ...deps.timing };
  const sweeps = startSweeps(handlerDeps, timing, payableCoins(deps.networks));
  const consumers = startConsumers(deps, { ...handlerDeps, wakeDueSweep: sweeps.wakeDueSweep });
  const presence = announcePresence({
    db,
    schema: 'tracker',
    instance: deps.instanceId,
    onError: (error) => observe.presenceFailed(error),
  });
  return {
    checks: {
      database: () => databaseAnswers(db),
      broker: () => Promise.resolve(brokerState(broker, consumers)),
      backlog: () => Promise.resolve(sweeps.check()),
    },
    async stop() {
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

async function databaseAnswers(db: Db): Promise<CheckResult> {
  await sql`select 1 from chain_cursor limit 1`.execute(db);
  return { ok: true };
}

function brokerState(broker: Broker, consumers: readonly Consumer[]): CheckResult {
  const idle = consumers.filter((consumer) => !consumer.consuming).length;
  return {
    ok: idle === 0,
    detail: `${broker.state}, ${consumers.length - idle} of ${consumers.length} consuming`,
  };
}
