/** Who may do what: test/grants.test.ts says it a second time. */
export const GRANTS = `
revoke all on all functions in schema public from public;

-- api
grant select (merchant_id, name, version, sign_version, token_sealed, return_origins, order_ttl_seconds,
  underpayment_tolerance_bps, late_grace_seconds, rate_limits, enabled, updated_at) on merchant to opentill_api;
grant select, insert, delete on request_nonce to opentill_api;
grant select, insert, update, delete on rate_counter to opentill_api;
grant select on orders, deposit_address, transfer, chain_cursor to opentill_api;
grant select (transfer_id, credited) on transfer_settlement to opentill_api; -- a paid order shows what paid it
grant insert (order_pk, merchant_id, order_id, order_type, uid, chain, family, symbol, contract_address, decimals, display_decimals,
  amount, accepted_amount, address, source_address, confirmations_required, late_grace_seconds, return_url, description,
  signed_data_hash, created_at, expires_at) on orders to opentill_api;
grant insert on deposit_address, notification to opentill_api;
grant select on notification to opentill_api;
grant usage on sequence deposit_index_evm, deposit_index_tron, deposit_index_sui to opentill_api;
grant execute on function create_order_row(jsonb), spend_nonce(text, text, timestamptz), create_collections(jsonb), create_payout(jsonb),
  reserve(uuid) to opentill_api;
grant usage on schema tracker, webhook, scanner_evm to opentill_api;
grant select on tracker.lease, webhook.lease, scanner_evm.lease to opentill_api;

-- scanner-evm
grant select, insert, update on chain_cursor to opentill_scanner_evm;
grant select, insert, update, delete on block to opentill_scanner_evm;
grant select, insert, update on transfer to opentill_scanner_evm;
grant select on deposit_address to opentill_scanner_evm;
grant select, update (done_at, found) on rescan_request to opentill_scanner_evm;

-- confirmation-tracker
grant select (merchant_id, notify_reverted, enabled) on merchant to opentill_tracker;
grant select, update (status, reason, detected_amount, actual_amount, version, updated_at) on orders to opentill_tracker;
grant select on deposit_address, chain_cursor, block, transfer, ledger_account, ledger_transaction, ledger_posting to opentill_tracker;
grant select, insert, update on transfer_settlement, unmatched_deposit to opentill_tracker;
grant select, insert on incident, asset_hold, notification to opentill_tracker;
grant update (details, closed_at) on incident to opentill_tracker;
grant insert (ref, kind, order_pk, created_at) on ledger_transaction to opentill_tracker;
grant insert on ledger_posting to opentill_tracker;
grant execute on function ledger_account_for(text, text, text, text) to opentill_tracker;

-- payout-signer
grant select on orders, chain_cursor, transfer, asset_hold, ledger_account to opentill_signer;

-- webhook-sender
grant select (merchant_id, webhook_secret_sealed, callback_url, enabled, updated_at) on merchant to opentill_webhook;
grant select on notification to opentill_webhook;
grant select, insert, update on delivery to opentill_webhook;
grant select, insert on delivery_attempt to opentill_webhook;

-- ops
grant select, insert, update on merchant to opentill_ops;
grant select on all tables in schema public to opentill_ops;
grant select, insert on rescan_request to opentill_ops;
grant update (released_at) on asset_hold to opentill_ops;
grant execute on function replay_delivery(uuid), book_top_up(text, text, text, numeric) to opentill_ops;
`;
