import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { queueName } from '@opentill/contracts/topology';
import { declareTopology } from '../src/declare-topology.ts';
import { createPublisher } from '../src/publisher.ts';
import { startTcpProxy } from '@opentill/testkit/tcp-proxy';
import { createTestBroker, type TestBroker } from '@opentill/testkit/test-broker';
import { waitUntil } from '@opentill/testkit/wait-until';
import { anOrderCreated, createCleanup, TIMEOUT_MS, toMessage } from './messaging-harness.ts';

const queue = queueName('webhook-sender', 'order.created');
const cleanup = createCleanup();
let server: TestBroker;
beforeAll(async () => {
  server = await createTestBroker();
});
afterEach(async () => {
  await cleanup.run();
  await server.take(queue);
});
afterAll(() => server.drop());

async function startPublisher(url = server.url, confirmTimeoutMs = TIMEOUT_MS) {
  const broker = cleanup.broker(url);
  const publisher = createPublisher(broker, { confirmTimeoutMs });
  await broker.ready();
  return { broker, publisher };
}

describe('createPublisher', () => {
  test('stores a batch persistently and in order before publish resolves', async () => {
    const { publisher, broker } = await startPublisher();
    expect(broker.state).toBe('connected');
    const rows = Array.from({ length: 500 }, () => toMessage(anOrderCreated()));
    await publisher.publish(rows);
    const taken = await server.take(queue);
    expect(taken.map((message) => message.properties.messageId)).toEqual(rows.map((row) => row.eventId));
    expect(taken[0]?.properties).toMatchObject({ deliveryMode: 2, contentType: 'application/json' });
    expect(taken[0]?.content.toString()).toBe(rows[0]?.payload);
  });

  test('resolves an empty publish without a broker', async () => {
    const { publisher, broker } = await startPublisher();
    await broker.close();
    await publisher.publish([]);
  });

  test('fails for a message that no queue takes, although the broker confirms it', async () => {
    const { publisher } = await startPublisher();
    const lost = { ...toMessage(anOrderCreated()), routingKey: 'order.unknown._' };
    const good = toMessage(anOrderCreated());
    await expect(publisher.publish([good, lost, toMessage(anOrderCreated())])).rejects.toMatchObject({
      code: 'PUBLISH_UNROUTABLE',
      retryable: true,
      context: { eventId: lost.eventId, routingKey: lost.routingKey },
    });
    await publisher.publish([good]); // the channel still works
  });

  test('fails when a full queue nacks the message', async () => {
    const { publisher } = await startPublisher();
    const channel = await server.channel();
    const full = 'full';
    await channel.assertQueue(full, {
      durable: true,
      arguments: { 'x-queue-type': 'classic', 'x-max-length': 0, 'x-overflow': 'reject-publish' },
    });
    await channel.bindQueue(full, 'opentill.events', 'full.up._');
    await expect(
      publisher.publish([{ ...toMessage(anOrderCreated()), routingKey: 'full.up._' }]),
    ).rejects.toMatchObject({ code: 'PUBLISH_REFUSED', retryable: true });
    await channel.deleteQueue(full);
  });

  test('loses the channel and one attempt when the exchange does not exist', async () => {
    const bare = await createTestBroker({ declare: false });
    cleanup.add(() => bare.drop());
    const { publisher } = await startPublisher(bare.url);
    await expect(publisher.publish([toMessage(anOrderCreated())])).rejects.toMatchObject({
      code: 'BROKER_UNAVAILABLE',
    });
    await declareTopology(bare.url, { settleMs: 0 });
    await waitUntil('rebuilt', () => publisher.publish([toMessage(anOrderCreated())]).then(() => true));
  });

  test('fails on a broken connection and publishes after recovery', async () => {
    const { publisher, broker } = await startPublisher();
    await waitUntil('cut by the broker', async () => {
      await server.cutConnections();
      return publisher.state === 'connecting';
    });
    expect(broker.state).toBe('connecting');
    await expect(publisher.publish([toMessage(anOrderCreated())])).rejects.toMatchObject({
      code: 'BROKER_UNAVAILABLE',
      retryable: true,
    });
    await broker.ready();
    await publisher.publish([toMessage(anOrderCreated())]);
    expect(await server.depth(queue)).toBe(1);
  });

  test('fails pending messages at once when the connection resets', async () => {
    const proxy = await startTcpProxy(Number(new URL(server.url).port));
    cleanup.add(() => proxy.close());
    const { publisher, broker } = await startPublisher(proxy.through(server.url));
    proxy.mode = 'half';
    const publishing = publisher.publish([toMessage(anOrderCreated())]);
    const failed = expect(publishing).rejects.toMatchObject({ code: 'BROKER_UNAVAILABLE' });
    await waitUntil('stored', async () => (await server.depth(queue)) === 1);
    proxy.mode = 'pass';
    proxy.reset();
    await failed;
    await broker.ready();
  });

  test('fails at the time limit on a silent network, then uses a new connection', async () => {
    const proxy = await startTcpProxy(Number(new URL(server.url).port));
    cleanup.add(() => proxy.close());
    const { publisher, broker } = await startPublisher(proxy.through(server.url), 3_000);
    proxy.mode = 'blackhole';
    await expect(publisher.publish([toMessage(anOrderCreated())])).rejects.toMatchObject({
      code: 'PUBLISH_TIMEOUT',
    });
    await waitUntil('given up', () => publisher.state === 'connecting');
    proxy.mode = 'pass';
    await broker.ready();
    const message = toMessage(anOrderCreated());
    // A broker under load may take longer than this test's limit to confirm.
    await waitUntil('published', () => publisher.publish([message]).then(() => true));
    const there = (await server.take(queue)).map(({ properties }) => properties.messageId as unknown);
    expect(new Set(there)).toEqual(new Set([message.eventId]));
  });

  test('lets the user of a service publish only its own events', async () => {
    const { publisher, broker } = await startPublisher(await server.urlFor('api'));
    await publisher.publish([toMessage(anOrderCreated())]);
    await expect(
      publisher.publish([{ ...toMessage(anOrderCreated()), routingKey: 'order.changed._' }]),
    ).rejects.toMatchObject({ code: 'BROKER_UNAVAILABLE' });
    await broker.ready();
  });
});

