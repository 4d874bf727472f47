import { number, panel, rate, type Board } from '../board.ts';

const of = (metric: string, filter = '') => `${metric}{chain=~"$chain"${filter === '' ? '' : `, ${filter}`}}`;
const worst = (metric: string) => `max by (chain) (${of(metric)})`;
const last = (title: string, metric: string, unit: 'short' | 's' = 'short') =>
  panel(title, worst(metric), '{{chain}}', { unit });

export const payouts: Board = {
  id: 'opentill-payouts',
  title: 'Opentill: payouts and wallets',
  description: 'The payout-signer: payouts, hot wallets and sweeps.',
  hasChains: true,
  rows: [
    {
      title: 'Payouts',
      panels: [
        last('Wait to be authorised or signed', 'opentill_signer_payouts_unsigned_count'),
        last('Age of the oldest that waits', 'opentill_signer_payout_oldest_unsigned_seconds', 's'),
        last('In flight', 'opentill_signer_payouts_in_flight_count'),
        last('Age of the oldest in flight', 'opentill_signer_payout_oldest_in_flight_seconds', 's'),
        rate('Authorised', of('opentill_signer_payouts_authorised_total'), 'chain'),
        rate('Refused', of('opentill_signer_payouts_refused_total'), 'chain, reason'),
        rate('Blocked by an obstacle', of('opentill_signer_payouts_hindered_total'), 'chain, obstacle'),
        rate('Sent for the first time', of('opentill_signer_payouts_sent_total'), 'chain'),
        rate('Sends of stored bytes', of('opentill_signer_payout_sends_total'), 'chain, outcome'),
        rate('Verified', of('opentill_signer_payout_nonces_final_total'), 'chain'),
        rate('Transactions signed', of('opentill_signer_payout_transactions_signed_total'), 'chain, purpose'),
        rate('Expired attempts', of('opentill_signer_payout_attempts_dead_total'), 'chain'),
        last('A free nonce blocks', 'opentill_signer_payout_nonce_gap_seconds', 's'),
      ],
    },
    {
      title: 'Wallets',
      panels: [
        panel(
          'Balance in base units',
          `max by (chain, wallet, symbol) (${of('opentill_signer_hot_wallet_base_units')})`,
          '{{chain}} {{symbol}} {{wallet}}',
        ),
        panel(
          'Replicas that drive a wallet',
          `sum by (chain, wallet) (${of('opentill_signer_payout_leader_bool')})`,
          '{{chain}} {{wallet}}',
          { description: '1 is healthy.' },
        ),
        panel(
          'Active alarms',
          `max by (chain, kind) (${of('opentill_signer_payout_alarm_bool')}) > 0 or on () vector(0)`,
          '{{chain}} {{kind}}',
        ),
        rate('Passes', of('opentill_signer_payout_passes_total'), 'chain'),
        rate('Failed steps', of('opentill_signer_payout_step_failures_total'), 'chain, step'),
        number(
          'Foreign deposit addresses',
          'sum(max by (family) (opentill_signer_foreign_deposit_addresses_count))',
        ),
        number(
          'Named foreign addresses',
          'count(opentill_signer_foreign_deposit_address_bool) or vector(0)',
          'short',
          'The metric names family, address and index.',
        ),
      ],
    },
    {
      title: 'Sweeps',
      panels: [
        last('Oldest money on deposit addresses', 'opentill_signer_sweep_oldest_unswept_seconds', 's'),
        panel(
          'Waits, by reason',
          `max by (chain, reason) (${of('opentill_signer_sweeps_waiting_count')}) > 0 or on () vector(0)`,
          '{{chain}} {{reason}}',
        ),
        rate('Began', of('opentill_signer_sweeps_planned_total'), 'chain'),
        last('Under way', 'opentill_signer_sweeps_open_count'),
        last('Oldest under way', 'opentill_signer_sweep_oldest_open_seconds', 's'),
        last('Failed in 24 hours', 'opentill_signer_sweeps_failed_count'),
        panel(
          'Active alarms',
          `max by (chain, kind) (${of('opentill_signer_sweep_alarm_bool')}) > 0 or on () vector(0)`,
          '{{chain}} {{kind}}',
        ),
        last('Fees brought without a transfer', 'opentill_signer_sweep_top_ups_unused_count'),
        last('Energy paid without a transfer', 'opentill_signer_sweep_rents_unused_count'),
      ],
    },
  ],
};
