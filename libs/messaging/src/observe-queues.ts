import type { ServiceName } from '@opentill/contracts/event-catalog';
import { queues } from '@opentill/contracts/topology';
import { withDeadline } from '@opentill/runtime/deadline';
import type { Metrics } from '@opentill/runtime/metrics';
import type { Broker } from './connection.ts';

export interface ObserveQueuesOptions {
  readonly broker: Broker;
  readonly service: ServiceName;
  readonly metrics: Metrics;
  /** Limit of a scrape for the broker's answers. @default 2000 */
  readonly timeoutMs?: number;
}

/**
 * Depths of the service's queues, asked at each scrape; absent while the broker does not answer. Every replica reports
 * the same depths. Has its own connection: a missing queue closes the channel that asks for it.
 */
export function observeQueues({ broker, service, metrics, timeoutMs = 2_000 }: ObserveQueuesOptions): void {
  const link = broker.openLink({ name: 'queue depths' });
  const own = queues().filter((queue) => queue.service === service);

  async function depthsOf(names: readonly string[]): Promise<readonly number[]> {
    const { channel } = link;
    if (channel === undefined) throw new Error('the broker is not connected');
    const ask = () => Promise.all(names.map(async (name) => (await channel.checkQueue(name)).messageCount));
    return withDeadline(timeoutMs, ask, () => new Error('the broker did not answer'));
  }
  const gauge = (name: string, help: string, nameOf: (queue: (typeof own)[number]) => string) =>
    metrics.gauge({
      name,
      help,
      labelNames: ['queue'],
      async collect(set) {
        const depths = await depthsOf(own.map(nameOf)).catch(() => undefined);
        set.reset();
        depths?.forEach((depth, i) => set.set({ queue: own[i]?.name ?? '' }, depth));
      },
    });
  gauge('opentill_events_waiting_count', 'Messages of the queue that no consumer holds', (q) => q.name);
  gauge('opentill_events_dead_count', "Messages of the queue's dead-letter queue", (q) => q.deadLetterQueue);
}
