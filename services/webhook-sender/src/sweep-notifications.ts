import type { Db } from '@opentill/db/database';
import type { Observe } from './observe.ts';
import { findUnqueued, type SweepPosition } from './store/find-unqueued.ts';
import { queueDeliveries } from './store/queue-deliveries.ts';

export interface NotificationSweepDeps {
  readonly db: Db;
  readonly observe: Observe;
  readonly wake: () => void;
}

export interface NotificationSweepOptions {
  /** Notifications looked at per query. */
  readonly pageSize: number;
  /** Notifications younger than this are left to their events. */
  readonly graceMs: number;
  /** How far each sweep goes back behind the last one: longer than from a transaction's begin to its commit. */
  readonly lookBackMs: number;
  /** Where the first sweep starts: at the oldest notification, or at those written from now on. */
  readonly from: 'beginning' | 'now';
}

/** Often, over the last seconds: a lost broker delays no callback by more. */
export const QUICK_SWEEP: NotificationSweepOptions = {
  pageSize: 2_000,
  graceMs: 2_000,
  lookBackMs: 15_000,
  from: 'now',
};

/** Seldom: what was lost while no sender ran, or was written by a transaction slower than the quick one looks back. */
export const THOROUGH_SWEEP: NotificationSweepOptions = {
  ...QUICK_SWEEP,
  lookBackMs: 600_000,
  from: 'beginning',
};

const FIRST_ID = '00000000-0000-0000-0000-000000000000';

/**
 * Makes the sweep that finds notifications whose event never came (the broker may lose everything) and queues them.
 * The first sweep goes over all of them, page by page, or over none; the later ones over what came since the last sweep
 * began, less the look-back; all by the database's clock. A sweep that fails goes on where it stopped.
 */
export function createNotificationSweep(
  deps: NotificationSweepDeps,
  options: NotificationSweepOptions,
): (signal: AbortSignal) => Promise<void | 'again'> {
  let position: SweepPosition = {
    createdAt: options.from === 'now' ? 'infinity' : '-infinity',
    eventId: FIRST_ID,
  };
  let begunAt: string | null = null;

  return async (signal) => {
    const page = await findUnqueued(deps.db, position, options.pageSize, options.graceMs);
    begunAt ??= page.now; // what comes from now on is behind this sweep, and the begin of the next
    if (signal.aborted) return undefined;
    if (page.subjectIds.length > 0) {
      deps.observe.deliveriesQueued(await queueDeliveries(deps.db, page.subjectIds), 'sweeper');
      deps.wake();
    }
    position = page.next ?? startOfSweep(begunAt, options.lookBackMs);
    if (page.next !== null) return 'again';
    begunAt = null;
    return undefined;
  };
}

function startOfSweep(lastBegin: string, lookBackMs: number): SweepPosition {
  return { createdAt: new Date(Date.parse(lastBegin) - lookBackMs).toISOString(), eventId: FIRST_ID };
}
