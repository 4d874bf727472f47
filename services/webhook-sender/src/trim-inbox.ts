import type { Db } from '@opentill/db/database';
import { forgetHandledEvents } from '@opentill/db/housekeeping';
import { startLoop, type Loop } from '@opentill/runtime/loop';
import type { Observer } from './observe.ts';

/** No message waits longer in a queue; one that did would only queue deliveries that are there already. */
const KEPT_SECONDS = 7 * 24 * 3_600;
const INTERVAL_MS = 600_000;
const BATCH = 10_000;

/** Forgets events handled a week ago, a batch at a time, so that the inbox does not grow for ever. */
export function startInboxTrimmer({ db, observer }: { db: Db; observer: Observer }): Loop {
  return startLoop({
    name: 'trim inbox',
    intervalMs: INTERVAL_MS,
    onError: (error, failuresInRow) => observer.roundFailed('trim inbox', error, failuresInRow),
    run: async () => {
      const forgotten = await forgetHandledEvents(db, 'webhook', KEPT_SECONDS, BATCH);
      return forgotten === BATCH ? 'again' : undefined;
    },
  });
}
