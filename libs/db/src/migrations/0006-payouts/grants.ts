const EVM_ROW = `family = 'EVM' and chain = any (array(select f.chain from chain_family f where f.family = 'EVM'))`;
/** All but the signed bytes. */
const OWN_TRANSACTION = `chain, tx_hash, family, wallet, nonce, purpose, order_pk, contract_address, to_address, amount, fee_terms,
  signed_at, first_sent_at, last_sent_at, send_outcome`;

/** Policies that say which rows; made anew, so that a migration broken off can be done again. */
const policy = (name: string, table: string, rest: string) =>
  `drop policy if exists ${name} on ${table}; create policy ${name} on ${table} ${rest};`;

/** Which rows of a table its writer may write. */
export const POLICIES = `
alter table own_transaction_fate enable row level security;
${policy('all_read', 'own_transaction_fate', 'for select using (true)')}
${policy('evm_inserts', 'own_transaction_fate', `for insert to opentill_scanner_evm with check (${EVM_ROW})`)}
${policy('evm_updates', 'own_transaction_fate', `for update to opentill_scanner_evm using (${EVM_ROW}) with check (${EVM_ROW})`)}

-- The signer does all with a payout but let it expire.
alter table payout enable row level security;
${policy('all_read', 'payout', 'for select using (true)')}
${policy('signer_updates', 'payout', "for update to opentill_signer using (true) with check (state <> 'EXPIRED')")}

alter table wallet_halt enable row level security;
${policy('all_read', 'wallet_halt', 'for select using (true)')}
${policy('signer_halts', 'wallet_halt', "for insert to opentill_signer with check (kind in ('FOREIGN_NONCE', 'RESTORED') and wallet is not null and released_at is null)")}
${policy('ops_halts', 'wallet_halt', "for insert to opentill_ops with check (kind = 'OPERATOR' and released_at is null)")}
${policy('ops_releases', 'wallet_halt', 'for update to opentill_ops using (released_at is null) with check (released_at is not null)')}
`;

/** Who may do what: test/grants.test.ts says it a second time. */
export const GRANTS = `
-- api
grant select on hot_wallet, payout, own_transaction_fate to opentill_api;
grant select (${OWN_TRANSACTION}) on own_transaction to opentill_api;
grant execute on function reserve(uuid) to opentill_api;
grant usage on schema signer, ops to opentill_api;
grant select on signer.lease, ops.lease to opentill_api;

-- scanner-evm
grant select on hot_wallet, wallet_nonce, chain_pause to opentill_scanner_evm;
grant select (${OWN_TRANSACTION}) on own_transaction to opentill_scanner_evm;
grant select, insert, update on own_transaction_fate to opentill_scanner_evm;

-- confirmation-tracker
grant select on hot_wallet, payout, own_transaction_fate, own_transaction_settlement, order_decision to opentill_tracker;
grant select (${OWN_TRANSACTION}) on own_transaction to opentill_tracker;
grant update (handled_at, outcome) on order_decision to opentill_tracker;
grant execute on function expire_payouts(uuid[]), settle_payout_money(uuid[]), settle_network_fees(jsonb),
  settle_hot_wallet_deposits(jsonb) to opentill_tracker;

-- payout-signer
grant select on payout, wallet_nonce, own_transaction, own_transaction_fate, hot_wallet, hot_wallet_balance, wallet_halt,
  payout_approval, payout_veto, payout_decision, deposit_address, block, ledger_transaction, ledger_posting to opentill_signer;
grant update (state, expires_at, waiting_since, authorised_at, first_sent_at, reason, obstacle, obstacle_at, fencing_token, version,
  updated_at) on payout to opentill_signer;
grant insert, update on wallet_nonce to opentill_signer;
grant insert on own_transaction to opentill_signer;
grant update (first_sent_at, last_sent_at, send_outcome) on own_transaction to opentill_signer;
grant insert (halt_id, chain, wallet, kind, mark, reason, set_by, set_at) on wallet_halt to opentill_signer;
grant update (handled_at, outcome, detail) on payout_decision to opentill_signer;
grant insert, update on hot_wallet_balance to opentill_signer;

-- ops
grant select on hot_wallet, payout, wallet_nonce, own_transaction_fate, own_transaction_settlement, hot_wallet_balance, wallet_halt,
  payout_approval, payout_veto, payout_decision, order_decision, chain_pause, operator, audit_entry to opentill_ops;
grant select (${OWN_TRANSACTION}) on own_transaction to opentill_ops;
grant insert, update (label) on hot_wallet to opentill_ops;
grant insert (halt_id, chain, wallet, kind, reason, set_by, set_at) on wallet_halt to opentill_ops;
grant update (released_at, released_by, released_reason) on wallet_halt to opentill_ops;
grant insert on payout_approval, payout_veto to opentill_ops;
grant insert (decision_id, order_pk, decision, reason, operator, decided_at) on order_decision to opentill_ops;
grant insert (decision_id, order_pk, nonce, decision, tx_hash, reason, operator, decided_at) on payout_decision to opentill_ops;
grant insert, delete on chain_pause to opentill_ops;
grant insert, update (name, role, token_hash, disabled_at) on operator to opentill_ops;
grant insert (operator, action, subject, outcome, details, request_id) on audit_entry to opentill_ops;
grant insert (hold_id, chain, symbol, reason, set_at, set_by) on asset_hold to opentill_ops;
grant update (released_by, released_reason) on asset_hold to opentill_ops;
grant update (closed_at, closed_by, closed_reason) on incident to opentill_ops;
grant execute on function book_top_up(text, text, text, numeric), book_gas_top_up(text, text, text, numeric) to opentill_ops;
grant usage on schema api, scanner_evm, tracker, signer, webhook to opentill_ops;
grant select on api.lease, scanner_evm.lease, tracker.lease, signer.lease, webhook.lease to opentill_ops;
`;
