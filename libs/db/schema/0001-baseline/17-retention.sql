-- Deletion of old callbacks and attempts, and the vacuum settings of the tables that change most.

create function roll_delivery_attempts(p_kept interval, out dropped integer, out deleted integer)
language sql security definer set search_path = public, pg_temp as
  $$ select dropped, deleted from roll_partitions('public.delivery_attempt', 'started_at', interval '1 day', greatest(p_kept, interval '1 day')) $$;

-- Deletes callbacks that ended more than p_kept ago, with their notifications. Reads at most p_limit of them after
-- (p_after_time, p_after_id), so that a call is bounded. Keeps pending and leased callbacks; those with recorded
-- attempts; the last callback of each order, because the next sequence is counted from it; and those with a young
-- notification, because the caller may write the times of a delivery. This is a function because notification
-- belongs to the tracker, and no role may delete its rows freely. Returns the numbers of rows read and deleted,
-- and the position for the next call.
create function forget_ended_callbacks(p_kept interval, p_after_time timestamptz, p_after_id uuid, p_limit integer,
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

-- Age of the oldest transaction: rows that died after its start cannot be vacuumed. This is a function because a
-- role sees only its own sessions. Its owner needs pg_read_all_stats (a superuser has it); otherwise it returns
-- null.
create function oldest_transaction_seconds() returns double precision
language sql stable security definer set search_path = public, pg_temp as $$
  select case when pg_has_role('pg_read_all_stats', 'usage')
    then coalesce(extract(epoch from max(clock_timestamp() - xact_start)), 0)::float8 end
  from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
    and (backend_xid is not null or backend_xmin is not null)
$$;

-- Rows are inserted and deleted constantly: vacuum by number of rows, not by share of the table.
alter table request_nonce set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
  autovacuum_analyze_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.2);
-- Rows that change a few times and then stay. The default share, a fifth, would be 2 million of 10 million rows.
alter table orders set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
alter table transfer set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
alter table transfer_settlement set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
alter table delivery set (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
  autovacuum_analyze_scale_factor = 0.02);
-- Few rows that change constantly: free room on their pages avoids updates of the indexes.
alter table ledger_account set (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);
alter table chain_cursor set (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);
alter table rate_counter set (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
