import { number, panel, quantiles, rate, type Board } from '../board.ts';

export const payments: Board = {
  id: 'opentill-payments',
  title: 'Opentill: payments',
  description: 'Orders from their creation to SUCCESS.',
  rows: [
    {
      title: 'Orders',
      panels: [
        rate('Created', 'opentill_api_orders_created_total', 'type, chain, symbol'),
        rate('Entered a status', 'opentill_tracker_orders_moved_total', 'status'),
        rate('Paid', 'opentill_tracker_orders_moved_total{status="SUCCESS"}', 'chain'),
        quantiles(
          "Scanner's record to the order's commit",
          'opentill_tracker_order_settlement_seconds',
          'chain',
        ),
        panel('Oldest unsettled', 'max by (work) (opentill_tracker_oldest_due_seconds)', '{{work}}', {
          unit: 's',
          description: 'Replicas of the tracker are added by this figure.',
        }),
        rate('Could not be settled', 'opentill_tracker_orders_not_settled_total', ''),
      ],
    },
    {
      title: 'Money that needs a person',
      panels: [
        number(
          'Open incidents',
          'sum(max by (chain, kind) (opentill_tracker_incidents_open_count)) or vector(0)',
        ),
        rate('Incidents', 'opentill_tracker_incidents_total', 'chain, kind'),
        rate('Unmatched deposits', 'opentill_tracker_unmatched_deposits_total', 'reason'),
        rate('Top-ups booked', 'opentill_tracker_top_ups_booked_total', 'chain'),
      ],
    },
    {
      title: 'Found by sweeps',
      panels: [
        panel(
          'Transfers found by the last sweep',
          'max(opentill_tracker_transfers_unsettled_count)',
          'transfers',
        ),
        rate('Transfers whose events were late or lost', 'opentill_tracker_transfers_swept_total', ''),
        rate('Outcomes whose events were late or lost', 'opentill_tracker_fates_swept_total', ''),
      ],
    },
    {
      title: 'API and checkout',
      panels: [
        panel(
          'Requests by route',
          'sum by (route) (rate(opentill_api_request_duration_seconds_count[$__rate_interval]))',
          '{{route}}',
          { unit: 'reqps' },
        ),
        panel('Requests by code', 'sum by (code) (opentill:api_requests:rate5m)', '{{code}}', {
          unit: 'reqps',
        }),
        quantiles('Duration by route', 'opentill_api_request_duration_seconds', 'route'),
        rate('Accepted signatures', 'opentill_api_signatures_accepted_total', 'form'),
        panel('Open streams of checkout pages', 'sum(opentill_api_order_streams_count)', 'streams'),
        panel(
          'Deposit addresses ready',
          'min by (family) (opentill_api_deposit_addresses_ready_count)',
          '{{family}}',
        ),
      ],
    },
    {
      title: 'Rates',
      panels: [
        panel(
          'Offered',
          'min by (symbol, currency) (opentill_rates_offered_bool)',
          '{{symbol}}/{{currency}}',
          {
            unit: 'bool',
          },
        ),
        panel('Distance from the peg', 'max by (symbol) (opentill_rates_peg_distance_ratio)', '{{symbol}}', {
          unit: 'percentunit',
        }),
        panel('Depegged', 'max by (symbol) (opentill_rates_depegged_bool)', '{{symbol}}', { unit: 'bool' }),
        rate('Answers of sources', 'opentill_rates_source_answers_total', 'source, outcome'),
        panel('Age of the last stored rates', 'min(opentill_rates_saved_age_seconds)', 'age', { unit: 's' }),
      ],
    },
  ],
};
