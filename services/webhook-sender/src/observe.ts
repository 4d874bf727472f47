import type { Logger } from '@opentill/runtime/logger';
import type { Metrics } from '@opentill/runtime/metrics';
import type { AttemptRecord, ClaimedDelivery, DeliveryOutcome } from './store.ts';

/** What happens in this service, by name: logged and counted in one place. */
export interface Observer {
  deliveriesQueued(count: number, by: 'event' | 'sweeper'): void;
  attemptFinished(claim: ClaimedDelivery, record: AttemptRecord, outcome: DeliveryOutcome): void;
  claimLost(claim: ClaimedDelivery): void;
  claimReleased(claim: ClaimedDelivery): void;
  unaddressedBuried(count: number): void;
  presenceFailed(error: unknown): void;
  roundFailed(loop: string, error: unknown, failuresInRow: number): void;
}

export function createObserver(logger: Logger, metrics: Metrics): Observer {
  const queued = metrics.counter({
    name: 'webhook_deliveries_queued_total',
    help: 'Notifications queued for delivery, by event or by the sweeper',
    labelNames: ['by'],
  });
  const attempts = metrics.counter({
    name: 'webhook_attempts_total',
    help: 'Attempts by what they made of their delivery',
    labelNames: ['state'],
  });
  const duration = metrics.histogram({
    name: 'webhook_attempt_duration_seconds',
    help: 'From connecting to the end of an attempt',
  });
  const lost = metrics.counter({
    name: 'webhook_claims_lost_total',
    help: 'Attempts that outlived their lease',
  });
  return {
    deliveriesQueued(count, by) {
      if (count === 0) return;
      queued.inc({ by }, count);
      if (by === 'sweeper') logger.warn('notifications queued by the sweeper', { count });
    },
    attemptFinished(claim, record, outcome) {
      attempts.inc({ state: outcome.state });
      duration.observe(record.durationMs / 1000);
      const fields = {
        eventId: claim.eventId,
        merchantId: claim.merchantId,
        notifyType: claim.notifyType,
        attempt: claim.attempt,
        statusCode: record.statusCode,
        error: record.error,
        durationMs: record.durationMs,
        state: outcome.state,
      };
      if (outcome.state === 'DELIVERED') logger.info('callback delivered', fields);
      else if (outcome.state === 'DEAD') logger.error('callback dead', fields);
      else logger.warn('callback failed', fields);
    },
    claimLost(claim) {
      lost.inc();
      logger.warn('callback attempt outlived its lease', { eventId: claim.eventId, attempt: claim.attempt });
    },
    claimReleased(claim) {
      logger.info('callback handed back', { eventId: claim.eventId, attempt: claim.attempt });
    },
    unaddressedBuried(count) {
      if (count > 0) logger.error('callbacks dead without a URL', { count });
    },
    presenceFailed(error) {
      logger.warn('presence not announced', { error });
    },
    roundFailed(loop, error, failuresInRow) {
      logger.error('round failed', { loop, failuresInRow, error });
    },
  };
}
