import { sql } from 'kysely';
import type { Db, Tx } from '@opentill/db/database';
import { ATTEMPTS_BEFORE_OVERTAKING, NEVER_TRIED, PUT_ASIDE, TRIED } from './delivery-rules.ts';

const UNADDRESSED = sql`(m.callback_url is null or coalesce(h.state = 'DISABLED', false))`;

export interface Queued {
  readonly waiting: number;
  readonly dead: number;
}

/**
 * Queues every notification of a subject that has no delivery yet, so that an order's callbacks have no gap in any
 * order of events. A delivery behind one that waits for a retry is due together with it. Without a callback URL, or
 * with a disabled endpoint, deliveries are dead at once and kept for a replay.
 */
export async function queueDeliveries(tx: Tx | Db, subjectIds: readonly string[]): Promise<Queued> {
  const { rows } = await sql<{ state: string }>`
    insert into delivery (event_id, merchant_id, subject_id, sequence, state, next_attempt_at, finished_at)
    select n.event_id, n.merchant_id, n.subject_id, n.sequence,
      case when ${UNADDRESSED} then 'DEAD' else 'PENDING' end,
      greatest(now(), (
        select max(e.next_attempt_at) from delivery e
        where e.subject_id = n.subject_id and e.sequence < n.sequence and e.state = 'PENDING'
          and e.next_attempt_at < ${PUT_ASIDE} and e.attempts - e.schedule_base between 1 and ${ATTEMPTS_BEFORE_OVERTAKING - 1})),
      case when ${UNADDRESSED} then now() end
    from notification n join merchant m using (merchant_id) left join callback_endpoint h using (merchant_id)
    where n.subject_id = any(${subjectIds}::uuid[])
      and not exists (select from delivery d where d.event_id = n.event_id)
    order by n.subject_id, n.sequence
    on conflict do nothing
    returning state`.execute(tx);
  const dead = rows.filter(({ state }) => state === 'DEAD').length;
  return { waiting: rows.length - dead, dead };
}

/**
 * Of merchants without a callback URL or with a disabled endpoint. The deliveries can be replayed. Returns their
 * number.
 */
export async function markUnaddressedDead(db: Db, limit: number): Promise<number> {
  const some = (which: typeof TRIED) => sql`
    select event_id from delivery where merchant_id = m.merchant_id and ${which}
      and (lease_until is null or lease_until < now()) limit ${limit}`;
  const { rows } = await sql`
    with unaddressed as (
      select d.event_id from merchant m left join callback_endpoint h using (merchant_id)
        cross join lateral ((${some(NEVER_TRIED)}) union all (${some(TRIED)})) d
      where ${UNADDRESSED} limit ${limit}
    ), locked as (
      select event_id from delivery
      where event_id in (select event_id from unaddressed) and state = 'PENDING'
        and (lease_until is null or lease_until < now())
      for update skip locked
    )
    update delivery d set state = 'DEAD', finished_at = now(), lease_until = null, lease_holder = null
    from locked l where d.event_id = l.event_id
    returning d.event_id`.execute(db);
  return rows.length;
}
