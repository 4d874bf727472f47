import type { Db } from '@opentill/db/database';
import type { Logger } from '@opentill/runtime/logger';
import type { Metrics } from '@opentill/runtime/metrics';
import { OWN_FAULTS, type OwnFault } from './failure-codes.ts';
import type { ClaimedDelivery } from './store/claim-due.ts';
import { countUnwell, type EndpointChange } from './store/endpoints.ts';
import type { AttemptRecord, DeliveryOutcome } from './store/finish-attempts.ts';
import { oldestDueSeconds } from './store/measure-backlog.ts';
import type { Queued } from './store/queue-deliveries.ts';

const DEAD_UNADDRESSED = 'callbacks dead: no callback URL or endpoint disabled';

export interface Observe {
  deliveriesQueued(queued: Queued, by: 'event' | 'sweeper'): void;
  attemptFinished(claim: ClaimedDelivery, record: AttemptRecord, outcome: DeliveryOutcome): void;
  /** Called after every update of an endpoint; reports only changes of its state. */
  endpointChanged(change: EndpointChange): void;
  claimLost(claim: ClaimedDelivery): void;
  claimReleased(claim: ClaimedDelivery): void;
  claimFaulted(claim: ClaimedDelivery, fault: OwnFault, error: string): void;
  lostClaimTaken(claim: ClaimedDelivery): void;
  unaddressedDied(count: number): void;
  presenceFailed(error: unknown): void;
  roundFailed(loop: string, error: unknown, failuresInRow: number): void;
}

export interface ObserveDeps {
  readonly logger: Logger;
  readonly metrics: Metrics;
}

export function createObserve({ logger, metrics }: ObserveDeps): Observe {
  const { queued, unaddressed, attempts, duration, changes, lost, faults } = createCallbackMetrics(metrics);
  return {
    deliveriesQueued({ waiting, dead }, by) {
      queued.inc({ by }, waiting);
      unaddressed.inc(dead);
      const count = waiting + dead;
      if (by === 'sweeper' && count > 0) logger.warn('notifications queued by the sweeper', { count });
      if (dead > 0) logger.error(DEAD_UNADDRESSED, { count: dead });
    },
    attemptFinished(claim, record, outcome) {
      attempts.inc({ state: outcome.state, error: record.errorCode ?? 'NONE' });
      duration.observe(record.durationMs / 1000);
      logAttempt(logger, claim, record, outcome);
    },
    endpointChanged({ merchantId, before, after }) {
      if (before.state === after.state) return;
      changes.inc({ state: after.state });
      const { failuresInRow, lastErrorCode, lastError, disabledReason, probeAt } = after;
      if (after.state === 'DISABLED') {
        logger.error('callback endpoint disabled by its 410', { merchantId, disabledReason });
      } else if (after.state === 'OPEN') {
        logger.warn('callback endpoint paused', {
          merchantId,
          failuresInRow,
          lastErrorCode,
          lastError,
          probeAt,
        });
      } else {
        logger.info('callback endpoint recovered', { merchantId, openedAt: before.openedAt });
      }
    },
    claimLost(claim) {
      lost.inc();
      logger.warn('callback attempt outlived its lease', { eventId: claim.eventId, attempt: claim.attempt });
    },
    claimReleased(claim) {
      logger.info('callback released', { eventId: claim.eventId, attempt: claim.attempt });
    },
    claimFaulted({ eventId, merchantId }, fault, error) {
      faults.inc({ fault });
      logger.error('callback not sent: fault of this service', { eventId, merchantId, fault, error });
    },
    lostClaimTaken(claim) {
      faults.inc({ fault: 'CLAIM_LOST' });
      logger.warn('callback claimed again after its process died', {
        eventId: claim.eventId,
        attempt: claim.attempt,
      });
    },
    unaddressedDied(count) {
      unaddressed.inc(count);
      if (count > 0) logger.error(DEAD_UNADDRESSED, { count });
    },
    presenceFailed(error) {
      logger.warn('presence not announced', { error });
    },
    roundFailed(loop, error, failuresInRow) {
      logger.error('round failed', { loop, failuresInRow, error });
    },
  };
}

