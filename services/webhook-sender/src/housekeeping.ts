import type { Db } from '@opentill/db/database';
import {
  FIRST_CALLBACK,
  deleteEndedCallbacksPage,
  rollDeliveryAttempts,
  ROLLED_ROWS_MAX,
  rollInbox,
} from '@opentill/db/housekeeping';
import { isSameLease, keepLease, type Lease } from '@opentill/db/lease';
import { startLoop, type Loop } from '@opentill/runtime/loop';
import type { Observe } from './observe.ts';

export interface Retention {
  /** Handled events. A later duplicate would only queue deliveries that already exist. */
  readonly inboxSeconds: number;
  /** Single attempts with their responses, from the creation of the notification. */
  readonly attemptsSeconds: number;
  /** Ended callbacks with their notifications. The last one of each order is kept permanently. */
  readonly callbacksSeconds: number;
}

const HOUR = 3_600;
const DEFAULT_RETENTION: Retention = {
  inboxSeconds: 24 * HOUR,
  attemptsSeconds: 30 * 24 * HOUR,
  callbacksSeconds: 90 * 24 * HOUR,
};

const INTERVAL_MS = 600_000;
const CALLBACKS_PER_ROUND = 1_000;
const DAY_MS = 86_400_000;
const LEASE = 'housekeeping/callbacks';
const LEASE_MS = 3 * INTERVAL_MS;

export interface HousekeepingDeps {
  readonly db: Db;
  readonly observe: Pick<Observe, 'roundFailed'>;
  readonly instance: string;
}

/** A drop of a partition waits at most 200 ms for its table lock, and queries that arrive meanwhile wait behind it. */
export function startHousekeeping(
  { db, observe, instance }: HousekeepingDeps,
  retention: Retention = DEFAULT_RETENTION,
): readonly Loop[] {
  const loop = (name: string, run: () => Promise<void | 'again'>) =>
    startLoop({
      name,
      intervalMs: INTERVAL_MS,
      onError: (error, failuresInRow) => observe.roundFailed(name, error, failuresInRow),
      run,
    });
  return [
    loop('roll inbox', async () => {
      const { deleted } = await rollInbox(db, 'webhook', retention.inboxSeconds);
      return deleted === ROLLED_ROWS_MAX ? 'again' : undefined;
    }),
    loop('roll attempts', async () => {
      const { deleted } = await rollDeliveryAttempts(db, retention.attemptsSeconds);
      return deleted === ROLLED_ROWS_MAX ? 'again' : undefined;
    }),
    loop('delete ended callbacks', deleteEndedCallbacks(db, instance, retention.callbacksSeconds)),
  ];
}

/**
 * Starts over once a day: a kept callback may be deleted later, when its order gets a newer one. One replica runs it.
 */
export function deleteEndedCallbacks(
  db: Db,
  instance: string,
  keptSeconds: number,
  roundMs = DAY_MS,
): () => Promise<void | 'again'> {
  const lease = keepLease({ db, schema: 'webhook', name: LEASE, holder: instance, ttlMs: LEASE_MS });
  let held: Lease | undefined;
  let position = FIRST_CALLBACK;
  let roundBegunAtMs = 0;
  return async () => {
    const taken = await lease.acquire();
    if (taken === undefined) return undefined;
    if (!isSameLease(held, taken) || performance.now() - roundBegunAtMs > roundMs) {
      position = FIRST_CALLBACK;
      roundBegunAtMs = performance.now();
    }
    held = taken;
    const page = await deleteEndedCallbacksPage(db, keptSeconds, position, CALLBACKS_PER_ROUND);
    position = page.last;
    return page.next === null ? undefined : 'again';
  };
}
