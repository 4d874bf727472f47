import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { queueName } from '@opentill/contracts/topology';
import { createMetrics, type Metrics } from '@opentill/runtime/metrics';
import { startTcpProxy } from '@opentill/testkit/tcp-proxy';
import { createTestBroker, type TestBroker } from '@opentill/testkit/test-broker';
import { waitUntil } from '@opentill/testkit/wait-until';
import { observeQueues } from '../src/observe-queues.ts';
import { anOrderCreated, createCleanup, toMessage } from './messaging-harness.ts';

const queue = queueName('webhook-sender', 'order.created');
const cleanup = createCleanup();
let server: TestBroker;
beforeAll(async () => {
  server = await createTestBroker();
});
afterEach(() => cleanup.run());
afterAll(() => server.drop());

async function depth(metrics: Metrics, what: 'waiting' | 'dead'): Promise<number | undefined> {
  const line = new RegExp(`^opentill_events_${what}_count{queue="${queue}",.*} (\\d+)$`, 'm');
  const found = line.exec(await metrics.render())?.[1];
  return found === undefined ? undefined : Number(found);
}

test("reports the depths of a queue and its dead-letter queue as the service's user", async () => {
  const broker = cleanup.broker(await server.urlFor('webhook-sender'));
  const metrics = createMetrics('webhook-sender');
  observeQueues({ broker, service: 'webhook-sender', metrics });
  await broker.ready();
  expect([await depth(metrics, 'waiting'), await depth(metrics, 'dead')]).toEqual([0, 0]);
  for (let i = 0; i < 3; i += 1) {
    const { routingKey, payload } = toMessage(anOrderCreated());
    await server.publish(routingKey, payload);
  }
  await waitUntil('three messages', async () => (await depth(metrics, 'waiting')) === 3);
  await server.take(queue);
  expect([await depth(metrics, 'waiting'), await depth(metrics, 'dead')]).toEqual([0, 0]);
});

test('reports no depths while the broker does not answer, and again after that', async () => {
  const proxy = await startTcpProxy(Number(new URL(server.url).port));
  cleanup.add(() => proxy.close());
  const broker = cleanup.broker(proxy.through(server.url));
  const metrics = createMetrics('webhook-sender');
  observeQueues({ broker, service: 'webhook-sender', metrics, timeoutMs: 50 });
  await waitUntil('depths', async () => (await depth(metrics, 'waiting')) !== undefined);
  proxy.mode = 'blackhole';
  expect(await depth(metrics, 'waiting')).toBeUndefined();
  proxy.mode = 'pass';
  proxy.reset();
  await waitUntil('depths again', async () => (await depth(metrics, 'waiting')) !== undefined);
});
