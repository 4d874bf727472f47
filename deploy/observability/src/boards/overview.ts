import { number, panel, quantiles, rate, type Board } from '../board.ts';

export const overview: Board = {
  id: 'opentill-overview',
  title: 'Opentill: overview',
  description: 'Is the gateway well, and what does it do?',
  rows: [
    {
      title: 'State',
      panels: [
        number(
          'Critical alerts',
          'count(ALERTS{alertname=~"Opentill.*", alertstate="firing", severity="critical"}) or vector(0)',
        ),
        number(
          'Warnings',
          'count(ALERTS{alertname=~"Opentill.*", alertstate="firing", severity="warning"}) or vector(0)',
        ),
        number(
          'Open incidents',
          'sum(max by (chain, kind) (opentill_tracker_incidents_open_count)) or vector(0)',
        ),
        number('Failing checks', 'count(opentill_health_check_bool == 0) or vector(0)'),
        number(
          'Chains running',
          'count(max by (chain) (opentill_scanner_chain_state_bool{state="RUNNING"}) == 1) or vector(0)',
        ),
        number('Targets that answer', 'sum(up{job="opentill"})'),
      ],
    },
    {
      title: 'Work',
      panels: [
        rate('Orders created', 'opentill_api_orders_created_total', 'type'),
        rate('Orders that entered a status', 'opentill_tracker_orders_moved_total', 'status'),
        quantiles('Scanner to order', 'opentill_tracker_order_settlement_seconds'),
        panel(
          'Requests',
          'sum by (code) (rate(opentill_api_request_duration_seconds_count[$__rate_interval]))',
          '{{code}}',
          { unit: 'reqps' },
        ),
        quantiles('Request duration', 'opentill_api_request_duration_seconds'),
        panel('Share of 5xx', 'opentill:api_errors:ratio5m or vector(0)', '5xx', { unit: 'percentunit' }),
      ],
    },
    {
      title: 'What waits',
      panels: [
        {
          title: 'Oldest waiting',
          unit: 's',
          queries: [
            { expr: 'max by (work) (opentill_tracker_oldest_due_seconds)', legend: 'tracker: {{work}}' },
            { expr: 'min(min_over_time(opentill_webhook_oldest_due_seconds[2m]))', legend: 'callbacks' },
            { expr: 'max by (service) (opentill_outbox_lag_seconds)', legend: 'outbox of {{service}}' },
          ],
        },
        panel('Messages that wait', 'opentill:events_waiting:max', '{{queue}}'),
        panel('Payouts in flight', 'max by (chain) (opentill_signer_payouts_in_flight_count)', '{{chain}}'),
      ],
    },
    {
      title: 'Processes',
      panels: [
        panel(
          'Processor time',
          'sum by (instance) (rate(process_cpu_seconds_total{job="opentill"}[$__rate_interval]))',
          '{{instance}}',
          { unit: 'percentunit' },
        ),
        panel('Memory', 'process_resident_memory_bytes{job="opentill"}', '{{instance}}', { unit: 'bytes' }),
        panel('Event loop (p99)', 'nodejs_eventloop_lag_p99_seconds{job="opentill"}', '{{instance}}', {
          unit: 's',
        }),
      ],
    },
    {
      title: 'Operators',
      panels: [
        rate('Acts', 'opentill_ops_acts_total', 'operation, outcome'),
        panel(
          'Requests to ops',
          'sum by (code) (rate(opentill_ops_request_duration_seconds_count[$__rate_interval])) or on () vector(0)',
          '{{code}}',
          { unit: 'reqps' },
        ),
        rate('Requests without a valid token', 'opentill_ops_authentication_failures_total', 'why'),
      ],
    },
  ],
};
