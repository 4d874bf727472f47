import type { Database } from '@opentill/db/database';
import type { Clock } from '@opentill/runtime/clock';
import type { Checks } from '@opentill/runtime/health';
import type { NewId } from '@opentill/runtime/ids';
import type { Logger } from '@opentill/runtime/logger';
import { startLoop, type Loop } from '@opentill/runtime/loop';
import type { Metrics } from '@opentill/runtime/metrics';
import { createObserve } from './observe.ts';
import { createQuoteBook } from './quote-book.ts';
import type { RateSettings } from './rate-settings.ts';
import { createRateRefresh } from './refresh-rates.ts';
import { createRateStore } from './store/rates.ts';

export interface RatesDeps {
  readonly database: Database;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly newId: NewId;
  readonly settings: RateSettings;
}

const HOUSEKEEPING_INTERVAL_MS = 600_000;
const DELETED_PER_ROUND = 1_000;

export function createApp(deps: RatesDeps) {
  const { settings, clock, newId } = deps;
  const observe = createObserve(deps);
  const store = createRateStore(deps.database.kysely, clock);
  const book = createQuoteBook({ settings, clock, observe });
  const refresh = createRateRefresh({ settings, book, store, clock, newId, observe });
  let loops: readonly Loop[] = [];

  const loop = (
    name: string,
    intervalMs: number,
    run: (stop: AbortSignal) => Promise<void | 'again'>,
  ): Loop =>
    startLoop({
      name,
      intervalMs,
      run,
      maxBackoffMs: settings.pollIntervalMs,
      onError: (error, failuresInRow) => observe.roundFailed(name, error, failuresInRow),
    });

  const checks: Checks = {
    database: async () => {
      await store.isReachable();
      return { ok: true };
    },
  };
  return {
    checks,
    start(): void {
      loops = [
        loop('refresh rates', settings.pollIntervalMs, refresh),
        loop('delete unused rates', HOUSEKEEPING_INTERVAL_MS, async () =>
          (await store.deleteUnused(DELETED_PER_ROUND)) === DELETED_PER_ROUND ? 'again' : undefined,
        ),
      ];
    },
    async stop(): Promise<void> {
      await Promise.all(loops.map((running) => running.stop()));
    },
  };
}
