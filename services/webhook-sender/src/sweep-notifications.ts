import type { Db } from '@opentill/db/database';
import type { Clock } from '@opentill/runtime/clock';
import { startLoop, type Loop } from '@opentill/runtime/loop';
import type { Observer } from './observe.ts';
import { findUnqueuedSubjects, queueDeliveries } from './store.ts';

export interface SweeperDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly observer: Observer;
  readonly intervalMs: number;
  readonly wake: () => void;
}

/** Longest time between a notification's moment and its commit; the sweeper looks back so far. */
const LOOK_BACK_MS = 10 * 60_000;
const BATCH = 500;

/**
 * Finds notifications whose event never came (the broker may lose everything) and queues them. The first round looks
 * at all of them, later ones at the last minutes before the round that came before.
 */
export function startSweeper(deps: SweeperDeps): Loop {
  let since = new Date(0);
  return startLoop({
    name: 'sweep notifications',
    intervalMs: deps.intervalMs,
    onError: (error, failuresInRow) => deps.observer.roundFailed('sweep', error, failuresInRow),
    run: async () => {
      const startedAt = deps.clock.now();
      const subjects = await findUnqueuedSubjects(deps.db, since, BATCH);
      if (subjects.length > 0) {
        deps.observer.deliveriesQueued(await queueDeliveries(deps.db, subjects), 'sweeper');
        deps.wake();
      }
      if (subjects.length === BATCH) return 'again';
      since = new Date(startedAt.getTime() - LOOK_BACK_MS);
      return undefined;
    },
  });
}
