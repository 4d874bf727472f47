import { number, panel, quantiles, rate, type Board } from '../board.ts';

export const databaseAndBroker: Board = {
  id: 'opentill-database-and-broker',
  title: 'Opentill: database and broker',
  description: 'Postgres and RabbitMQ, as the services see them. The servers have exporters of their own.',
  rows: [
    {
      title: 'Postgres',
      panels: [
        number('Database size', 'max(opentill_tracker_database_size_bytes)', 'bytes'),
        number('Connections in use', 'opentill:database_connections:ratio', 'percentunit'),
        number('Connections at most', 'max(opentill_tracker_database_connections_max_count)'),
        number(
          'Age of the oldest row in transactions',
          'max(opentill_tracker_database_transaction_id_age_count)',
        ),
        number(
          'Oldest transaction',
          'max(opentill_tracker_database_oldest_transaction_seconds)',
          's',
          'NaN where the role may not see other sessions.',
        ),
        number('Callers that wait', 'sum(opentill_database_callers_waiting_count)'),
        panel(
          'Connections by role',
          'max by (role) (opentill_tracker_database_connections_count)',
          '{{role}}',
        ),
        panel(
          'Pools',
          'sum by (service, state) (opentill_database_connections_count)',
          '{{service}} {{state}}',
        ),
        panel(
          'Dead rows',
          'max by (table) (opentill_tracker_database_dead_rows_count) or on () vector(0)',
          '{{table}}',
        ),
      ],
    },
    {
      title: 'Outbox',
      panels: [
        panel('Age of the oldest event', 'max by (service) (opentill_outbox_lag_seconds)', '{{service}}', {
          unit: 's',
        }),
        panel('Events that wait', 'max by (service) (opentill_outbox_waiting_count)', '{{service}}'),
        rate('Published', 'opentill_outbox_published_total', 'service'),
        rate('Failed attempts', 'opentill_outbox_failures_total', 'service, code'),
      ],
    },
    {
      title: 'RabbitMQ',
      panels: [
        panel('Messages that wait', 'opentill:events_waiting:max', '{{queue}}'),
        panel('Dead letters', 'max by (queue) (opentill_events_dead_count)', '{{queue}}'),
        panel('Held by consumers', 'sum by (queue) (opentill_events_in_flight_count)', '{{queue}}'),
        rate('Consumed', 'opentill_events_consumed_total', 'queue, outcome'),
        quantiles('Duration of a handler', 'opentill_event_handling_seconds', 'queue'),
      ],
    },
  ],
};
