import type { Db } from '@opentill/db/database';
import type { Observer } from './observe.ts';
import { findUnqueued, type SweepPosition } from './store/find-unqueued.ts';
import { queueDeliveries } from './store/queue-deliveries.ts';

export interface NotificationSweepDeps {
  readonly db: Db;
  readonly observer: Observer;
  readonly wake: () => void;
}

export interface NotificationSweepOptions {
  /** Notifications looked at per query. */
  readonly pageSize: number;
  /** Notifications younger than this are left to their events. */
  readonly graceMs: number;
  /** How far each sweep goes back behind the last one: longer than from a notification's moment to its commit. */
  readonly lookBackMs: number;
}

export const DEFAULT_SWEEP: NotificationSweepOptions = {
  pageSize: 2_000,
  graceMs: 2_000,
  lookBackMs: 600_000,
};

const FIRST_ID = '00000000-0000-0000-0000-000000000000';

/**
 * Makes the sweep that finds notifications whose event never came (the broker may lose everything) and queues them.
 * The first sweep goes over all of them, page by page, the later ones over what came since the last sweep began, less
 * the look-back; all by the database's clock. A sweep that fails goes on where it stopped.
 */
export function createNotificationSweep(
  deps: NotificationSweepDeps,
  options: NotificationSweepOptions,
): (signal: AbortSignal) => Promise<void | 'again'> {
  let position = startOfSweep(null, options.lookBackMs);
  let begunAt: string | null = null;

  return async (signal) => {
    const page = await findUnqueued(deps.db, position, options.pageSize, options.graceMs);
    begunAt ??= page.now; // what comes from now on is behind this sweep, and the begin of the next
    if (signal.aborted) return undefined;
    if (page.subjectIds.length > 0) {
      deps.observer.deliveriesQueued(await queueDeliveries(deps.db, page.subjectIds), 'sweeper');
      deps.wake();
    }
    position = page.next ?? startOfSweep(begunAt, options.lookBackMs);
    if (page.next !== null) return 'again';
    begunAt = null;
    return undefined;
  };
}

function startOfSweep(lastBegin: string | null, lookBackMs: number): SweepPosition {
  const occurredAt =
    lastBegin === null ? '-infinity' : new Date(Date.parse(lastBegin) - lookBackMs).toISOString();
  return { occurredAt, eventId: FIRST_ID };
}
