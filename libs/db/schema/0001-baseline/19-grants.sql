-- The rights of each role. docs/architecture/database.md names the writer of each table; libs/db/test/grants.test.ts
-- checks both.

-- api
grant usage on schema ops, scanner_evm, scanner_sui, scanner_tron, signer, tracker, webhook to opentill_api;
grant select, insert, delete on request_nonce to opentill_api;
grant select, insert, update, delete on rate_counter to opentill_api;
grant select on orders, notification, chain_cursor, transfer, unmatched_deposit, chain_status, hot_wallet, payout,
  own_transaction_fate, movement, ops.lease, scanner_evm.lease, scanner_sui.lease, scanner_tron.lease, signer.lease, tracker.lease,
  webhook.lease to opentill_api;
grant select, insert on deposit_address to opentill_api;
grant select (merchant_id, name, version, sign_version, token_sealed, return_origins, order_ttl_seconds,
  underpayment_tolerance_bps, late_grace_seconds, logo, logo_type, logo_hash, accent_color, support_url, support_email,
  shop_url, rate_limits, enabled, created_at, updated_at) on merchant to opentill_api;
grant insert (order_pk, merchant_id, order_id, order_type, uid, chain, family, symbol, contract_address, decimals,
  display_decimals, amount, accepted_amount, address, source_address, confirmations_required, late_grace_seconds,
  return_url, description, signed_data_hash, traceparent, created_at, expires_at) on orders to opentill_api;
grant insert (event_id, merchant_id, subject_id, sequence, notify_type, data, traceparent, occurred_at) on notification to
  opentill_api;
grant select (transfer_id, credited) on transfer_settlement to opentill_api;
grant select (chain, tx_hash, family, wallet, nonce, purpose, order_pk, contract_address, to_address, amount,
  fee_terms, signed_at, first_sent_at, last_sent_at, send_outcome) on own_transaction to opentill_api;
grant usage on sequence deposit_index_evm, deposit_index_sui, deposit_index_tron to opentill_api;
grant execute on function create_collections(jsonb), create_order_row(jsonb), create_payout(jsonb),
  oldest_transaction_seconds(), read_new_order(jsonb), reserve(uuid), spend_nonce(text, text, timestamptz) to opentill_api;
grant select, insert on new_order to opentill_api;

-- scanner-evm
grant select on deposit_address, chain_family, rescan_request, chain_pause, hot_wallet, wallet_nonce, payout_attempt
  to opentill_scanner_evm;
grant select, insert, update on chain_cursor, transfer, chain_status, own_transaction_fate to opentill_scanner_evm;
grant select, insert, update, delete on block to opentill_scanner_evm;
grant select (order_pk, traceparent) on orders to opentill_scanner_evm;
grant update (done_at, found, next_height) on rescan_request to opentill_scanner_evm;
grant select (chain, tx_hash, family, wallet, nonce, purpose, order_pk, contract_address, to_address, amount,
  fee_terms, signed_at, first_sent_at, last_sent_at, send_outcome) on own_transaction to opentill_scanner_evm;
grant execute on function is_chain_awaited(text), oldest_transaction_seconds() to opentill_scanner_evm;

-- scanner-tron
grant select on deposit_address, chain_family, rescan_request, chain_pause, hot_wallet, wallet_nonce, payout_attempt
  to opentill_scanner_tron;
grant select, insert, update on chain_cursor, transfer, chain_status, own_transaction_fate to opentill_scanner_tron;
grant select, insert, update, delete on block to opentill_scanner_tron;
grant select, insert on foreign_transaction, foreign_transfer to opentill_scanner_tron;
grant select (order_pk, traceparent) on orders to opentill_scanner_tron;
grant update (done_at, found, next_height) on rescan_request to opentill_scanner_tron;
grant select (chain, tx_hash, family, wallet, nonce, purpose, order_pk, contract_address, to_address, amount,
  fee_terms, signed_at, first_sent_at, last_sent_at, send_outcome) on own_transaction to opentill_scanner_tron;
grant execute on function is_chain_awaited(text), oldest_transaction_seconds() to opentill_scanner_tron;

-- scanner-sui
grant select on deposit_address, chain_family, rescan_request, chain_pause, hot_wallet, wallet_nonce, payout_attempt,
  restore_hold to opentill_scanner_sui;
grant select, insert, update on chain_cursor, transfer, chain_status, own_transaction_fate to opentill_scanner_sui;
grant select, insert, update, delete on block to opentill_scanner_sui;
grant select, insert on epoch_end, epoch_committee, own_transaction_landed, foreign_transaction, foreign_transfer to
  opentill_scanner_sui;
