import type { Database } from '@opentill/db/database';
import type { RateLimit } from '@opentill/contracts/http/rate-limits';
import { countRecentRequest } from './store/count-recent-request.ts';

/** Counts requests of a key in every window of the limit, wherever it begins: not in windows one after the other. */
export interface RecentRequests {
  /** 0: within the limit, and counted. Else the milliseconds until a request of this key is; not counted. */
  take(key: string, limit: RateLimit): Promise<number>;
}

/** More keys than this are not kept: the one asked for longest ago is forgotten first. */
const KEYS_KEPT = 100_000;

/** For this process alone. `nowMs`: a monotonic clock. */
export function createRecentRequests(nowMs: () => number, keysKept = KEYS_KEPT): RecentRequests {
  const times = new Map<string, readonly number[]>();
  return {
    take(key, { requests, seconds }) {
      const now = nowMs();
      const windowMs = seconds * 1000;
      const kept = (times.get(key) ?? []).filter((time) => time > now - windowMs);
      const oldest = kept.at(-requests);
      if (oldest !== undefined || requests === 0) {
        return Promise.resolve(Math.max(1, (oldest ?? now) + windowMs - now));
      }
      times.delete(key);
      times.set(key, [...kept, now]);
      const [first] = times.keys();
      if (times.size > keysKept && first !== undefined) times.delete(first);
      return Promise.resolve(0);
    },
  };
}

/**
 * For every replica, by the database's clock. A replica asks its own memory first: what is too much by that is too
 * much for all, so that a flood costs the database nothing.
 */
export function createSharedRecentRequests(pool: Database['pool'], nowMs: () => number): RecentRequests {
  const own = createRecentRequests(nowMs);
  return {
    async take(key, limit) {
      const ownWait = await own.take(key, limit);
      if (ownWait > 0) return ownWait;
      return countRecentRequest(pool, key, limit);
    },
  };
}
