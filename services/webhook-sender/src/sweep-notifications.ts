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
  readonly pageSize: number;
  /** Notifications younger than this are left to their events. */
  readonly graceMs: number;
  /** Overlap with the last sweep. Must be longer than a transaction that writes notifications. */
  readonly lookBackMs: number;
  readonly from: 'beginning' | 'now';
}

/** Bounds the delay of a callback when the broker loses events. */
export const QUICK_SWEEP: NotificationSweepOptions = {
  pageSize: 2_000,
  graceMs: 2_000,
  lookBackMs: 15_000,
  from: 'now',
};

/** Finds events that were lost while no sender ran, and those of transactions longer than the quick sweep's overlap. */
export const THOROUGH_SWEEP: NotificationSweepOptions = {
  ...QUICK_SWEEP,
  lookBackMs: 600_000,
  from: 'beginning',
};

const FIRST_ID = '00000000-0000-0000-0000-000000000000';

/**
 * The first sweep covers all notifications page by page, or none. Later ones cover the time since the last sweep began,
 * plus the overlap. All times are the database's. A failed sweep continues where it stopped.
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
    begunAt ??= page.now; // later notifications belong to the next sweep
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
