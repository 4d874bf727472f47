import { CompiledQuery } from 'kysely';
import type { RateLimit } from '@opentill/contracts/http/rate-limits';
import type { Db } from '@opentill/db/database';

/** Counts a request of the key for all replicas. Returns 0 when counted, else the milliseconds to wait. */
export async function countRecentRequest(
  db: Db,
  key: string,
  { requests, seconds }: RateLimit,
): Promise<number> {
  const { rows } = await db.executeQuery<{ wait: number }>(
    CompiledQuery.raw(TAKE, [key, requests, seconds * 1000]),
  );
  return rows[0]?.wait ?? 0;
}

// `points` is 1 when this request was counted, else 0. The row lock serialises requests of one key.
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
