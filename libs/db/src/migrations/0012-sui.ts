/** SUI: the role of scanner-sui, its schema, and what it may read and write. Only added to. */
export const name = '0012-sui';

const ROLE = 'opentill_scanner_sui';
const SUI_CHAIN = `chain = any (array(select f.chain from chain_family f where f.family = 'SUI'))`;
const SUI_ROW = `family = 'SUI' and ${SUI_CHAIN}`;
/** All but the signed bytes. */
const OWN_TRANSACTION = `chain, tx_hash, family, wallet, nonce, purpose, order_pk, contract_address, to_address, amount, fee_terms,
  signed_at, first_sent_at, last_sent_at, send_outcome`;

const policy = (name: string, table: string, rest: string) =>
  `drop policy if exists ${name} on ${table}; create policy ${name} on ${table} for ${rest};`;

/** The role of scanner-sui, and its schema with outbox, inbox and leases as every service has them. */
const SCANNER_SCHEMA = `
do $$
begin
  if not exists (select from pg_roles where rolname = '${ROLE}') then
    begin
      create role ${ROLE} login;
    exception when duplicate_object or unique_violation then null; -- another database of the cluster was first
    end;
  end if;
end $$;
grant usage on schema public to ${ROLE};
create schema if not exists scanner_sui;
grant usage on schema scanner_sui to ${ROLE}, opentill_api, opentill_ops;

create table if not exists scanner_sui.outbox (
  id bigint generated always as identity primary key,
  event_id uuid not null unique,
  routing_key text not null,
  payload text not null,
  created_at timestamptz not null default now()
) with (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);
create table if not exists scanner_sui.outbox_relay (one_row boolean primary key default true check (one_row));
insert into scanner_sui.outbox_relay default values on conflict do nothing;
create table if not exists scanner_sui.inbox (
  consumer text not null,
  event_id uuid not null,
  received_at timestamptz not null default now(),
  primary key (consumer, event_id)
) partition by range (event_id);
create table if not exists scanner_sui.inbox_default partition of scanner_sui.inbox default;
create table if not exists scanner_sui.lease (
  name text primary key,
  holder text not null,
  fencing_token bigint not null,
  expires_at timestamptz not null
);
create or replace trigger lease_kept before delete on scanner_sui.lease for each row
  when (not starts_with(old.name, 'presence/')) execute function lease_refuse_delete();
grant select, insert, delete on scanner_sui.outbox to ${ROLE};
grant select, update on scanner_sui.outbox_relay to ${ROLE};
grant select, insert, delete on scanner_sui.inbox to ${ROLE};
grant select, insert, update, delete on scanner_sui.lease to ${ROLE};
grant select on scanner_sui.lease to opentill_api, opentill_ops;

create or replace function scanner_sui.roll_inbox(p_kept interval, out dropped integer, out deleted integer)
language sql security definer set search_path = public, pg_temp as
  $$ select dropped, deleted from roll_partitions('scanner_sui.inbox', 'received_at', interval '6 hours', greatest(p_kept, interval '1 hour')) $$;
revoke all on function scanner_sui.roll_inbox(interval) from public;
grant execute on function scanner_sui.roll_inbox(interval) to ${ROLE};
grant execute on function oldest_transaction_seconds() to ${ROLE};
`;

/** What scanner-sui may read, and which rows it may write: those of its own family, as scanner-evm those of its own. */
const SCANNER_GRANTS = `
grant select on chain_family, deposit_address, hot_wallet, wallet_nonce, chain_pause, payout_attempt to ${ROLE};
grant select (${OWN_TRANSACTION}) on own_transaction to ${ROLE};
grant select, insert, update on chain_cursor, transfer, own_transaction_fate to ${ROLE};
grant select, insert, update, delete on block to ${ROLE};
grant select, update (done_at, found, next_height) on rescan_request to ${ROLE};
grant select, insert on foreign_transaction to ${ROLE};

${policy('sui_inserts', 'chain_cursor', `insert to ${ROLE} with check (${SUI_ROW})`)}
${policy('sui_updates', 'chain_cursor', `update to ${ROLE} using (${SUI_ROW}) with check (${SUI_ROW})`)}
${policy('sui_inserts', 'block', `insert to ${ROLE} with check (${SUI_CHAIN})`)}
${policy('sui_updates', 'block', `update to ${ROLE} using (${SUI_CHAIN}) with check (${SUI_CHAIN})`)}
${policy('sui_deletes', 'block', `delete to ${ROLE} using (${SUI_CHAIN})`)}
${policy('sui_inserts', 'transfer', `insert to ${ROLE} with check (${SUI_ROW})`)}
${policy('sui_updates', 'transfer', `update to ${ROLE} using (${SUI_ROW}) with check (${SUI_ROW})`)}
${policy('sui_inserts', 'own_transaction_fate', `insert to ${ROLE} with check (${SUI_ROW})`)}
${policy('sui_updates', 'own_transaction_fate', `update to ${ROLE} using (${SUI_ROW}) with check (${SUI_ROW})`)}
${policy('sui_inserts', 'foreign_transaction', `insert to ${ROLE} with check (halt_id is null and ${SUI_CHAIN})`)}
${policy('sui_answers', 'rescan_request', `update to ${ROLE} using (${SUI_CHAIN}) with check (${SUI_CHAIN})`)}
`;

export const sql = [SCANNER_SCHEMA, SCANNER_GRANTS];
