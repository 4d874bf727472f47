import type { Database } from '@opentill/db/database';
import type { RateLimit } from '@opentill/contracts/http/rate-limits';

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
      const { rows } = await pool.query<{ wait: number }>(TAKE, [key, limit.requests, limit.seconds * 1000]);
      return rows[0]?.wait ?? 0;
    },
  };
}

// `points` says whether this request was counted: 1 or 0. The row's lock makes requests of one key wait for each other.
const TAKE = `
  insert into rate_counter as c (key, points, expire, recent)
  select $1, 1, t.now + $3::bigint, array[t.now]
  from (select (extract(epoch from clock_timestamp()) * 1000)::bigint as now) t
  on conflict (key) do update set (points, expire, recent) = (
    select (count(r.time) < $2::int)::int,
      case when count(r.time) < $2::int then t.now else min(r.time) end + $3::bigint,
      coalesce(array_agg(r.time order by r.time) filter (where r.time is not null), '{}')
        || case when count(r.time) < $2::int then array[t.now] else '{}' end
    from (select (extract(epoch from clock_timestamp()) * 1000)::bigint as now) t
      left join unnest(c.recent) as r(time) on r.time > t.now - $3::bigint
    group by t.now)
  returning case when points = 1 then 0
    else greatest(1, expire - (extract(epoch from clock_timestamp()) * 1000)::bigint)::int end as wait`;
