import { sql } from 'kysely';
import type { Db } from '@opentill/db/database';
import { IS_FREE, merchantsDue, NEVER_TRIED, TRIED } from './delivery-rules.ts';

/** Waiting time of the oldest delivery that only lacks a free slot; 0 without any. */
export async function oldestDueSeconds(db: Db): Promise<number> {
  const oldest = (which: typeof TRIED) => sql`
    select d.next_attempt_at from (
      select * from delivery where merchant_id = m.merchant_id and ${which} and next_attempt_at <= now()
    ) d where ${IS_FREE} order by d.next_attempt_at limit 1`;
  const { rows } = await sql<{ seconds: number }>`
    with recursive ${merchantsDue('due_first', NEVER_TRIED)}, ${merchantsDue('due_again', TRIED)}
    select coalesce(extract(epoch from now() - min(d.next_attempt_at)), 0)::float8 as seconds
    from (table due_first union table due_again) due join merchant m using (merchant_id)
      left join callback_endpoint h using (merchant_id)
      cross join lateral ((${oldest(NEVER_TRIED)}) union all (${oldest(TRIED)})) d
    where m.callback_url is not null and coalesce(h.state, 'CLOSED') = 'CLOSED'`.execute(db);
  return rows[0]?.seconds ?? 0;
}
