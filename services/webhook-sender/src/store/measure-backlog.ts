import { sql } from 'kysely';
import type { Db } from '@opentill/db/database';
import { IS_FREE, merchantsDue, NEVER_TRIED, TRIED } from './delivery-rules.ts';

export interface OldestDue {
  /** Of deliveries whose merchant has a free slot: this service is late. Slots of slow merchants are free for moments. */
  readonly seconds: number;
  /** Of merchants that use all of their slots: their endpoints are slow, or this service is. */
  readonly atFullEndpointsSeconds: number;
}

/** Waiting times of the oldest deliveries that only lack a slot; 0 without any. `perEndpoint` as in ClaimLimits. */
export async function oldestDueSeconds(db: Db, perEndpoint: number): Promise<OldestDue> {
  const oldest = (which: typeof TRIED) => sql`
    select d.next_attempt_at from (
      select * from delivery where merchant_id = m.merchant_id and ${which} and next_attempt_at <= now()
    ) d where ${IS_FREE} order by d.next_attempt_at limit 1`;
  const waits = sql`coalesce(max(extract(epoch from now() - next_attempt_at))`;
  const { rows } = await sql<OldestDue>`
    with recursive ${merchantsDue('due_first', NEVER_TRIED)}, ${merchantsDue('due_again', TRIED)}, oldest as (
      select d.next_attempt_at, (
        select count(*) from delivery f where f.merchant_id = m.merchant_id and f.lease_until >= now()
      ) >= ${perEndpoint} as is_full
      from (table due_first union table due_again) due join merchant m using (merchant_id)
        left join callback_endpoint h using (merchant_id)
        cross join lateral ((${oldest(NEVER_TRIED)}) union all (${oldest(TRIED)})) d
      where m.callback_url is not null and coalesce(h.state, 'CLOSED') = 'CLOSED'
    )
    select ${waits} filter (where not is_full), 0)::float8 as seconds,
      ${waits} filter (where is_full), 0)::float8 as "atFullEndpointsSeconds"
    from oldest`.execute(db);
  return rows[0] ?? { seconds: 0, atFullEndpointsSeconds: 0 };
}

export function waitingText({ seconds, atFullEndpointsSeconds }: OldestDue): string {
  const why = atFullEndpointsSeconds > seconds ? ', because its merchant uses all of its slots' : '';
  return `oldest due callback waits ${Math.max(seconds, atFullEndpointsSeconds).toFixed(1)} s${why}`;
}