describe('connectBroker', () => {
  test('recovers from a network that goes silent during setup', async () => {
    const proxy = await startTcpProxy(Number(new URL(server.url).port));
    cleanup.add(() => proxy.close());
    const broker = cleanup.broker(proxy.through(server.url));
    let setups = 0;
    broker.openLink({
      name: 'slow set-up',
      setupTimeoutMs: 2_000,
      setup: async (channel) => {
        setups += 1;
        if (setups === 1) proxy.mode = 'blackhole';
        await channel.prefetch(1);
      },
    });
    await waitUntil('first set-up', () => setups === 1);
    await expect(broker.ready(400)).rejects.toMatchObject({ code: 'BROKER_UNAVAILABLE' });
    proxy.mode = 'pass';
    await broker.ready();
    expect(setups).toBeGreaterThan(1);
  });

  test('recovers from a connection reset during setup', async () => {
    const proxy = await startTcpProxy(Number(new URL(server.url).port));
    cleanup.add(() => proxy.close());
    const broker = cleanup.broker(proxy.through(server.url));
    let setups = 0;
    broker.openLink({
      name: 'reset',
      setup: async (channel) => {
        setups += 1;
        if (setups <= 3) proxy.reset();
        await channel.prefetch(1);
      },
    });
    await broker.ready();
    expect(setups).toBeGreaterThan(3);
  });

  test('loses the connection but not the process when a listener throws', async () => {
    const broker = cleanup.broker(server.url);
    const link = broker.openLink({
      name: 'thrower',
      setup: () => Promise.resolve(),
    });
    await broker.ready();
    const first = link.channel;
    first?.on('drain', () => {
      throw new Error('bug');
    });
    (first as unknown as { onBufferDrain(): void }).onBufferDrain();
    await waitUntil('a new channel', () => link.channel !== undefined && link.channel !== first);
  });

  test('distinguishes an unreachable broker from one that rejects the user', async () => {
    const nowhere = cleanup.broker('amqp://127.0.0.1:1');
    await expect(nowhere.ready(300)).rejects.toMatchObject({ code: 'BROKER_UNAVAILABLE', retryable: true });
    const wrong = new URL(server.url);
    wrong.password = 'wrong';
    const refused = cleanup.broker(wrong.href);
    // A broker under load refuses later than that.
    await waitUntil('refused', async () => {
      await expect(refused.ready(1_000)).rejects.toMatchObject({ code: 'BROKER_REFUSED', retryable: false });
      return true;
    });
    const absent = new URL(server.url);
    absent.pathname = '/absent';
    await expect(cleanup.broker(absent.href).ready(1_000)).rejects.toMatchObject({
      code: 'BROKER_UNAVAILABLE',
    });
  });

  test('closes quickly and finally on a silent network', async () => {
    const proxy = await startTcpProxy(Number(new URL(server.url).port));
    cleanup.add(() => proxy.close());
    const broker = cleanup.broker(proxy.through(server.url));
    await broker.ready();
    proxy.mode = 'blackhole';
    const start = Date.now();
    await broker.close();
    expect(Date.now() - start).toBeLessThan(10_000); // does not wait for missing heartbeats
    expect(broker.state).toBe('closed');
    expect(() => createPublisher(broker)).toThrow('closed');
  });
});