function logAttempt(
  logger: Logger,
  claim: ClaimedDelivery,
  record: AttemptRecord,
  outcome: DeliveryOutcome,
): void {
  const fields = {
    eventId: claim.eventId,
    merchantId: claim.merchantId,
    notifyType: claim.notifyType,
    attempt: claim.attempt,
    statusCode: record.statusCode,
    errorCode: record.errorCode,
    error: record.error,
    durationMs: record.durationMs,
    state: outcome.state,
  };
  if (outcome.state === 'DELIVERED') logger.info('callback delivered', fields);
  else if (outcome.state === 'DEAD') logger.error('callback dead', fields);
  else logger.warn('callback failed', fields);
}

function createCallbackMetrics(metrics: Metrics) {
  const queued = metrics.counter({
    name: 'opentill_webhook_deliveries_queued_total',
    help: 'Notifications queued for sending, by event or by the sweeper',
    labelNames: ['by'],
  });
  const unaddressed = metrics.counter({
    name: 'opentill_webhook_deliveries_unaddressed_total',
    help: 'Callbacks that are dead because their merchant has no callback URL, or a disabled endpoint',
  });
  const attempts = metrics.counter({
    name: 'opentill_webhook_attempts_total',
    help: 'Attempts by the resulting state of their delivery and by error',
    labelNames: ['state', 'error'],
  });
  const duration = metrics.histogram({
    name: 'opentill_webhook_attempt_duration_seconds',
    help: 'Time from connecting to the end of an attempt',
  });
  const changes = metrics.counter({
    name: 'opentill_webhook_endpoint_changes_total',
    help: 'Endpoints that were paused (OPEN), recovered (CLOSED) or answered 410 (DISABLED)',
    labelNames: ['state'],
  });
  const faults = metrics.counter({
    name: 'opentill_webhook_own_faults_total',
    help: 'Callbacks not sent because of a fault of this service, and claims lost with their process; no failures of receivers',
    labelNames: ['fault'],
  });
  // From 0, so that a rule sees the first one as an increase.
  for (const fault of [...OWN_FAULTS, 'CLAIM_LOST']) faults.inc({ fault }, 0);
  const lost = metrics.counter({
    name: 'opentill_webhook_claims_lost_total',
    help: 'Attempts that outlived their lease',
  });
  return { queued, unaddressed, attempts, duration, changes, lost, faults };
}

export function observeBacklog(metrics: Metrics, db: Db, perEndpoint: number): void {
  const atFullEndpoints = metrics.gauge({
    name: 'opentill_webhook_oldest_due_at_full_endpoint_seconds',
    help: 'Waiting time of the oldest due callback whose merchant uses all of its slots',
  });
  metrics.gauge({
    name: 'opentill_webhook_oldest_due_seconds',
    help: 'Waiting time of the oldest due callback whose merchant has a free slot',
    async collect(gauge) {
      // If the database does not answer, the other metrics are served, and Prometheus takes the other replicas' figures.
      const oldest = await oldestDueSeconds(db, perEndpoint).catch(() => undefined);
      gauge.set(oldest?.seconds ?? Number.NaN);
      atFullEndpoints.set(oldest?.atFullEndpointsSeconds ?? Number.NaN);
    },
  });
  metrics.gauge({
    name: 'opentill_webhook_endpoints_unwell_count',
    help: 'Endpoints that are paused (OPEN) or answered 410 (DISABLED)',
    labelNames: ['state'],
    collect: async (gauge) => {
      const unwell = await countUnwell(db).catch(() => undefined);
      if (unwell === undefined) return;
      gauge.set({ state: 'OPEN' }, unwell.open);
      gauge.set({ state: 'DISABLED' }, unwell.disabled);
    },
  });
}
