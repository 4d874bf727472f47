/** Vacuum settings of the tables that change most, and what tells whether vacuum keeps up. */
export const HEALTH = `
-- Rows that come and go: vacuumed by their number, not by a share of a table that only looks large.
alter table request_nonce set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
  autovacuum_analyze_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.2);
-- Rows that change a few times and then rest for ever. Vacuumed at a share of them: at 10 million a fifth would be 2 million.
alter table orders set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
alter table transfer set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
alter table transfer_settlement set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
alter table delivery set (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000, autovacuum_analyze_scale_factor = 0.02);
-- Few rows, changed without end: room on their pages keeps every change off the indexes.
alter table ledger_account set (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);
alter table chain_cursor set (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);
alter table rate_counter set (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);

-- Nothing that died after the oldest transaction began can be vacuumed away. A function, because a role sees only its own
-- sessions; it tells no more than an age. Its owner needs pg_read_all_stats (a superuser has it), else it sees its own and
-- answers null: it does not know.
create or replace function oldest_transaction_seconds() returns double precision
language sql stable security definer set search_path = public, pg_temp as $$
  select case when pg_has_role('pg_read_all_stats', 'usage')
    then coalesce(extract(epoch from max(clock_timestamp() - xact_start)), 0)::float8 end
  from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
    and (backend_xid is not null or backend_xmin is not null)
$$;
revoke all on function oldest_transaction_seconds() from public;
grant execute on function oldest_transaction_seconds() to opentill_api, opentill_scanner_evm, opentill_tracker, opentill_signer,
  opentill_webhook, opentill_ops;
`;
