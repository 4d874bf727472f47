/**
 * Inboxes and delivery attempts, partitioned by the id of their event. Ids are UUIDs of version 7, which begin with
 * the time of their making: so a range of ids is a range of time, and an event's rows are in one partition whenever
 * they come, which keeps the primary keys true over all of them. Partitioned by a time column they would not be.
 */
export const UUID_AT = `
create or replace function uuid_at(p_time timestamptz) returns uuid language sql immutable strict as
  $$ select (lpad(to_hex(floor(extract(epoch from p_time) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid $$;
comment on function uuid_at(timestamptz) is 'The least UUID of version 7 made at this moment or later.';
revoke all on function uuid_at(timestamptz) from public;
`;

/**
 * An attempt is history: whoever records one holds its delivery. A reference would have every drop of a partition lock the
 * deliveries, too, and costs a look-up for each attempt. Deliveries first, as those do who write to both.
 */
export const ATTEMPTS_BY_THEMSELVES = `
lock table delivery, delivery_attempt in access exclusive mode;
alter table delivery_attempt drop constraint if exists delivery_attempt_event_id_fkey;
`;

export const PARTITIONED = [
  'api.inbox',
  'scanner_evm.inbox',
  'tracker.inbox',
  'signer.inbox',
  'webhook.inbox',
  'ops.inbox',
  'public.delivery_attempt',
] as const;

/**
 * Turns a table into one partitioned by event_id, with the same columns, constraints, indexes and grants. Its rows, if
 * there are any, stay where they are: the table becomes the partition of everything made until tomorrow, which costs two
 * looks at its rows under the lock. Ids that are not of version 7 lie anywhere; those beyond it go to the default partition.
 */
export const partitionTable = (table: (typeof PARTITIONED)[number]): string => `
do $migration$
declare
  v_table regclass := '${table}'; v_schema text; v_name text; v_bound uuid := uuid_at(date_trunc('day', now() at time zone 'UTC') at time zone 'UTC' + interval '1 day');
  v_old text; v_new text; v_default text; v_index record; v_part record; v_has_rows boolean;
begin
  if (select relkind from pg_class where oid = v_table) = 'p' then return; end if;
  select n.nspname, c.relname into v_schema, v_name from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = v_table;
  v_new := format('%I.%I', v_schema, v_name);
  v_old := format('%I.%I', v_schema, v_name || '_before');
  v_default := format('%I.%I', v_schema, v_name || '_default');
  execute format('lock table %s in access exclusive mode', v_new);
  execute format('alter table %s rename to %I', v_new, v_name || '_before');
  execute format('create table %s (like %s including defaults including constraints including comments) partition by range (event_id)', v_new, v_old);
  for v_index in
    select i.indexrelid, c.relname, o.conname, o.contype, pg_get_indexdef(i.indexrelid) as definition, pg_get_constraintdef(o.oid) as constraint_definition
    from pg_index i join pg_class c on c.oid = i.indexrelid left join pg_constraint o on o.conindid = i.indexrelid and o.contype in ('p', 'u')
      and o.conrelid = v_table
    where i.indrelid = v_table
  loop
    execute format('alter index %I.%I rename to %I', v_schema, v_index.relname, v_index.relname || '_before');
    if v_index.conname is not null then
      execute format('alter table %s add constraint %I %s', v_new, v_index.conname, v_index.constraint_definition);
    elsif v_name <> 'inbox' then -- an inbox is no longer searched by time
      execute regexp_replace(v_index.definition, ' ON [^ ]+ ', format(' ON %s ', v_new));
    end if;
  end loop;
  for v_part in
    select pg_get_userbyid(x.grantee) as grantee, x.privilege_type, null::name as attname
    from pg_class c, aclexplode(c.relacl) x where c.oid = v_table and x.grantee <> c.relowner
    union all
    select pg_get_userbyid(x.grantee), x.privilege_type, a.attname
    from pg_attribute a join pg_class c on c.oid = a.attrelid, aclexplode(a.attacl) x where a.attrelid = v_table and x.grantee <> c.relowner
  loop
    execute format('grant %s%s on %s to %I', v_part.privilege_type, case when v_part.attname is null then '' else format(' (%I)', v_part.attname) end, v_new, v_part.grantee);
  end loop;

  execute format('create table %s partition of %s default', v_default, v_new);
  execute format('select exists (select from %s)', v_old) into v_has_rows;
  if v_has_rows then
    execute format('with beyond as (delete from %s where event_id >= %L returning *) insert into %s select * from beyond', v_old, v_bound, v_new);
    execute format('alter table %s attach partition %s for values from (minvalue) to (%L)', v_new, v_old, v_bound);
    execute format('revoke all on %s from %s', v_old,
      (select string_agg(distinct quote_ident(pg_get_userbyid(x.grantee)), ', ') from pg_class c, aclexplode(c.relacl) x where c.oid = v_table and x.grantee <> c.relowner));
  else
    execute format('drop table %s', v_old);
  end if;
end $migration$;
`;

