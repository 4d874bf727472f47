import type { Db } from '@opentill/db/database';
import {
  FIRST_CALLBACK,
  forgetEndedCallbacks,
  rollDeliveryAttempts,
  ROLLED_ROWS_MAX,
  rollInbox,
} from '@opentill/db/housekeeping';
import { startLoop, type Loop } from '@opentill/runtime/loop';
import type { Observer } from './observe.ts';

/** How long what is over is kept (README.md, "Configuration"). */
export interface Retention {
  /** Which events were handled; one that came again after that would only queue deliveries that are there already. */
  readonly inboxSeconds: number;
  /** Single attempts, with what was answered, from the notification's making on. */
  readonly attemptsSeconds: number;
  /** Callbacks that ended, with their notifications. The last one of each order is kept for ever. */
  readonly callbacksSeconds: number;
}

const HOUR = 3_600;
export const DEFAULT_RETENTION: Retention = {
  inboxSeconds: 24 * HOUR,
  attemptsSeconds: 30 * 24 * HOUR,
  callbacksSeconds: 90 * 24 * HOUR,
};

const INTERVAL_MS = 600_000;
const CALLBACKS_PER_ROUND = 1_000;

export interface HousekeepingDeps {
  readonly db: Db;
  readonly observer: Pick<Observer, 'roundFailed'>;
}

/**
 * Forgets what is over, in rounds that are bounded and never make a delivery wait: partitions of inbox and attempts are
 * dropped whole, ended callbacks deleted page by page.
 */
export function startHousekeeping(
  { db, observer }: HousekeepingDeps,
  retention: Retention = DEFAULT_RETENTION,
): readonly Loop[] {
  const loop = (name: string, run: () => Promise<void | 'again'>) =>
    startLoop({
      name,
      intervalMs: INTERVAL_MS,
      onError: (error, failuresInRow) => observer.roundFailed(name, error, failuresInRow),
      run,
    });
  let callback = FIRST_CALLBACK;
  return [
    loop('roll inbox', async () => {
      const { deleted } = await rollInbox(db, 'webhook', retention.inboxSeconds);
      return deleted === ROLLED_ROWS_MAX ? 'again' : undefined;
    }),
    loop('roll attempts', async () => {
      const { deleted } = await rollDeliveryAttempts(db, retention.attemptsSeconds);
      return deleted === ROLLED_ROWS_MAX ? 'again' : undefined;
    }),
    // Goes over everything ended once an interval; what stays of it, the last callback of each order, costs a look.
    loop('forget callbacks', async () => {
      const { next } = await forgetEndedCallbacks(
        db,
        retention.callbacksSeconds,
        callback,
        CALLBACKS_PER_ROUND,
      );
      callback = next ?? FIRST_CALLBACK;
      return next === null ? undefined : 'again';
    }),
  ];
}
