import type { Metrics } from '@opentill/runtime/metrics';

export interface ConsumerMetrics {
  settled(outcome: 'handled' | 'retried' | 'dead' | 'unreadable'): void;
  /** -1 when the message is acknowledged, rejected or abandoned. */
  inFlight(change: 1 | -1): void;
  startTimer(): () => void;
}

export function createConsumerMetrics(metrics: Metrics, queue: string): ConsumerMetrics {
  const settled = metrics.counter({
    name: 'opentill_events_consumed_total',
    help: 'Deliveries by outcome; a retry is counted each time, dead and unreadable ones are dead letters',
    labelNames: ['queue', 'outcome'],
  });
  const inFlight = metrics.gauge({
    name: 'opentill_events_in_flight_count',
    help: 'Unacknowledged messages: being handled or waiting for their retry',
    labelNames: ['queue'],
  });
  const duration = metrics.histogram({
    name: 'opentill_event_handling_seconds',
    help: 'Duration of one run of a handler',
    labelNames: ['queue'],
  });
  return {
    settled: (outcome) => settled.inc({ queue, outcome }),
    inFlight: (change) => inFlight.inc({ queue }, change),
    startTimer: () => {
      const end = duration.startTimer({ queue });
      return () => void end();
    },
  };
}
