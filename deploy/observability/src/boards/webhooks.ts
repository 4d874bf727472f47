import { number, panel, quantiles, rate, type Board } from '../board.ts';

export const webhooks: Board = {
  id: 'opentill-webhooks',
  title: 'Opentill: webhooks',
  description: 'Callbacks to merchants.',
  rows: [
    {
      title: 'Callbacks',
      panels: [
        {
          title: 'Oldest due',
          unit: 's',
          description: 'Replicas of the webhook-sender are added by the first figure.',
          queries: [
            {
              expr: 'min(min_over_time(opentill_webhook_oldest_due_seconds[2m]))',
              legend: 'of a shop with free slots',
            },
            {
              expr: 'max(max_over_time(opentill_webhook_oldest_due_at_full_endpoint_seconds[5m]))',
              legend: 'of a shop with full slots',
            },
          ],
        },
        rate('Queued', 'opentill_webhook_deliveries_queued_total', 'by'),
        panel('Messages that wait', 'opentill:events_waiting:max{queue=~"webhook-sender.*"}', '{{queue}}'),
        rate('Attempts by resulting state', 'opentill_webhook_attempts_total', 'state'),
        rate('Failed attempts by error', 'opentill_webhook_attempts_total{error!="NONE"}', 'error'),
        quantiles('Duration of an attempt', 'opentill_webhook_attempt_duration_seconds'),
        panel(
          'Share delivered',
          '(opentill:webhook_attempts:rate5m{state="DELIVERED"} / ignoring (state) (sum(opentill:webhook_attempts:rate5m) > 0)) or on () vector(1)',
          'delivered',
          { unit: 'percentunit' },
        ),
      ],
    },
    {
      title: 'Endpoints and faults',
      panels: [
        number('Paused endpoints', 'max(opentill_webhook_endpoints_unwell_count{state="OPEN"})'),
        number('Disabled endpoints', 'max(opentill_webhook_endpoints_unwell_count{state="DISABLED"})'),
        rate('Changes of endpoints', 'opentill_webhook_endpoint_changes_total', 'state'),
        rate('Faults of this service', 'opentill_webhook_own_faults_total', 'fault'),
        rate('Dead without an address', 'opentill_webhook_deliveries_unaddressed_total', ''),
        rate('Attempts that outlived their lease', 'opentill_webhook_claims_lost_total', ''),
      ],
    },
  ],
};
