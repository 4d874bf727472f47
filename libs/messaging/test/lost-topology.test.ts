import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { queues } from '@opentill/contracts/topology';
import { connectBroker } from '../src/connection.ts';
import { startConsumer } from '../src/consumer.ts';
import { declareTopology } from '../src/declare-topology.ts';
import { createPublisher } from '../src/publisher.ts';
import { createMetrics } from '@opentill/runtime/metrics';
import { createTestBroker, type TestBroker } from '@opentill/testkit/test-broker';
import { waitUntil } from '@opentill/testkit/wait-until';
import { deleteTopology } from './delete-topology.ts';
import { anOrderCreated, createCleanup, logger, toMessage } from './messaging-harness.ts';

let server: TestBroker;
const cleanup = createCleanup();
beforeAll(async () => {
  server = await createTestBroker();
});
afterEach(() => cleanup.run());
afterAll(() => server.drop());

const QUEUE = 'webhook-sender.order-created';

function consume(url: string, logged: string[] = []) {
  const listening = Object.create(logger, {
    error: { value: (message: string) => void logged.push(message) },
  }) as typeof logger;
  const broker = connectBroker({ url, logger: listening, name: 'test' });
  cleanup.add(() => broker.close());
  const handled: string[] = [];
  const consumer = startConsumer({
    broker,
    service: 'webhook-sender',
    type: 'order.created',
    prefetch: 5,
    handle: (envelope) => Promise.resolve(void handled.push(envelope.id)),
    logger,
    metrics: createMetrics('test'),
  });
  cleanup.add(() => consumer.stop());
  return { broker, consumer, handled };
}

test('declares a lost topology again and resumes consuming and publishing', async () => {
  const { broker, consumer, handled } = consume(server.url);
  const publisher = createPublisher(broker, { confirmTimeoutMs: 1_000 });
  await broker.ready();
  await deleteTopology(server, QUEUE);
  await waitUntil('the consumer notices', () => !consumer.consuming);
  await waitUntil('consuming again', () => consumer.consuming);
  const event = anOrderCreated();
  await waitUntil('published', () =>
    publisher.publish([toMessage(event)]).then(
      () => true,
      () => false,
    ),
  );
  await waitUntil('handled', () => handled.includes(event.id));
  // The consumer's own queue is not the last one declared.
  await waitUntil('all queues are declared', async () => {
    const channel = await server.channel();
    for (const { name, deadLetterQueue } of queues())
      for (const queue of [deadLetterQueue, name]) await channel.checkQueue(queue);
    return true;
  });
  const report = await declareTopology(server.url, { settleMs: 0 });
  expect(report.declared.filter((queue) => !queue.startsWith('opentill.canary'))).toEqual([]);
});

test('declares the lost topology from a publisher without any consumer', async () => {
  const broker = cleanup.broker(server.url);
  const publisher = createPublisher(broker, { confirmTimeoutMs: 1_000 });
  await broker.ready();
  for (const lose of [
    () => deleteTopology(server, QUEUE),
    async () => void (await (await server.channel()).deleteQueue(QUEUE)),
  ]) {
    await lose();
    const events: string[] = [];
    await waitUntil('published', () => {
      const event = anOrderCreated();
      events.push(event.id);
      return publisher.publish([toMessage(event)]).then(
        () => true,
        () => false,
      );
    });
    // A message whose confirm came too late may be there too.
    const there = (await server.take(QUEUE)).map(
      ({ content }) => (JSON.parse(content.toString()) as { id: string }).id,
    );
    expect(there).toContain(events.at(-1));
    expect(events).toEqual(expect.arrayContaining(there));
  }
});

test('survives a lost topology without the permission to declare it', async () => {
  const logged: string[] = [];
  const { broker, consumer, handled } = consume(await server.urlFor('webhook-sender'), logged);
  await broker.ready();
  await deleteTopology(server, QUEUE);
  await waitUntil('the consumer notices', () => !consumer.consuming);
  const channel = await server.channel();
  await waitUntil('the log names the repair', () =>
    logged.some((message) => message.includes('run the set-up')),
  );
  await expect(channel.checkQueue(QUEUE)).rejects.toThrow('NOT_FOUND');
  await declareTopology(server.url, { settleMs: 0 });
  await waitUntil('consuming again', () => consumer.consuming);
  const event = anOrderCreated();
  await server.publish('order.created._', JSON.stringify(event));
  await waitUntil('handled', () => handled.includes(event.id));
});
