import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { EventEnvelope } from '@opentill/contracts/event-catalog';
import { GatewayError } from '@opentill/domain/gateway-error';
import { startConsumer } from '../src/consumer.ts';
import { batchHandling } from '../src/batch-handling.ts';
import { createPublisher } from '../src/publisher.ts';
import { createMetrics } from '@opentill/runtime/metrics';
import { createTestBroker, type TestBroker } from '@opentill/testkit/test-broker';
import { waitUntil } from '@opentill/testkit/wait-until';
import { anOrderCreated, createCleanup, logger, TIMEOUT_MS, toMessage } from './messaging-harness.ts';

const QUEUE = 'webhook-sender.order-created';
let server: TestBroker;
const cleanup = createCleanup();
beforeAll(async () => {
  server = await createTestBroker();
});
afterEach(() => cleanup.run());
afterAll(() => server.drop());

type Handle = (envelopes: readonly EventEnvelope<'order.created'>[]) => Promise<void>;

async function consumeTogether(handleTogether: Handle) {
  const broker = cleanup.broker(server.url);
  const publisher = createPublisher(broker, { confirmTimeoutMs: TIMEOUT_MS });
  const metrics = createMetrics('test');
  const consumer = startConsumer({
    broker,
    service: 'webhook-sender',
    type: 'order.created',
    prefetch: 100,
    handle: batchHandling({ handleTogether, together: 20, atOnce: 1 }),
    logger,
    metrics,
    firstRetryDelayMs: 5,
    maxRetryDelayMs: 20,
  });
  cleanup.add(() => consumer.stop());
  await broker.ready();
  /** Messages that the broker counts as delivered may still be on their way to the consumer. */
  const unacknowledged = async (): Promise<number> =>
    Number(/^opentill_events_in_flight_count{[^}]*} (\d+)$/m.exec(await metrics.render())?.[1]);
  return { publisher, unacknowledged };
}

test('batches waiting events up to the limit and acknowledges each by itself', async () => {
  const calls: number[] = [];
  let open: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => (open = resolve));
  const { publisher, unacknowledged } = await consumeTogether(async (envelopes) => {
    calls.push(envelopes.length);
    await gate;
  });
  await publisher.publish([toMessage(anOrderCreated())]);
  await waitUntil('the first, at once and by itself', () => calls.length === 1);
  await publisher.publish(Array.from({ length: 50 }, () => toMessage(anOrderCreated())));
  await waitUntil('messages unacknowledged', async () => (await unacknowledged()) === 51);
  open();
  await waitUntil('all handled', () => calls.reduce((sum, size) => sum + size, 0) === 51);
  expect(calls[0]).toBe(1);
  expect(Math.max(...calls)).toBe(20);
  expect(calls.length).toBeLessThan(10);
  await cleanup.run();
  await waitUntil('the queue has no consumer', async () => (await server.consumers(QUEUE)) === 0);
  expect(await server.depth(QUEUE)).toBe(0);
});

test('dead-letters only the bad event of a batch, and retries all without database', async () => {
  const handled = new Set<string>();
  const bad = anOrderCreated();
  const good = Array.from({ length: 10 }, () => anOrderCreated());
  let outages = 3;
  const { publisher } = await consumeTogether(async (envelopes) => {
    if (outages > 0) {
      outages -= 1;
      throw new GatewayError('DATABASE_UNAVAILABLE', 'down', { retryable: true });
    }
    if (envelopes.some((envelope) => envelope.id === bad.id))
      throw new GatewayError('UNREADABLE', 'not this one', { retryable: false });
    for (const envelope of envelopes) handled.add(envelope.id);
    return Promise.resolve();
  });
  await publisher.publish([...good.slice(0, 5), bad, ...good.slice(5)].map((event) => toMessage(event)));
  await waitUntil('the good events are handled', () => good.every((event) => handled.has(event.id)));
  await waitUntil('the bad one is dead-lettered', async () => (await server.depth(`${QUEUE}.dead`)) === 1);
  expect((await server.take(`${QUEUE}.dead`))[0]?.properties.messageId).toBe(bad.id);
  expect(handled.has(bad.id)).toBe(false);
});
