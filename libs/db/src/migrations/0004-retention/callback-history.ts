/**
 * When a notification was written, by the database's clock: `occurred_at` is its writer's. Those of before the column are
 * older than any moment that somebody looks back to. Nobody but the database says it.
 */
export const NOTIFICATION_TIMES = `
alter table notification add column if not exists created_at timestamptz not null default 'epoch';
alter table notification alter column created_at set default now();
comment on column notification.created_at is 'When the transaction that wrote it began, by the database''s clock; 1970 for what is older than this column.';
revoke insert on notification from opentill_api, opentill_tracker;
grant insert (event_id, merchant_id, subject_id, sequence, notify_type, data, occurred_at) on notification to opentill_api, opentill_tracker;
`;

/** Callbacks that ended long ago. */
export const CALLBACK_HISTORY = `
-- Forgets callbacks that ended more than p_kept ago, with their notifications: out of p_limit of them from p_after on, so
-- that a call is bounded whatever it finds. Kept for ever: what waits or is under way, what has attempts left on record,
-- and the last callback of each order, because the next one's sequence is counted from it; and what is young by its
-- notification, whatever the times of its delivery say, which the caller may write.
-- A function, because the notifications are the tracker's and nobody may delete them freely.
-- @returns how many were looked at and forgotten, and where the next call goes on.
create or replace function forget_ended_callbacks(p_kept interval, p_after_time timestamptz, p_after_id uuid, p_limit integer,
  out looked_at integer, out forgotten integer, out last_time timestamptz, out last_id uuid)
language plpgsql security definer set search_path = public, pg_temp as $$
declare v_page uuid[]; v_gone uuid[];
begin
  with page as (
    select d.event_id, d.finished_at from delivery d
    where (d.finished_at, d.event_id) > (p_after_time, p_after_id)
      and d.finished_at < now() - greatest(p_kept, interval '7 days')
    order by d.finished_at, d.event_id limit least(p_limit, 10000)
  )
  select count(*), coalesce(array_agg(event_id order by finished_at, event_id), '{}'), max(finished_at)
    into looked_at, v_page, last_time from page;
  last_id := v_page[looked_at];

  with locked as (
    select d.event_id from delivery d join notification n using (event_id)
    where d.event_id = any(v_page) and d.state <> 'PENDING' and d.lease_until is null
      and d.finished_at < now() - greatest(p_kept, interval '7 days')
      and greatest(n.created_at, n.occurred_at) < now() - greatest(p_kept, interval '7 days')
      and exists (select from notification later where later.subject_id = d.subject_id and later.sequence > d.sequence)
      and not exists (select from delivery_attempt a where a.event_id = d.event_id)
    for update of d skip locked
  ), gone as (
    delete from delivery d using locked l where d.event_id = l.event_id returning d.event_id
  )
  select coalesce(array_agg(event_id), '{}') into v_gone from gone;
  delete from notification where event_id = any(v_gone);
  forgotten := cardinality(v_gone);
end $$;
revoke all on function forget_ended_callbacks(interval, timestamptz, uuid, integer) from public;
grant execute on function forget_ended_callbacks(interval, timestamptz, uuid, integer) to opentill_webhook;
`;
