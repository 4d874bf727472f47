export interface AlertCase {
  readonly alert: string;
  /** Series in promtool's notation, one sample a minute. The alert fires at `at`, and not before the fault. */
  readonly series: Readonly<Record<string, string>>;
  readonly at: string;
  /** Labels of the firing alert without its name and severity. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Series of a healthy gateway that come close: no alert fires at any minute. */
  readonly silent: Readonly<Record<string, string>>;
}

/** Without them the alerts for missing services fire. */
export const PRESENT: Readonly<Record<string, string>> = {
  'opentill_outbox_lag_seconds{service="api"}': '0x180',
  'opentill_outbox_lag_seconds{service="payout-signer"}': '0x180',
  'opentill_outbox_lag_seconds{service="ops"}': '0x180',
  'opentill_webhook_oldest_due_seconds{service="webhook-sender"}': '0x180',
  'opentill_tracker_chain_cursor_age_seconds{chain="ETH"}': '1x180',
  opentill_rates_interval_seconds: '30x180',
};

const UP = 'up{job="opentill", instance="api:3020"}';
const STARTED = 'process_start_time_seconds{job="opentill", instance="api:3020"}';
const TURNS = 'nodejs_eventloop_lag_p99_seconds{job="opentill", instance="api:3020"}';
const requests = (code: number) =>
  `opentill_api_request_duration_seconds_count{route="POST /v1", code="${code}"}`;
const took = (le: string) =>
  `opentill_api_request_duration_seconds_bucket{route="POST /v1", code="200", le="${le}"}`;
const check = (service: string, name: string) =>
  `opentill_health_check_bool{service="${service}", check="${name}", instance="${service}:3020"}`;
const chainState = (state: string, replica = 'a') =>
  `opentill_scanner_chain_state_bool{chain="ETH", state="${state}", instance="${replica}"}`;
const chainAlarm = (kind: string) => `opentill_scanner_alarm_bool{chain="ETH", kind="${kind}"}`;
const walletAlarm = (kind: string) => `opentill_signer_payout_alarm_bool{chain="ETH", kind="${kind}"}`;
const ofEth = (metric: string) => `${metric}{chain="ETH"}`;

const HEIGHT = ofEth('opentill_scanner_head_height_blocks');
const CURSOR_AGE = ofEth('opentill_tracker_chain_cursor_age_seconds');

const oldestAtFull = (replica: string) =>
  `opentill_webhook_oldest_due_at_full_endpoint_seconds{instance="${replica}"}`;
const oldestDue = (replica: string) =>
  `opentill_webhook_oldest_due_seconds{service="webhook-sender", instance="${replica}"}`;
const DUE_OF_SENDER = 'opentill_webhook_oldest_due_seconds{service="webhook-sender"}';

const INSTALLED = ['api', 'payout-signer', 'ops'] as const;

/** Series of a healthy installation with a namespace; those of `changed` instead. */
function installation(
  namespace: string,
  changed: Partial<Record<(typeof INSTALLED)[number] | 'up' | 'cursor age', string>> = {},
): Readonly<Record<string, string>> {
  return {
    [`up{job="opentill", namespace="${namespace}"}`]: changed.up ?? '1x180',
    ...Object.fromEntries(
      INSTALLED.map((service) => [
        `opentill_outbox_lag_seconds{namespace="${namespace}", service="${service}"}`,
        changed[service] ?? '0x180',
      ]),
    ),
    [`opentill_webhook_oldest_due_seconds{namespace="${namespace}", service="webhook-sender"}`]: '0x180',
    [`opentill_rates_interval_seconds{namespace="${namespace}"}`]: '30x180',
    [`opentill_tracker_chain_cursor_age_seconds{namespace="${namespace}", chain="ETH"}`]:
      changed['cursor age'] ?? '1x180',
  };
}

