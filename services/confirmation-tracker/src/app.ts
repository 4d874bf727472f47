import { sql } from 'kysely';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { ROLLED_ROWS_MAX, rollInbox } from '@opentill/db/housekeeping';
import type { Db } from '@opentill/db/database';
import { createOutboxStore } from '@opentill/db/outbox';
import { announcePresence } from '@opentill/db/presence';
import type { Broker } from '@opentill/messaging/connection';
import { startConsumer, type Consumer } from '@opentill/messaging/consumer';
import { createPublisher } from '@opentill/messaging/publisher';
import { startRelay } from '@opentill/messaging/relay';
import type { Clock } from '@opentill/runtime/clock';
import type { CheckResult, Checks } from '@opentill/runtime/health';
import type { NewId } from '@opentill/runtime/ids';
import type { Logger } from '@opentill/runtime/logger';
import { startLoop } from '@opentill/runtime/loop';
import type { Metrics } from '@opentill/runtime/metrics';
import { STOP_LIMITS_MS, stopWithin } from '@opentill/runtime/stop-within';
import { verifiedDepths } from './agreed-height.ts';
import { loadDisplayForms } from './display-forms.ts';
import { onBlockVerified, type BlockVerifiedDeps } from './handlers/on-block-verified.ts';
import { onTransferDetected } from './handlers/on-transfer-detected.ts';
import { onTransferOrphaned } from './handlers/on-transfer-orphaned.ts';
import type { HandlerDeps } from './handlers/settle-event.ts';
import { createObserve, observeDatabase } from './observe.ts';
import { sweepDueOrders } from './sweep-due-orders.ts';
import { createTransferSweep } from './sweep-transfers.ts';

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

export interface TrackerTiming {
  /** Pause between quick sweeps over the transfers, and between thorough ones (createTransferSweep). */
  readonly transferSweepMs: number;
  readonly thoroughSweepMs: number;
  /** Transfers changed less than this ago are left to their events. */
  readonly sweepGraceMs: number;
  /** Pause between looks at due orders that no event asked for. */
  readonly dueSweepMs: number;
  /** The same for orders that wait for less depth than the verified cursor has (findDueOrders). */
  readonly thoroughDueSweepMs: number;
  /** How long handled events are remembered; no message waits longer in a queue, and one that did would find nothing to do. */
  readonly inboxKeptSeconds: number;
}

export const DEFAULT_TIMING: TrackerTiming = {
  transferSweepMs: 2_000,
  thoroughSweepMs: 60_000,
  sweepGraceMs: 2_000,
  dueSweepMs: 1_000,
  thoroughDueSweepMs: 15_000,
  inboxKeptSeconds: 86_400,
};

const SWEEP_PAGE = 5_000;
/** Longer than a scanner's transaction takes, and so long that nothing but a bug outlasts it. */
const QUICK_LOOK_BACK_MS = 15_000;
const THOROUGH_LOOK_BACK_MS = 600_000;

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

/** A sweep that has not succeeded for so long after it should have begun makes the service unready. */
const SWEEP_STALE_MS = 60_000;
const HOUSEKEEPING_MS = 600_000;
const MAX_BACKOFF_MS = 5_000;
const PREFETCH = 20;
/** Leaves time of STOP_LIMITS_MS.intake to close the channels. */
const DRAIN_TIMEOUT_MS = 4_000;

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
    observe,
    wakeRelay,
  };
  const sweeps = startSweeps(handlerDeps, { ...DEFAULT_TIMING, ...deps.timing });
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

function startConsumers(deps: TrackerDeps, handlerDeps: BlockVerifiedDeps): readonly Consumer[] {
  const { broker, logger, metrics } = deps;
  const shared = {
    broker,
    service: 'confirmation-tracker',
    prefetch: PREFETCH,
    drainTimeoutMs: DRAIN_TIMEOUT_MS,
    logger,
    metrics,
  } as const;
  return [
    startConsumer({
      ...shared,
      type: 'transfer.detected',
      handle: (envelope) => onTransferDetected(handlerDeps, envelope),
    }),
    startConsumer({
      ...shared,
      type: 'transfer.orphaned',
      handle: (envelope) => onTransferOrphaned(handlerDeps, envelope),
    }),
    startConsumer({
      ...shared,
      type: 'block.verified',
      handle: (envelope) => onBlockVerified(handlerDeps, envelope),
    }),
  ];
}

interface Sweeps {
  wakeDueSweep(): void;
  check(): CheckResult;
  stop(): Promise<void>;
}

function startSweeps(deps: HandlerDeps, timing: TrackerTiming): Sweeps {
  const { clock, observe } = deps;
  /** Until when each sweep counts as alive. */
  const freshUntil = new Map<string, number>();
  const sweep = (name: string, intervalMs: number, run: (signal: AbortSignal) => Promise<void | 'again'>) => {
    const succeeded = () => void freshUntil.set(name, clock.now().getTime() + intervalMs + SWEEP_STALE_MS);
    succeeded();
    return startLoop({
      name,
      intervalMs,
      maxBackoffMs: MAX_BACKOFF_MS,
      run: async (signal) => {
        const result = await run(signal);
        succeeded();
        return result;
      },
      onError: (error, failuresInRow) => observe.sweepFailed(name, error, failuresInRow),
    });
  };
  const roll = async () => {
    const rolled = await rollInbox(deps.db, 'tracker', timing.inboxKeptSeconds);
    observe.inboxRolled(rolled);
    return rolled.deleted === ROLLED_ROWS_MAX ? 'again' : undefined;
  };
  const due = sweep('due orders', timing.dueSweepMs, () => sweepDueOrders(deps, { everyDepth: false }));
  const allDue = sweep('all due orders', timing.thoroughDueSweepMs, () => sweepDueOrders(deps));
  const options = { pageSize: SWEEP_PAGE, graceMs: timing.sweepGraceMs };
  const quick = createTransferSweep(deps, { ...options, from: 'now', lookBackMs: QUICK_LOOK_BACK_MS });
  const thorough = createTransferSweep(deps, {
    ...options,
    from: 'beginning',
    lookBackMs: THOROUGH_LOOK_BACK_MS,
  });
  const transfers = sweep('transfers', timing.transferSweepMs, quick);
  const allTransfers = sweep('all transfers', timing.thoroughSweepMs, thorough);
  const housekeeping = startLoop({
    name: 'housekeeping',
    intervalMs: HOUSEKEEPING_MS,
    run: roll,
    onError: (error, failuresInRow) => observe.sweepFailed('housekeeping', error, failuresInRow),
  });
  return {
    wakeDueSweep: () => due.wake(),
    check() {
      const now = clock.now().getTime();
      const stale = [...freshUntil].filter(([, until]) => now > until).map(([name]) => name);
      return stale.length === 0
        ? { ok: true }
        : { ok: false, detail: `no sweep of late: ${stale.join(', ')}` };
    },
    async stop() {
      await Promise.all([due, allDue, transfers, allTransfers, housekeeping].map((loop) => loop.stop()));
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
