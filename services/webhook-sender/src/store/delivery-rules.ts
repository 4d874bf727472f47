import { sql } from 'kysely';

/** After so many failed attempts a newer callback of the same order may overtake (api.md section 6). */
export const ATTEMPTS_BEFORE_OVERTAKING = 3;

/**
 * Delivery `d` is not under way, and no other of its order is, nor an older one that must go before it. The offset keeps
 * the planner from joining all deliveries to a few: each is looked up by its order.
 */
export const IS_FREE = sql`
  (d.lease_until is null or d.lease_until < now()) and not exists (
    select from delivery e
    where e.subject_id = d.subject_id and e.state = 'PENDING' and e.event_id <> d.event_id
      and (e.lease_until >= now() or (e.sequence < d.sequence
        and e.attempts - e.schedule_base < ${sql.lit(ATTEMPTS_BEFORE_OVERTAKING)})) offset 0)`;

// Each is the predicate of an index of its own.
export const NEVER_TRIED = sql`state = 'PENDING' and attempts = schedule_base`;
export const TRIED = sql`state = 'PENDING' and attempts > schedule_base`;
