import { sql, type RawBuilder } from 'kysely';

/** A newer callback of the same order may then overtake (docs/api.md section 6). */
export const ATTEMPTS_BEFORE_OVERTAKING = 3;

/**
 * A running attempt is not a failure: its lease makes newer ones wait. The trigger `delivery_stops_blocking`
 * (libs/db/schema/0001-baseline/16-callbacks.sql) uses the same rule.
 */
export const blocks = (alias: 'd' | 'e' | 'l') => {
  const row = sql.raw(alias);
  return sql`(${row}.attempts - ${row}.schedule_base - (${row}.lease_until is not null)::int
    < ${sql.lit(ATTEMPTS_BEFORE_OVERTAKING)})`;
};

/**
 * Not running, nor any other of its order, and no older one must go first. The offset prevents the planner from joining
 * all deliveries: each is looked up by its order.
 */
export const IS_FREE = sql`
  (d.lease_until is null or d.lease_until < now()) and not exists (
    select from delivery e
    where e.subject_id = d.subject_id and e.state = 'PENDING' and e.event_id <> d.event_id
      and (e.lease_until >= now() or (e.sequence < d.sequence and ${blocks('e')})) offset 0)`;

/** replay_deliveries() uses the same rule. */
export const isUnmatchedReport = (eventId: RawBuilder<unknown>) =>
  sql`(select n.notify_type = 'ORDER_UNMATCHED' from notification n where n.event_id = ${eventId})`;

/** The trigger `delivery_stops_blocking` makes these deliveries due when no older one blocks them. */
export const PUT_ASIDE = sql`'infinity'::timestamptz`;

// Each is the predicate of a separate index.
export const NEVER_TRIED = sql`state = 'PENDING' and attempts = schedule_base`;
export const TRIED = sql`state = 'PENDING' and attempts > schedule_base`;

/** Common table `name`. A skip scan of the index, which reads no row for other merchants. */
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
