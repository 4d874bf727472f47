-- Roles of the services. They own no objects; 02-service-schemas.sql and 19-grants.sql grant their rights.

do $$
declare r text;
begin
  foreach r in array array['opentill_api', 'opentill_scanner_evm', 'opentill_scanner_tron', 'opentill_scanner_sui',
      'opentill_tracker', 'opentill_signer', 'opentill_webhook', 'opentill_ops'] loop
    if not exists (select from pg_roles where rolname = r) then
      begin
        execute format('create role %I login', r);
      exception when duplicate_object or unique_violation then null; -- another database of the cluster created it concurrently
      end;
    end if;
    execute format('grant usage on schema public to %I', r);
  end loop;
end $$;

-- Roles may call only functions that are granted to them, also those of later migrations by the same owner.
alter default privileges revoke execute on functions from public;
revoke all on schema public from public;

-- The migrator creates this table first; this statement serves runs in psql.
create table if not exists schema_migration ( -- writer: migrate, as the owner
  name text primary key,
  checksum text not null,
  applied_at timestamptz not null default now()
);
