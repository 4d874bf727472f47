import type { Metrics } from '@opentill/runtime/metrics';

interface Count<Label extends string> {
  inc(labels: Record<Label, string>, by?: number): void;
}
interface Level<Label extends string> {
  set(labels: Record<Label, string>, value: number): void;
}

export interface SignerMeters {
  readonly authorised: Count<'chain'>;
  readonly refused: Count<'chain' | 'reason'>;
  readonly blocked: Count<'chain' | 'obstacle'>;
  readonly signed: Count<'chain' | 'purpose'>;
  readonly sent: Count<'chain' | 'outcome'>;
  readonly firstSent: Count<'chain'>;
  readonly final: Count<'chain'>;
  readonly dead: Count<'chain'>;
  readonly sweepsPlanned: Count<'chain'>;
  readonly sweepsWaiting: Level<'chain' | 'reason'>;
  readonly failures: Count<'chain' | 'step'>;
  readonly passes: Count<'chain'>;
  readonly inFlight: Level<'chain'>;
  readonly waiting: Level<'chain'>;
  readonly oldestUnmined: Level<'chain'>;
  readonly gap: Level<'chain'>;
  readonly balance: Level<'chain' | 'wallet' | 'symbol'>;
  readonly leads: Level<'chain' | 'wallet'>;
  readonly alarm: Level<'chain' | 'kind'>;
}

export function createSignerMeters(metrics: Metrics): SignerMeters {
  return { ...createCounters(metrics), ...createGauges(metrics) };
}

function createCounters(metrics: Metrics) {
  return {
    authorised: metrics.counter({
      name: 'opentill_signer_payouts_authorised_total',
      help: 'Payouts that the policy authorised',
      labelNames: ['chain'],
    }),
    refused: metrics.counter({
      name: 'opentill_signer_payouts_refused_total',
      help: 'Payouts refused, by reason',
      labelNames: ['chain', 'reason'],
    }),
    blocked: metrics.counter({
      name: 'opentill_signer_payouts_hindered_total',
      help: 'Tries to sign a payout that an obstacle prevented',
      labelNames: ['chain', 'obstacle'],
    }),
    signed: metrics.counter({
      name: 'opentill_signer_payout_transactions_signed_total',
      help: 'Transactions signed and stored: payouts, fee bumps, fillers of nonce gaps, gatherings',
      labelNames: ['chain', 'purpose'],
    }),
    sent: metrics.counter({
      name: 'opentill_signer_payout_sends_total',
      help: 'Sends of stored bytes, by outcome',
      labelNames: ['chain', 'outcome'],
    }),
    firstSent: metrics.counter({
      name: 'opentill_signer_payouts_sent_total',
      help: 'Payouts sent for the first time',
      labelNames: ['chain'],
    }),
    final: metrics.counter({
      name: 'opentill_signer_payout_nonces_final_total',
      help: 'Transactions verified: final nonces, or settled payout attempts',
      labelNames: ['chain'],
    }),
    dead: metrics.counter({
      name: 'opentill_signer_payout_attempts_dead_total',
      help: 'Expired attempts proven to be in no block; their payouts may be signed again',
      labelNames: ['chain'],
    }),
    failures: metrics.counter({
      name: 'opentill_signer_payout_step_failures_total',
      help: 'Steps of a pass that failed because of nodes or the database',
      labelNames: ['chain', 'step'],
    }),
    passes: metrics.counter({
      name: 'opentill_signer_payout_passes_total',
      help: 'Passes over a wallet',
      labelNames: ['chain'],
    }),
  };
}

function createGauges(metrics: Metrics) {
  return {
    inFlight: metrics.gauge({
      name: 'opentill_signer_payouts_in_flight_count',
      help: 'Signed nonces, or attempts on chains without nonces, that no block holds',
      labelNames: ['chain'],
    }),
    waiting: metrics.gauge({
      name: 'opentill_signer_payouts_unsigned_count',
      help: 'Payouts that wait to be authorised or signed, up to the limit of one pass',
      labelNames: ['chain'],
    }),
    oldestUnmined: metrics.gauge({
      name: 'opentill_signer_payout_oldest_in_flight_seconds',
      help: 'Age of the oldest signed transaction that no block holds: of the lowest nonce, or the earliest attempt',
      labelNames: ['chain'],
    }),
    gap: metrics.gauge({
      name: 'opentill_signer_payout_nonce_gap_seconds',
      help: 'Time for which a free nonce has blocked signed ones; 0: none',
      labelNames: ['chain'],
    }),
    balance: metrics.gauge({
      name: 'opentill_signer_hot_wallet_base_units',
      help: 'Balance of a hot wallet on the chain, in base units',
      labelNames: ['chain', 'wallet', 'symbol'],
    }),
    leads: metrics.gauge({
      name: 'opentill_signer_payout_leader_bool',
      help: '1 while this replica drives the wallet',
      labelNames: ['chain', 'wallet'],
    }),
    sweepsPlanned: metrics.counter({
      name: 'opentill_signer_sweeps_planned_total',
      help: 'Sweeps of deposit addresses that began',
      labelNames: ['chain'],
    }),
    sweepsWaiting: metrics.gauge({
      name: 'opentill_signer_sweeps_waiting_count',
      help: 'Assets on deposit addresses that are not swept now, by reason',
      labelNames: ['chain', 'reason'],
    }),
    alarm: metrics.gauge({
      name: 'opentill_signer_payout_alarm_bool',
      help: '1 while the alarm holds',
      labelNames: ['chain', 'kind'],
    }),
  };
}
