import { panel, quantiles, rate, type Board } from '../board.ts';

const CHAIN = 'chain=~"$chain"';
const of = (metric: string, filter = '') => `${metric}{${CHAIN}${filter === '' ? '' : `, ${filter}`}}`;

export const scanners: Board = {
  id: 'opentill-scanners',
  title: 'Opentill: scanners',
  description: 'Chains, cursors and nodes.',
  hasChains: true,
  rows: [
    {
      title: 'Chains',
      panels: [
        panel(
          'State',
          `max by (chain, state) (${of('opentill_scanner_chain_state_bool')}) == 1`,
          '{{chain}} {{state}}',
          {
            description: 'RUNNING is healthy. See "The state of a chain" of the operations guide.',
          },
        ),
        panel(
          'Active alarms',
          `sum by (chain, kind) (max by (chain, kind) (${of('opentill_scanner_alarm_bool')})) > 0 or on () vector(0)`,
          '{{chain}} {{kind}}',
        ),
        panel('Halted', `max by (chain) (${of('opentill_scanner_halted_bool')})`, '{{chain}}', {
          unit: 'bool',
        }),
        panel(
          'Blocks behind the head',
          `max by (chain) (${of('opentill_scanner_head_height_blocks')} - on (chain, instance) ${of('opentill_scanner_seen_height_blocks')})`,
          '{{chain}}',
        ),
        panel(
          'Blocks not verified yet',
          `max by (chain) (${of('opentill_scanner_head_height_blocks')} - on (chain, instance) ${of('opentill_scanner_verified_height_blocks')})`,
          '{{chain}}',
        ),
        {
          title: 'Since the last move',
          unit: 's',
          queries: [
            { expr: `max by (chain) (${of('opentill_scanner_head_age_seconds')})`, legend: '{{chain}} head' },
            {
              expr: `max by (chain) (${of('opentill_scanner_verified_age_seconds')})`,
              legend: '{{chain}} verified',
            },
            {
              expr: `max by (chain) (${of('opentill_tracker_chain_cursor_age_seconds')})`,
              legend: '{{chain}} commit',
            },
          ],
        },
      ],
    },
    {
      title: 'Blocks and transfers',
      panels: [
        rate('Transfers', of('opentill_scanner_transfers_total'), 'chain, state'),
        rate('Commits', of('opentill_scanner_commits_total'), 'chain'),
        rate('Blocks whose logs were rejected', of('opentill_scanner_judged_blocks_total'), 'chain, reason', {
          description: 'EVM: their receipts decided.',
        }),
        rate('Reorganisations', of('opentill_scanner_reorganisations_total'), 'chain'),
        panel(
          'Depth of reorganisations (p99)',
          `histogram_quantile(0.99, sum by (chain, le) (increase(${of('opentill_scanner_reorganisation_depth_blocks_bucket')}[1h]))) >= 0 or on () vector(0)`,
          '{{chain}}',
          {
            description: 'Over one hour.',
          },
        ),
        rate('Commits rejected without a lease', of('opentill_scanner_refused_commits_total'), 'chain'),
      ],
    },
    {
      title: 'Own transactions',
      panels: [
        panel(
          'Without a final outcome',
          `max by (chain) (${of('opentill_scanner_own_transactions_open_count')})`,
          '{{chain}}',
        ),
        panel(
          'Age of the oldest that is not mined',
          `max by (chain) (${of('opentill_scanner_own_transaction_unmined_age_seconds')})`,
          '{{chain}}',
          { unit: 's' },
        ),
        rate('Changed outcomes', of('opentill_scanner_own_fates_changed_total'), 'chain'),
      ],
    },
    {
      title: 'Nodes',
      panels: [
        panel(
          'Requests',
          `sum by (chain, endpoint) (rate(${of('opentill_scanner_rpc_duration_seconds_count')}[$__rate_interval]))`,
          '{{chain}} {{endpoint}}',
          { unit: 'reqps' },
        ),
        panel(
          'Duration (p95)',
          `histogram_quantile(0.95, sum by (chain, endpoint, le) (rate(${of('opentill_scanner_rpc_duration_seconds_bucket')}[$__rate_interval])))`,
          '{{chain}} {{endpoint}}',
          { unit: 's' },
        ),
        panel('Share of errors', of('opentill:scanner_rpc_errors:ratio5m'), '{{chain}} {{endpoint}}', {
          unit: 'percentunit',
        }),
        panel(
          'Calls by method',
          `sum by (method) (rate(${of('opentill_scanner_rpc_calls_total')}[$__rate_interval]))`,
          '{{method}}',
          {
            unit: 'reqps',
            description: 'Providers bill them.',
          },
        ),
        panel(
          'Bytes',
          `sum by (chain, direction) (rate(${of('opentill_scanner_rpc_bytes_total')}[$__rate_interval]))`,
          '{{chain}} {{direction}}',
          { unit: 'Bps' },
        ),
        rate('Comparisons of two sources', of('opentill_scanner_compared_ranges_total'), 'chain, outcome'),
        rate('Failed rounds', of('opentill_scanner_errors_total'), 'chain, part, code'),
        rate('Transfers on which sources differ', of('opentill_scanner_contradictions_total'), 'chain, kind'),
        quantiles('Duration of all nodes', 'opentill_scanner_rpc_duration_seconds', '', CHAIN),
      ],
    },
  ],
};
