-- One schema per service with its own outbox, inbox and leases: a stolen role cannot forge events of another service.
-- Inboxes are partitioned by event id, a UUID of version 7, which begins with its time: a range of ids is a range of
-- time, and all rows of an event are in one partition. Partitions by a time column would break the primary key.

-- A lease keeps its row, because a new row would restart the fencing token. Only presences may be deleted.
create function lease_refuse_delete() returns trigger language plpgsql as $$
begin
  raise exception 'the lease % is kept for its fencing token', old.name using errcode = 'integrity_constraint_violation';
end $$;

create function uuid_at(p_time timestamptz) returns uuid language sql immutable strict as
  $$ select (lpad(to_hex(floor(extract(epoch from p_time) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid $$;
comment on function uuid_at(timestamptz) is 'The smallest UUID of version 7 with this time.';

-- Creates the partitions of the coming days and drops each partition whose ids are all older than p_kept. Rows whose
-- ids are not UUIDs of version 7 are in the default partition: deleted by p_time_column, 10,000 per call. Waits for
-- each lock at most lock_timeout, so that sessions do not queue behind it; the next call handles a locked table.
create function roll_partitions(p_table regclass, p_time_column text, p_width interval, p_kept interval,
  out dropped integer, out deleted integer)
language plpgsql security definer set search_path = public, pg_temp set lock_timeout = '200ms' as $$
declare
  v_schema text; v_name text; v_from timestamptz; v_to timestamptz; v_partition text; v_held boolean; v_old record;
  v_seconds bigint := extract(epoch from p_width);
begin
  dropped := 0; deleted := 0;
  select n.nspname, c.relname into v_schema, v_name from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = p_table;
  begin
    execute format('lock table only %s in share update exclusive mode', p_table); -- one roller at a time; blocks no reads or writes
  exception when lock_not_available then return;
  end;

  execute format('delete from %1$I.%2$I where ctid = any(array(select ctid from %1$I.%2$I where %3$I < now() - %4$L::interval limit 10000))',
    v_schema, v_name || '_default', p_time_column, p_kept);
  get diagnostics deleted = row_count;

  for i in 0..3 loop
    v_from := to_timestamp(floor(extract(epoch from now()) / v_seconds) * v_seconds) + i * p_width;
    v_to := v_from + p_width;
    v_partition := format('%I.%I', v_schema, v_name || to_char(v_from at time zone 'UTC', '_YYYYMMDD_HH24'));
    continue when to_regclass(v_partition) is not null;
    -- If the default partition has rows of this range, the whole range stays there.
    execute format('select exists (select from %I.%I where event_id >= uuid_at(%L) and event_id < uuid_at(%L))', v_schema,
      v_name || '_default', v_from, v_to) into v_held;
    continue when v_held;
    begin
      execute format('create table %s (like %s including all)', v_partition, p_table);
      execute format('alter table %s attach partition %s for values from (%L) to (%L)', p_table, v_partition, uuid_at(v_from), uuid_at(v_to));
    exception
      when lock_not_available or check_violation then null;
      when invalid_object_definition then null; -- the previous partition overlaps this range
    end;
  end loop;

  -- Last, because these locks block all access until commit.
  for v_old in
    select c.oid::regclass as partition from pg_inherits h join pg_class c on c.oid = h.inhrelid
    where h.inhparent = p_table
      and (substring(pg_get_expr(c.relpartbound, c.oid) from 'TO \(''([0-9a-f-]{36})''\)'))::uuid <= uuid_at(now() - p_kept)
    order by c.relname limit 4
  loop
    begin
      execute format('drop table %s', v_old.partition);
      dropped := dropped + 1;
    exception when lock_not_available then null;
    end;
  end loop;
end $$;

do $$
declare s text;
begin
  foreach s in array array['api', 'scanner_evm', 'scanner_tron', 'scanner_sui', 'tracker', 'signer', 'webhook', 'ops'] loop
    execute format($t$
      create schema %1$I;
      create table %1$I.outbox (
        id bigint generated always as identity primary key,
        event_id uuid not null unique,
        routing_key text not null,
        payload text not null,
        traceparent text,
        created_at timestamptz not null default now()
      ) with (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);
      -- The relay that locks the only row publishes the outbox. Any role could take an advisory lock instead.
      create table %1$I.outbox_relay (one_row boolean primary key default true check (one_row));
      insert into %1$I.outbox_relay default values;
      create table %1$I.inbox (
        consumer text not null,
        event_id uuid not null,
        received_at timestamptz not null default now(),
        primary key (consumer, event_id)
      ) partition by range (event_id);
      create table %1$I.inbox_default partition of %1$I.inbox default;
      create function %1$I.roll_inbox(p_kept interval, out dropped integer, out deleted integer)
      language sql security definer set search_path = public, pg_temp as
        $body$ select dropped, deleted from roll_partitions('%1$I.inbox', 'received_at', interval '6 hours', greatest(p_kept, interval '1 hour')) $body$;
      create table %1$I.lease (
        name text primary key,
        holder text not null,
        fencing_token bigint not null,
        expires_at timestamptz not null
      );
      create trigger lease_kept before delete on %1$I.lease for each row
        when (not starts_with(old.name, 'presence/')) execute function lease_refuse_delete();
      grant usage on schema %1$I to %2$I;
      grant select, insert, delete on %1$I.outbox, %1$I.inbox to %2$I;
      grant select, update on %1$I.outbox_relay to %2$I;
      grant select, insert, update, delete on %1$I.lease to %2$I;
      grant execute on function %1$I.roll_inbox(interval) to %2$I;
    $t$, s, 'opentill_' || s);
  end loop;
end $$;