grant select (order_pk, traceparent) on orders to opentill_scanner_sui;
grant update (done_at, found, next_height) on rescan_request to opentill_scanner_sui;
grant update (end_height, end_hash) on epoch_committee to opentill_scanner_sui;
grant select (chain, tx_hash, family, wallet, nonce, purpose, order_pk, contract_address, to_address, amount,
  fee_terms, signed_at, first_sent_at, last_sent_at, send_outcome) on own_transaction to opentill_scanner_sui;
grant execute on function is_chain_awaited(text), oldest_transaction_seconds() to opentill_scanner_sui;

-- confirmation-tracker
grant select on orders, deposit_address, notification, chain_cursor, block, transfer, order_decision, collection_sum,
  collection_height_sum, collection_away, relocated_transfer, ledger_account, ledger_transaction, hot_wallet, payout,
  own_transaction_fate, own_transaction_settlement, deposit_balance, sweep, movement to opentill_tracker;
grant select, insert, update on transfer_settlement, unmatched_deposit to opentill_tracker;
grant select, insert on incident, asset_hold, ledger_posting to opentill_tracker;
grant select (merchant_id, notify_reverted, notify_unmatched, enabled) on merchant to opentill_tracker;
grant update (status, reason, detected_amount, actual_amount, version, updated_at, late_callback_at,
  late_callback_due_at, unmatched_callback_at, unmatched_callback_due_at) on orders to opentill_tracker;
grant insert (event_id, merchant_id, subject_id, sequence, notify_type, data, traceparent, occurred_at) on notification to
  opentill_tracker;
grant update (details, closed_at) on incident to opentill_tracker;
grant update (handled_at, outcome) on order_decision to opentill_tracker;
grant insert (ref, kind, order_pk, created_at) on ledger_transaction to opentill_tracker;
grant select (chain, tx_hash, family, wallet, nonce, purpose, order_pk, contract_address, to_address, amount,
  fee_terms, signed_at, first_sent_at, last_sent_at, send_outcome) on own_transaction to opentill_tracker;
grant execute on function attempt_is_decided(uuid), expire_payouts(uuid[]), ledger_account_for(text, text, text,
  text), make_gas_payable(text, text), oldest_transaction_seconds(), payout_may_move(uuid),
  settle_hot_wallet_deposits(jsonb), settle_network_fees(jsonb), settle_payout_money(uuid[]) to opentill_tracker;

-- payout-signer
grant select on orders, deposit_address, chain_cursor, block, transfer, epoch_end, epoch_committee, unmatched_deposit,
  asset_hold, ledger_account, ledger_transaction, ledger_posting, hot_wallet, payout, payout_attempt,
  own_transaction_fate, own_transaction_landed, own_transaction_settlement, wallet_halt, payout_approval, payout_veto,
  payout_decision, restoration, skipped_index, restore_hold, doubtful_payout, foreign_transaction, foreign_transfer,
  deposit_balance, movement, sweep_pause, sweep_request to opentill_signer;
grant select, insert on foreign_deposit_address, own_transaction to opentill_signer;
grant select, insert, update on chain_status, hot_wallet_balance, wallet_nonce, signer.policy_windows, sweep,
  sweep_plan to opentill_signer;
grant update (state, expires_at, waiting_since, authorised_at, first_sent_at, reason, obstacle, obstacle_at,
  fencing_token, version, updated_at) on payout to opentill_signer;
grant update (first_sent_at, last_sent_at, send_outcome) on own_transaction to opentill_signer;
grant insert (chain, tx_hash, wallet, order_pk, unique_ms, expires_ms, reference_height, reference_hash, first_epoch,
  last_epoch), update (state, dead_height, dead_hash, updated_at) on payout_attempt to opentill_signer;
grant insert (halt_id, chain, wallet, kind, mark, reason, set_by, set_at) on wallet_halt to opentill_signer;
grant update (handled_at, outcome, detail) on payout_decision to opentill_signer;
grant select (chain, tx_hash, restore_id, wallet, nonce, contract_address, to_address, amount, block_height,
  block_time, found_at, decision, order_pk, decided_by, decided_reason, decided_at, guards) on forgotten_payment to
  opentill_signer;
grant update (halt_id) on foreign_transaction to opentill_signer;
grant update (handled_at, planned) on sweep_request to opentill_signer;
grant execute on function attempt_is_decided(uuid), attempt_is_over(text, bigint, bigint), chain_over_ms(text),
  may_be_paid_by_foreign(uuid), may_have_been_paid(uuid), oldest_transaction_seconds(), payout_may_move(uuid),
  plan_movement(jsonb), why_epochs_unproven(text, bigint, bigint) to opentill_signer;

