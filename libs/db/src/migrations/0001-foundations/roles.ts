/** The roles of the services, and what nobody may. */
export const ROLES = `
do $$
declare r text;
begin
  foreach r in array array['opentill_api','opentill_scanner_evm','opentill_tracker','opentill_signer','opentill_webhook','opentill_ops'] loop
    if not exists (select from pg_roles where rolname = r) then
      begin
        execute format('create role %I login', r);
      exception when duplicate_object or unique_violation then null; -- another database of the cluster was first
      end;
    end if;
  end loop;
end $$;

-- A function is nobody's to call unless granted, also one of a later migration.
alter default privileges revoke execute on functions from public;
revoke all on schema public from public;
grant usage on schema public to opentill_api, opentill_scanner_evm, opentill_tracker, opentill_signer, opentill_webhook, opentill_ops;
`;

/** One schema per service with its own outbox, inbox and leases: a stolen role can't forge another's events. */
export const SERVICE_SCHEMAS = `
-- A lease's row stays for ever, or its fencing token would start anew; only presences may be forgotten.
create function lease_refuse_delete() returns trigger language plpgsql as $$
begin
  raise exception 'the lease % is kept for its fencing token', old.name using errcode = 'integrity_constraint_violation';
end $$;

do $$
declare s text; r text;
begin
  foreach s in array array['api','scanner_evm','tracker','signer','webhook','ops'] loop
    r := 'opentill_' || s;
    execute format('create schema %I', s);
    execute format('grant usage on schema %I to %I', s, r);
    execute format($t$
      create table %1$I.outbox (
        id bigint generated always as identity primary key,
        event_id uuid not null unique,
        routing_key text not null,
        payload text not null,
        created_at timestamptz not null default now()
      ) with (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);
      -- The relay that locks its one row drains the outbox. An advisory lock would do, but any role could take that.
      create table %1$I.outbox_relay (one_row boolean primary key default true check (one_row));
      insert into %1$I.outbox_relay default values;
      create table %1$I.inbox (
        consumer text not null,
        event_id uuid not null,
        received_at timestamptz not null default now(),
        primary key (consumer, event_id)
      );
      create index inbox_received_at on %1$I.inbox (received_at);
      create table %1$I.lease (
        name text primary key,
        holder text not null,
        fencing_token bigint not null,
        expires_at timestamptz not null
      );
      create trigger lease_kept before delete on %1$I.lease for each row
        when (not starts_with(old.name, 'presence/')) execute function lease_refuse_delete();
      grant select, insert, delete on %1$I.outbox to %2$I;
      grant select, update on %1$I.outbox_relay to %2$I;
      grant select, insert, delete on %1$I.inbox to %2$I;
      grant select, insert, update, delete on %1$I.lease to %2$I;
    $t$, s, r);
  end loop;
end $$;
`;