/** Makes and drops the partitions. */
export const PARTITIONS = `
-- Makes the partitions of the days to come and drops those of which every id is older than p_kept. Rows whose ids are
-- not of version 7 are in the default partition; they are deleted by p_time_column, some at a time.
-- Nothing waits for a lock longer than lock_timeout, so neither does anybody behind it: what can't be locked is left for
-- the next call. @returns how many partitions were dropped, and how many rows of the default partition deleted.
create or replace function roll_partitions(p_table regclass, p_time_column text, p_width interval, p_kept interval,
  out dropped integer, out deleted integer)
language plpgsql security definer set search_path = public, pg_temp set lock_timeout = '200ms' as $$
declare
  v_schema text; v_name text; v_from timestamptz; v_to timestamptz; v_partition text; v_held boolean; v_old record;
  v_seconds bigint := extract(epoch from p_width);
begin
  dropped := 0; deleted := 0;
  select n.nspname, c.relname into v_schema, v_name from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = p_table;
  begin
    execute format('lock table only %s in share update exclusive mode', p_table); -- one roller at a time; nobody's reads or writes
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
    -- What is there already stays in the default partition, and with it the rest of its range.
    execute format('select exists (select from %I.%I where event_id >= uuid_at(%L) and event_id < uuid_at(%L))', v_schema,
      v_name || '_default', v_from, v_to) into v_held;
    continue when v_held;
    begin
      execute format('create table %s (like %s including all)', v_partition, p_table);
      execute format('alter table %s attach partition %s for values from (%L) to (%L)', p_table, v_partition, uuid_at(v_from), uuid_at(v_to));
    exception
      when lock_not_available or check_violation then null;
      when invalid_object_definition then null; -- the partition of before reaches into this range
    end;
  end loop;

  -- Last, because these locks keep everybody out until the commit.
  for v_old in
    select c.oid::regclass as partition from pg_inherits h join pg_class c on c.oid = h.inhrelid
    where h.inhparent = p_table
      and (substring(pg_get_expr(c.relpartbound, c.oid) from 'TO \\(''([0-9a-f-]{36})''\\)'))::uuid <= uuid_at(now() - p_kept)
    order by c.relname limit 4
  loop
    begin
      execute format('drop table %s', v_old.partition);
      dropped := dropped + 1;
    exception when lock_not_available then null;
    end;
  end loop;
end $$;
revoke all on function roll_partitions(regclass, text, interval, interval) from public;

do $migration$
declare s text;
begin
  foreach s in array array['api', 'scanner_evm', 'tracker', 'signer', 'webhook', 'ops'] loop
    execute format($f$
      create or replace function %1$I.roll_inbox(p_kept interval, out dropped integer, out deleted integer)
      language sql security definer set search_path = public, pg_temp as
        $body$ select dropped, deleted from roll_partitions('%1$I.inbox', 'received_at', interval '6 hours', greatest(p_kept, interval '1 hour')) $body$;
      revoke all on function %1$I.roll_inbox(interval) from public;
      grant execute on function %1$I.roll_inbox(interval) to %2$I;
    $f$, s, 'opentill_' || s);
  end loop;
end $migration$;

create or replace function roll_delivery_attempts(p_kept interval, out dropped integer, out deleted integer)
language sql security definer set search_path = public, pg_temp as
  $$ select dropped, deleted from roll_partitions('public.delivery_attempt', 'started_at', interval '1 day', greatest(p_kept, interval '1 day')) $$;
revoke all on function roll_delivery_attempts(interval) from public;
grant execute on function roll_delivery_attempts(interval) to opentill_webhook;
`;