export const ALERT_CASES: readonly AlertCase[] = [
  {
    alert: 'OpentillTargetDown',
    series: { [UP]: '1x2 0x5' },
    at: '6m',
    labels: { job: 'opentill', instance: 'api:3020' },
    silent: { [UP]: '1x2 0x1 1x5', 'up{job="other"}': '0x9' },
  },
  {
    alert: 'OpentillServiceMissing',
    series: {
      'opentill_outbox_lag_seconds{service="api"}': '0 stale',
      'opentill_outbox_lag_seconds{service="ops"}': '0x9',
    },
    at: '5m',
    labels: { service: 'api' },
    silent: { 'opentill_outbox_lag_seconds{service="api"}': '0 stale _ 0x9' },
  },
  {
    alert: 'OpentillServiceMissing',
    series: { ...installation('test'), ...installation('prod', { api: '0 stale' }) },
    at: '5m',
    labels: { namespace: 'prod', service: 'api' },
    silent: { ...installation('test'), ...installation('prod', { api: '0 stale _ 0x180' }) },
  },
  {
    alert: 'OpentillServiceMissing',
    series: {
      ...installation('test'),
      ...installation('prod', { up: '1 stale', 'cursor age': '1 stale' }),
    },
    at: '5m',
    labels: { namespace: 'prod', service: 'confirmation-tracker' },
    silent: { ...installation('test'), ...installation('prod', { 'cursor age': '1 stale _ 1x180' }) },
  },
  {
    alert: 'OpentillPayoutSignerMissing',
    series: { 'opentill_outbox_lag_seconds{service="payout-signer"}': '0 stale' },
    at: '8m',
    labels: { service: 'payout-signer' },
    silent: { 'opentill_outbox_lag_seconds{service="payout-signer"}': '0 stale _ _ 0x9' },
  },
  {
    alert: 'OpentillOpsMissing',
    series: { 'opentill_outbox_lag_seconds{service="ops"}': '0 stale' },
    at: '18m',
    labels: { service: 'ops' },
    silent: { 'opentill_outbox_lag_seconds{service="ops"}': '0 stale _x11 0x9' },
  },
  {
    alert: 'OpentillRatesMissing',
    series: { opentill_rates_interval_seconds: '30 stale' },
    at: '18m',
    labels: { service: 'rates' },
    silent: { opentill_rates_interval_seconds: '30 stale _x11 30x9' },
  },
  {
    alert: 'OpentillApiNotReady',
    series: { [check('api', 'database')]: '1x1 0x4', [check('ops', 'database')]: '0x2 1x4' },
    at: '4m',
    labels: { instance: 'api:3020', check: 'database' },
    silent: { [check('api', 'database')]: '1 0 1x8', [check('ops', 'database')]: '1 0x3 1x9' },
  },
  {
    alert: 'OpentillApiNotReady',
    series: { [check('gateway', 'api: database')]: '1x1 0x4' },
    at: '4m',
    labels: { instance: 'gateway:3020', check: 'api: database' },
    silent: { [check('gateway', 'ops: database')]: '1 0x3 1x9' },
  },
  {
    alert: 'OpentillCheckFailing',
    series: { [check('webhook-sender', 'broker')]: '1x1 0x8' },
    at: '8m',
    labels: { service: 'webhook-sender', instance: 'webhook-sender:3020', check: 'broker' },
    silent: { [check('webhook-sender', 'broker')]: '1x1 0x4 1x9' },
  },
  {
    alert: 'OpentillRestarting',
    series: { [STARTED]: '1 1 100 100 200 200 300 300' },
    at: '7m',
    labels: { job: 'opentill', instance: 'api:3020' },
    silent: { [STARTED]: '1 1 100 100 200x30' },
  },
  {
    alert: 'OpentillEventLoopSlow',
    series: { [TURNS]: '0.01 0.9x14' },
    at: '13m',
    labels: { job: 'opentill', instance: 'api:3020' },
    silent: { [TURNS]: '0.9x8 0.4x9' },
  },
  {
    alert: 'OpentillApiErrors',
    series: { [requests(200)]: '0+60x30', [requests(500)]: '0x10 6+6x19' },
    at: '22m',
    silent: { [requests(200)]: '0+600x30', [requests(503)]: '0+1x30', [requests(400)]: '0+99x30' },
  },
  {
    alert: 'OpentillApiErrors',
    series: { [requests(500)]: '0x5 6+6x19' },
    at: '20m',
    silent: { [requests(500)]: '7x30' },
  },
  {
    alert: 'OpentillApiSlow',
    series: { [took('1')]: '0+90x40', [took('5')]: '0+100x40', [took('+Inf')]: '0+100x40' },
    at: '20m',
    silent: { [took('1')]: '0+100x40', [took('5')]: '0+100x40', [took('+Inf')]: '0+100x40' },
  },
  {
    alert: 'OpentillDepositAddressesMissing',
    series: { 'opentill_api_deposit_addresses_ready_count{family="EVM"}': '5 0x9' },
    at: '5m',
    labels: { family: 'EVM' },
    silent: {
      'opentill_api_deposit_addresses_ready_count{family="EVM", instance="a"}': '0x9',
      'opentill_api_deposit_addresses_ready_count{family="EVM", instance="b"}': '5x9',
    },
  },
  {
    alert: 'OpentillSignInsFailing',
    series: { 'opentill_ops_authentication_failures_total{why="unknown"}': '0+5x10' },
    at: '9m',
    labels: { why: 'unknown' },
    silent: { 'opentill_ops_authentication_failures_total{why="unknown"}': '0+1x30' },
  },
  {
    alert: 'OpentillIncident',
    series: {
      'opentill_tracker_incidents_open_count{chain="ETH", kind="PAYOUT_SHORT", instance="a"}': '_ 1x5',
    },
    at: '1m',
    labels: { chain: 'ETH', kind: 'PAYOUT_SHORT' },
    silent: { 'opentill_tracker_incidents_open_count{chain="ETH", kind="PAYOUT_SHORT"}': '0x9' },
  },
  {
    alert: 'OpentillForeignDepositAddress',
    series: { 'opentill_signer_foreign_deposit_addresses_count{family="EVM"}': '0 1x5' },
    at: '1m',
    labels: { family: 'EVM' },
    silent: { 'opentill_signer_foreign_deposit_addresses_count{family="EVM"}': '0x9' },
  },
  {
    alert: 'OpentillOrderNotSettled',
    series: { opentill_tracker_orders_not_settled_total: '0 0 1x20' },
    at: '4m',
    silent: { opentill_tracker_orders_not_settled_total: '7x20' },
  },
  {
    alert: 'OpentillTransfersUnsettled',
    series: { opentill_tracker_transfers_unsettled_count: '0 3x9' },
    at: '7m',
    silent: { opentill_tracker_transfers_unsettled_count: '0 3x4 0 2x3 0x9' },
  },
  {
    alert: 'OpentillSettlementLate',
    series: { 'opentill_tracker_oldest_due_seconds{work="transfers"}': '0 61+60x9' },
    at: '4m',
    labels: { work: 'transfers' },
    silent: { 'opentill_tracker_oldest_due_seconds{work="transfers"}': '0 61x1 5 60x9' },
  },
  {
    alert: 'OpentillChainStopped',
    series: { [chainState('HALTED')]: '0 1x5', [chainState('RUNNING')]: '1 0x5', [HEIGHT]: '1x9' },
    at: '3m',
    labels: { chain: 'ETH', state: 'HALTED' },
    silent: {
      [chainState('FAILING')]: '0 1 0x9',
      [chainState('PAUSED')]: '1x9',
      [chainState('STARTING')]: '1x9',
      [HEIGHT]: '1x9',
    },
  },
  {
    alert: 'OpentillChainNotScanned', // the only scanner of the chain disappears
    series: {
      [chainState('RUNNING')]: '1 stale',
      [HEIGHT]: '5 stale',
      'up{job="opentill", instance="scanner"}': '1 stale',
      [CURSOR_AGE]: '1 60 121+60x9',
    },
    at: '5m',
    labels: { chain: 'ETH' },
    silent: { [CURSOR_AGE]: '120x9', [chainState('RUNNING')]: '1x9' },
  },
  {
    alert: 'OpentillChainNotScanned',
    series: { [CURSOR_AGE]: '1 60 121+60x9' },
    at: '5m',
    labels: { chain: 'ETH' },
    // A paused chain's scanner was restarted: it exports no height.
    silent: { [CURSOR_AGE]: '1+60x20', [chainState('PAUSED')]: '1x20', [chainState('RUNNING')]: '0x20' },
  },
  {
    alert: 'OpentillChainNeverScanned',
    series: {
      [CURSOR_AGE]: '1 Inf Inf Inf Inf Inf Inf Inf Inf',
      [`${CURSOR_AGE.slice(0, -1)}, instance="b"}`]: '1x9',
    },
    at: '8m',
    labels: { chain: 'ETH' },
    silent: { [CURSOR_AGE]: 'Inf Inf Inf Inf 5x9' }, // its image is pulled for 3 minutes
  },
  {
    alert: 'OpentillChainNotScanned', // another installation reads and pauses it
    series: {
      ...installation('test', { 'cursor age': '1x20' }),
      'opentill_scanner_chain_state_bool{namespace="test", chain="ETH", state="PAUSED"}': '1x20',
      ...installation('prod', { 'cursor age': '1 60 121+60x9' }),
    },
    at: '5m',
    labels: { namespace: 'prod', chain: 'ETH' },
    silent: { ...installation('test', { 'cursor age': '60x180' }), ...installation('prod') },
  },
  {
    alert: 'OpentillChainAlarm',
    series: { [chainAlarm('head-stale')]: '0 1x9', [chainAlarm('source-down')]: '0 1x9' },
    at: '7m',
    labels: { chain: 'ETH', kind: 'head-stale' },
    silent: { [chainAlarm('head-stale')]: '0 1x4 0x9', [chainAlarm('source-down')]: '1x9' },
  },
  {
    alert: 'OpentillChainWarning',
    series: { [chainAlarm('single-source')]: '0 1x20' },
    at: '17m',
    labels: { chain: 'ETH', kind: 'single-source' },
    silent: { [chainAlarm('single-source')]: '0 1x13 0x9' },
  },
  {
    alert: 'OpentillTransfersContradicted',
    series: { 'opentill_scanner_contradictions_total{chain="ETH", kind="rescan"}': '0 0 1x9' },
    at: '3m',
    labels: { chain: 'ETH', kind: 'rescan' },
    silent: { 'opentill_scanner_contradictions_total{chain="ETH", kind="rescan"}': '4x30' },
  },
  {
    alert: 'OpentillScannerLosesLeases',
    series: { [ofEth('opentill_scanner_refused_commits_total')]: '0+3x9' },
    at: '8m',
    labels: { chain: 'ETH' },
    silent: { [ofEth('opentill_scanner_refused_commits_total')]: '0 0 3x30' },
  },
  {
    alert: 'OpentillWalletAlarm',
    series: { [walletAlarm('forged')]: '0 1x5', [walletAlarm('low-balance')]: '0 1x5' },
    at: '3m',
    labels: { chain: 'ETH', kind: 'forged' },
    silent: { [walletAlarm('forged')]: '0 1 0x9' },
  },
  {
    alert: 'OpentillWalletWarning',
    series: { [walletAlarm('low-balance')]: '0 1x9' },
    at: '7m',
    labels: { chain: 'ETH', kind: 'low-balance' },
    silent: { [walletAlarm('low-balance')]: '0 1x4 0x9' },
  },
  {
    alert: 'OpentillWalletWithoutSigner',
    series: {
      'opentill_signer_payout_leader_bool{chain="ETH", wallet="0x1", instance="a"}': '1 0x9',
      'opentill_signer_payout_leader_bool{chain="ETH", wallet="0x1", instance="b"}': '0x9',
    },
    at: '4m',
    labels: { chain: 'ETH', wallet: '0x1' },
    silent: {
      'opentill_signer_payout_leader_bool{chain="ETH", wallet="0x1", instance="a"}': '1 0x9',
      'opentill_signer_payout_leader_bool{chain="ETH", wallet="0x1", instance="b"}': '0 1x9',
    },
  },
  {
    alert: 'OpentillPayoutStuck',
    series: { [ofEth('opentill_signer_payout_oldest_in_flight_seconds')]: '500 601x5' },
    at: '3m',
    labels: { chain: 'ETH' },
    silent: { [ofEth('opentill_signer_payout_oldest_in_flight_seconds')]: '600x9' },
  },
  {
    alert: 'OpentillNonceGap',
    series: { [ofEth('opentill_signer_payout_nonce_gap_seconds')]: '300 301x5' },
    at: '1m',
    labels: { chain: 'ETH' },
    silent: { [ofEth('opentill_signer_payout_nonce_gap_seconds')]: '300x9' },
  },
  {
    alert: 'OpentillPayoutsWaiting',
    series: { [ofEth('opentill_signer_payout_oldest_unsigned_seconds')]: '0 1801x5' },
    at: '1m',
    labels: { chain: 'ETH' },
    silent: { [ofEth('opentill_signer_payout_oldest_unsigned_seconds')]: '1800x40' },
  },
  {
    alert: 'OpentillSignerStepsFailing',
    series: { 'opentill_signer_payout_step_failures_total{chain="ETH", step="sign"}': '0+10x40' },
    at: '20m',
    labels: { chain: 'ETH', step: 'sign' },
    silent: { 'opentill_signer_payout_step_failures_total{chain="ETH", step="sign"}': '0+10x10 100x30' },
  },
  {
    alert: 'OpentillSweepAlarm',
    series: { 'opentill_signer_sweep_alarm_bool{chain="ETH", kind="sweep-stuck"}': '0 1x9' },
    at: '7m',
    labels: { chain: 'ETH', kind: 'sweep-stuck' },
    silent: { 'opentill_signer_sweep_alarm_bool{chain="ETH", kind="sweep-stuck"}': '0x9' },
  },
  {
    alert: 'OpentillMoneyUnswept',
    series: { [ofEth('opentill_signer_sweep_oldest_unswept_seconds')]: '100 172801x9' },
    at: '2m',
    labels: { chain: 'ETH' },
    silent: { [ofEth('opentill_signer_sweep_oldest_unswept_seconds')]: '172800x9' },
  },
  {
    alert: 'OpentillCallbackEndpointSlow',
    // Each sample without a full shop is one between two attempts.
    series: { [oldestAtFull('a')]: '0 901x2 0 901x4 0 901x20', [oldestAtFull('b')]: '0x28' },
    at: '18m',
    silent: { [oldestAtFull('a')]: '0 901x8 0x12 901x8 0x20' },
  },
  {
    alert: 'OpentillCallbacksStuck', // the only shop: its slots are full because the sender is slow
    series: { [oldestAtFull('a')]: '0 1801x2 0 1801x14', [oldestAtFull('b')]: '0x18' },
    at: '13m',
    silent: { [oldestAtFull('a')]: '1000 1800x8 0x20', [oldestAtFull('b')]: '0x4 1801 0x20' },
  },
  {
    alert: 'OpentillCallbacksLate',
    series: {
      [oldestDue('a')]: '0 301x9',
      [oldestDue('b')]: '0 301x9',
      [DUE_OF_SENDER]: '0 NaN NaN NaN NaN NaN NaN',
    },
    at: '6m',
    silent: { [DUE_OF_SENDER]: '0 301x1 300x9' },
  },
  {
    alert: 'OpentillCallbacksLate',
    series: { [DUE_OF_SENDER]: '0 301x9' },
    at: '6m',
    // A shop with full slots: a replica often measures between two attempts, and another one starts then.
    silent: {
      [oldestDue('a')]: '0 3600x1 0 3600x1 0 3600 0 3600x1 0x9',
      [oldestDue('b')]: '3600 0 3600x1 0 3600x1 0 3600 0x10',
      [oldestDue('c')]: '_x4 3600x1 0 3600 0x9',
      [DUE_OF_SENDER]: '0 stale',
    },
  },
  {
    alert: 'OpentillCallbackFault',
    series: { 'opentill_webhook_own_faults_total{fault="RESOLVER_DOWN"}': '0 0 2x9' },
    at: '3m',
    labels: { fault: 'RESOLVER_DOWN' },
    silent: { 'opentill_webhook_own_faults_total{fault="RESOLVER_DOWN"}': '2x9' },
  },
  {
    alert: 'OpentillCallbackWithoutAddress',
    series: { opentill_webhook_deliveries_unaddressed_total: '0 0 2x9' },
    at: '3m',
    silent: { opentill_webhook_deliveries_unaddressed_total: '2x9' },
  },
  {
    alert: 'OpentillCallbackEndpointDisabled',
    series: {
      'opentill_webhook_endpoints_unwell_count{state="DISABLED"}': '0 1x20',
      'opentill_webhook_endpoints_unwell_count{state="OPEN"}': '3x20',
    },
    at: '17m',
    silent: { 'opentill_webhook_endpoints_unwell_count{state="DISABLED"}': '0 1x13 0x9' },
  },
  {
    alert: 'OpentillCallbackEndpointPaused',
    series: { 'opentill_webhook_endpoints_unwell_count{state="OPEN"}': '0 1x70' },
    at: '62m',
    silent: { 'opentill_webhook_endpoints_unwell_count{state="OPEN"}': '0 1x58 0x9' },
  },
  {
    alert: 'OpentillCallbackLeasesLost',
    series: { opentill_webhook_claims_lost_total: '0 0 1x9' },
    at: '3m',
    silent: { opentill_webhook_claims_lost_total: '1x9' },
  },
  {
    alert: 'OpentillCoinDepegged',
    series: { 'opentill_rates_depegged_bool{symbol="USDT"}': '0 0 1x9' },
    at: '3m',
    labels: { symbol: 'USDT' },
    silent: { 'opentill_rates_depegged_bool{symbol="USDT"}': '0x12' },
  },
  {
    alert: 'OpentillRateRefused',
    series: { 'opentill_rates_offered_bool{symbol="USDT", currency="EUR"}': '1 0x12' },
    at: '7m',
    labels: { symbol: 'USDT', currency: 'EUR' },
    silent: { 'opentill_rates_offered_bool{symbol="USDT", currency="EUR"}': '1 0x4 1x9' },
  },
  {
    alert: 'OpentillRatesOld',
    series: { opentill_rates_saved_age_seconds: '0 301x9', opentill_rates_interval_seconds: '30x10' },
    at: '2m',
    silent: { opentill_rates_saved_age_seconds: '2250x9', opentill_rates_interval_seconds: '225x9' },
  },
  {
    alert: 'OpentillOutboxLag',
    series: { 'opentill_outbox_lag_seconds{service="ops"}': '0 61x9' },
    at: '2m',
    labels: { service: 'ops' },
    silent: { 'opentill_outbox_lag_seconds{service="ops"}': '60x9' },
  },
  {
    alert: 'OpentillQueueGrows',
    series: { 'opentill_events_waiting_count{queue="q", instance="a"}': '0 1001x15' },
    at: '12m',
    labels: { queue: 'q' },
    silent: {
      'opentill_events_waiting_count{queue="q", instance="a"}': '600x15',
      'opentill_events_waiting_count{queue="q", instance="b"}': '600x15',
    },
  },
  {
    alert: 'OpentillDeadLetters',
    series: { 'opentill_events_dead_count{queue="q"}': '0 1x5' },
    at: '1m',
    labels: { queue: 'q' },
    silent: { 'opentill_events_dead_count{queue="q"}': '0x9' },
  },
  {
    alert: 'OpentillDatabaseTransactionOld',
    series: { opentill_tracker_database_oldest_transaction_seconds: '0 601x9' },
    at: '1m',
    silent: { opentill_tracker_database_oldest_transaction_seconds: '600x5 NaN NaN NaN' },
  },
  {
    alert: 'OpentillDatabaseDeadRows',
    series: { 'opentill_tracker_database_dead_rows_count{table="public.orders"}': '0 2000000x40' },
    at: '32m',
    labels: { table: 'public.orders' },
    silent: { 'opentill_tracker_database_dead_rows_count{table="public.orders"}': '2000000x28 0x9' },
  },
  {
    alert: 'OpentillDatabaseConnectionsHigh',
    series: {
      'opentill_tracker_database_connections_count{role="opentill_api"}': '10 90x9',
      'opentill_tracker_database_connections_count{role="opentill_ops"}': '5x10',
      opentill_tracker_database_connections_max_count: '97x10',
    },
    at: '8m',
    silent: {
      'opentill_tracker_database_connections_count{role="opentill_api"}': '70x15',
      opentill_tracker_database_connections_max_count: '97x15',
    },
  },
  {
    alert: 'OpentillDatabaseCallersWait',
    series: { 'opentill_database_callers_waiting_count{service="api", instance="a"}': '0 9x15' },
    at: '14m',
    labels: { service: 'api' },
    silent: { 'opentill_database_callers_waiting_count{service="api"}': '0 40 0x5 5x15' },
  },
  {
    alert: 'OpentillDatabaseTransactionIds',
    series: { opentill_tracker_database_transaction_id_age_count: '5 1000000001x5' },
    at: '1m',
    silent: { opentill_tracker_database_transaction_id_age_count: '1000000000x9' },
  },
];
