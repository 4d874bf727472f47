import { sql } from 'kysely';

/** After so many failed attempts a newer callback of the same order may overtake (docs/api.md section 6). */
export const ATTEMPTS_BEFORE_OVERTAKING = 3;

/**
 * Delivery `alias` keeps the newer ones of its order waiting. An attempt that has not ended is no failure: while it is
 * under way the lease keeps them waiting, and of one that was lost with its process nobody knows. The trigger
 * `delivery_stops_blocking` (libs/db/schema/0001-baseline/16-callbacks.sql) says the same.
 */
export const blocks = (alias: 'd' | 'e' | 'l') => {
  const row = sql.raw(alias);
  return sql`(${row}.attempts - ${row}.schedule_base - (${row}.lease_until is not null)::int
    < ${sql.lit(ATTEMPTS_BEFORE_OVERTAKING)})`;
};

/**
 * Delivery `d` is not under way, and no other of its order is, nor an older one that must go before it. The offset keeps
 * the planner from joining all deliveries to a few: each is looked up by its order.
 */
export const IS_FREE = sql`
  (d.lease_until is null or d.lease_until < now()) and not exists (
    select from delivery e
    where e.subject_id = d.subject_id and e.state = 'PENDING' and e.event_id <> d.event_id
      and (e.lease_until >= now() or (e.sequence < d.sequence and ${blocks('e')})) offset 0)`;

/**
 * Time of deliveries that wait behind one of their order and were put aside, because they hid others from the claims. The
 * trigger `delivery_stops_blocking` makes them due when nothing older blocks them any more.
 */
export const PUT_ASIDE = sql`'infinity'::timestamptz`;

// Each is the predicate of an index of its own.
export const NEVER_TRIED = sql`state = 'PENDING' and attempts = schedule_base`;
export const TRIED = sql`state = 'PENDING' and attempts > schedule_base`;

/**
 * Names with `name` a common table of the merchants that have such deliveries due. It hops from merchant to merchant in
 * the index, so that merchants for whom nothing waits cost nothing.
 */
export const merchantsDue = (name: string, which: typeof TRIED) => {
  const hops = sql.ref(`${name}_hops`);
  const first = sql`select merchant_id, next_attempt_at from delivery where ${which}`;
  return sql`
    ${hops} as (
      (${first} order by merchant_id, next_attempt_at limit 1)
      union all
      select d.* from ${hops} h
        cross join lateral (${first} and merchant_id > h.merchant_id order by merchant_id, next_attempt_at limit 1) d
    ), ${sql.ref(name)} as (select merchant_id from ${hops} where next_attempt_at <= now())`;
};