-- webhook-sender
grant select on notification to opentill_webhook;
grant select, insert, update on delivery, callback_endpoint to opentill_webhook;
grant select, insert on delivery_attempt to opentill_webhook;
grant select (merchant_id, webhook_secret_sealed, callback_url, enabled, updated_at, webhook_secret_next_sealed,
  webhook_secret_switch_at) on merchant to opentill_webhook;
grant execute on function callbacks_due_now(text), delivery_blocks(delivery), forget_ended_callbacks(interval,
  timestamptz, uuid, integer), oldest_transaction_seconds(), roll_delivery_attempts(interval) to opentill_webhook;

-- ops
grant usage on schema api, scanner_evm, scanner_sui, scanner_tron, signer, tracker, webhook to opentill_ops;
grant select on schema_migration, request_nonce, rate_counter, audit_entry, orders, deposit_address,
  foreign_deposit_address, notification, chain_family, chain_cursor, block, transfer, chain_status, epoch_end,
  epoch_committee, transfer_settlement, unmatched_deposit, incident, asset_hold, order_decision, collection_sum,
  collection_height_sum, collection_away, relocated_transfer, ledger_account, ledger_transaction, ledger_posting,
  hot_wallet_balance, payout, wallet_nonce, payout_attempt, own_transaction_fate, own_transaction_landed,
  own_transaction_settlement, wallet_halt, payout_decision, restoration, skipped_index, restore_hold, doubtful_payout,
  foreign_transaction, foreign_transfer, deposit_balance, sweep, movement, sweep_plan, sweep_request, hand_booking,
  delivery, delivery_attempt, callback_endpoint, api.lease, scanner_evm.lease, scanner_sui.lease, scanner_tron.lease,
  signer.lease, tracker.lease, webhook.lease to opentill_ops;
grant insert, update on merchant to opentill_ops;
grant select, insert on operator, rescan_request, hot_wallet, payout_approval, payout_veto to opentill_ops;
grant select, insert, delete on chain_pause, sweep_pause to opentill_ops;
grant select (merchant_id, name, version, sign_version, callback_url, return_origins, order_ttl_seconds,
  underpayment_tolerance_bps, late_grace_seconds, notify_reverted, notify_unmatched, logo_type, logo_hash, accent_color,
  support_url, support_email, shop_url, rate_limits, enabled, created_at, updated_at, webhook_secret_switch_at) on
  merchant to opentill_ops;
grant update (name, role, token_hash, disabled_at) on operator to opentill_ops;
grant insert (operator, action, subject, outcome, details, request_id) on audit_entry to opentill_ops;
grant update (closed_at, closed_by, closed_reason) on incident to opentill_ops;
grant insert (hold_id, chain, symbol, reason, set_at, set_by), update (released_at, released_by, released_reason) on
  asset_hold to opentill_ops;
grant insert (decision_id, order_pk, decision, reason, operator, decided_at, transfer_id, transfer_symbol,
  transfer_amount, worth) on order_decision to opentill_ops;
grant update (label) on hot_wallet to opentill_ops;
grant select (chain, tx_hash, family, wallet, nonce, purpose, order_pk, contract_address, to_address, amount,
  fee_terms, signed_at, first_sent_at, last_sent_at, send_outcome) on own_transaction to opentill_ops;
grant insert (halt_id, chain, wallet, kind, reason, set_by, set_at), update (released_at, released_by,
  released_reason) on wallet_halt to opentill_ops;
grant insert (decision_id, order_pk, nonce, decision, tx_hash, reason, operator, decided_at, unproven_tx_hash), update
  (reason, operator, decided_at, unproven_tx_hash) on payout_decision to opentill_ops;
grant select (chain, tx_hash, restore_id, wallet, nonce, contract_address, to_address, amount, block_height,
  block_time, found_at, decision, order_pk, decided_by, decided_reason, decided_at, guards) on forgotten_payment to
  opentill_ops;
grant insert (chain, operator) on sweep_request to opentill_ops;
grant execute on function book_covered_top_up(text, text, text, text, numeric), book_gas_top_up(text, text, text,
  numeric), book_measured_top_up(text, text, text, text, numeric, bigint, numeric), book_top_up(text, text, text,
  numeric), finish_webhook_secret(text), hand_bookings_of(bigint), may_be_paid_by_foreign(uuid),
  may_have_been_paid(uuid), oldest_transaction_seconds(), overlap_webhook_secret(text, bytea, integer),
  payout_may_move(uuid), refund_deposit(jsonb), replay_deliveries(uuid[], text[], timestamptz, timestamptz),
  replay_delivery(uuid), reset_callback_endpoint(text), reverse_top_up(text), why_epochs_unproven(text, bigint,
  bigint) to opentill_ops;
