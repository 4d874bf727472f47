import { sql } from 'kysely';
import type { Db } from '@opentill/db/database';

export interface SweepPosition {
  /** Postgres' text of a timestamptz, which keeps the microseconds. */
  readonly createdAt: string;
  readonly eventId: string;
}

export interface SweepPage {
  readonly subjectIds: readonly string[];
  /** null: this was the last page. */
  readonly next: SweepPosition | null;
  /** Database time in ISO 8601, for the start of the next sweep. */
  readonly now: string;
}

/** Notifications younger than `graceMs` are left to their events. */
export async function findUnqueued(
  db: Db,
  from: SweepPosition,
  limit: number,
  graceMs: number,
): Promise<SweepPage> {
  const { rows } = await sql<{
    subject_ids: string[] | null;
    seen: number;
    last: SweepPosition | null;
    now: string;
  }>`
    with page as (
      select event_id, subject_id, created_at from notification
      where created_at >= ${from.createdAt}::timestamptz
        and (created_at, event_id) > (${from.createdAt}::timestamptz, ${from.eventId}::uuid)
        and created_at <= now() - ${graceMs} * interval '1 millisecond'
      order by created_at, event_id limit ${limit}
    )
    select count(*)::int as seen, to_char(now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as now,
      array_agg(distinct p.subject_id) filter (where d.event_id is null) as subject_ids,
      (select json_build_object('createdAt', created_at::text, 'eventId', event_id) from page
        order by created_at desc, event_id desc limit 1) as last
    from page p left join delivery d using (event_id)`.execute(db);
  const row = rows[0];
  if (row === undefined) throw new RangeError('an aggregate returned no row');
  return { subjectIds: row.subject_ids ?? [], next: row.seen === limit ? row.last : null, now: row.now };
}
