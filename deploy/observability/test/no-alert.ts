/** Metrics that raise no alert, by the reason. A test sorts every metric of the code into an alert or one of these. */
export const NO_ALERT: Readonly<Record<string, readonly string[]>> = {
  'amount of work, without a healthy range': [
    'opentill_api_order_streams_count',
    'opentill_api_orders_created_total',
    'opentill_api_signatures_accepted_total',
    'opentill_event_handling_seconds',
    'opentill_events_consumed_total',
    'opentill_events_in_flight_count',
    'opentill_ops_acts_total',
    'opentill_ops_request_duration_seconds',
    'opentill_outbox_published_total',
    'opentill_scanner_commits_total',
    'opentill_scanner_own_fates_changed_total',
    'opentill_scanner_own_transactions_open_count',
    'opentill_scanner_rpc_bytes_total',
    'opentill_scanner_rpc_calls_total',
    'opentill_scanner_transfers_total',
    'opentill_signer_payout_nonces_final_total',
    'opentill_signer_payout_passes_total',
    'opentill_signer_payout_sends_total',
    'opentill_signer_payout_transactions_signed_total',
    'opentill_signer_payouts_authorised_total',
    'opentill_signer_payouts_in_flight_count',
    'opentill_signer_payouts_unsigned_count',
    'opentill_signer_payouts_sent_total',
    'opentill_signer_sweeps_open_count',
    'opentill_signer_sweeps_planned_total',
    'opentill_tracker_orders_moved_total',
    'opentill_tracker_top_ups_booked_total',
    'opentill_webhook_attempt_duration_seconds',
    'opentill_webhook_deliveries_queued_total',
  ],
  'the scanner evaluates it, and raises opentill_scanner_alarm_bool': [
    'opentill_scanner_compared_ranges_total',
    'opentill_scanner_errors_total',
    'opentill_scanner_halted_bool',
    'opentill_scanner_head_age_seconds',
    'opentill_scanner_head_height_blocks',
    'opentill_scanner_judged_blocks_total',
    'opentill_scanner_own_transaction_unmined_age_seconds',
    'opentill_scanner_rpc_duration_seconds',
    'opentill_scanner_seen_height_blocks',
    'opentill_scanner_verified_age_seconds',
    'opentill_scanner_verified_height_blocks',
  ],
  'the signer evaluates it, and raises an alarm of the wallet or of sweeps': [
    'opentill_signer_foreign_deposit_address_bool',
    'opentill_signer_hot_wallet_base_units',
    'opentill_signer_sweep_oldest_open_seconds',
    'opentill_signer_sweep_rents_unused_count',
    'opentill_signer_sweep_top_ups_unused_count',
    'opentill_signer_sweeps_failed_count',
  ],
  'normal on a chain or with customers; a board shows its rate': [
    'opentill_scanner_reorganisation_depth_blocks',
    'opentill_scanner_reorganisations_total',
    'opentill_signer_payout_attempts_dead_total',
    'opentill_signer_payouts_refused_total',
    'opentill_signer_sweeps_waiting_count',
    'opentill_tracker_unmatched_deposits_total',
    'opentill_webhook_attempts_total',
  ],
  'another metric alerts on its effect': [
    'opentill_rates_peg_distance_ratio', // a depegged coin
    'opentill_rates_source_answers_total', // a refused rate
    'opentill_database_connections_count', // callers that wait
    'opentill_outbox_failures_total', // lag of the outbox
    'opentill_outbox_waiting_count', // lag of the outbox
    'opentill_signer_payouts_hindered_total', // oldest unsigned payout
    'opentill_tracker_database_size_bytes', // the disk's own alert
    'opentill_tracker_fates_swept_total', // oldest unsettled outcome
    'opentill_tracker_incidents_total', // open incidents
    'opentill_tracker_order_settlement_seconds', // oldest unsettled transfer
    'opentill_tracker_transfers_swept_total', // unsettled transfers
    'opentill_webhook_endpoint_changes_total', // unwell endpoints
  ],
};
