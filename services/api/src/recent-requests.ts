import type { Db } from '@opentill/db/database';
import type { RateLimit } from '@opentill/contracts/http/rate-limits';
import { countRecentRequest } from './store/count-recent-request.ts';

export interface RecentRequests {
  /** Returns 0 and counts the request within the limit. Else returns the milliseconds to wait and does not count it. */
  take(key: string, limit: RateLimit): Promise<number>;
}

/** Maximum number of keys. The least recently used key is dropped first. */
const KEYS_KEPT = 100_000;

/** @param nowMs monotonic clock */
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
 * For all replicas, by the database's clock. A replica checks its own memory first. It rejects a key there that already
 * exceeds the limit, so that a flood causes no queries.
 */
export function createSharedRecentRequests(db: Db, nowMs: () => number): RecentRequests {
  const own = createRecentRequests(nowMs);
  return {
    async take(key, limit) {
      const ownWait = await own.take(key, limit);
      if (ownWait > 0) return ownWait;
      return countRecentRequest(db, key, limit);
    },
  };
}
