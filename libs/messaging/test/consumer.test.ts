import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Message } from 'amqplib';
import type { EventEnvelope } from '@opentill/contracts/event-catalog';
import { queueName } from '@opentill/contracts/topology';
import { GatewayError } from '@opentill/domain/gateway-error';
import { startConsumer, type ConsumerOptions } from '../src/consumer.ts';
import { declareTopology } from '../src/declare-topology.ts';
import { MAX_FAILURES } from '../src/classify-failure.ts';
import { createMetrics, type Metrics } from '@opentill/runtime/metrics';
import { startTcpProxy } from '@opentill/testkit/tcp-proxy';
import { createTestBroker, type TestBroker } from '@opentill/testkit/test-broker';
import { waitUntil } from '@opentill/testkit/wait-until';
import { anEnvelope, anOrderCreated, createCleanup, logger, toMessage } from './messaging-harness.ts';

const type = 'order.created';
const queue = queueName('webhook-sender', type);
const dead = `${queue}.dead`;
const cleanup = createCleanup();
let server: TestBroker;
let metrics: Metrics;
beforeAll(async () => {
  server = await createTestBroker();
});
afterAll(() => server.drop());
beforeEach(() => {
  metrics = createMetrics('test');
});
afterEach(async () => {
  await cleanup.run();
  await server.take(queue);
  await server.take(dead);
});

type Options = Partial<ConsumerOptions<typeof type>>;

async function consume(
  handle: ConsumerOptions<typeof type>['handle'],
  options: Options = {},
  url = server.url,
) {
  const broker = cleanup.broker(url);
  const consumer = startConsumer({
    broker,
    service: 'webhook-sender',
    type,
    prefetch: 20,
    handle,
    logger,
    metrics,
    firstRetryDelayMs: 5,
    maxRetryDelayMs: 20,
    ...options,
  });
  cleanup.add(() => consumer.stop());
  await broker.ready();
  return { broker, consumer };
}

async function send(envelope: EventEnvelope): Promise<void> {
  const { routingKey, payload } = toMessage(envelope);
  await server.publish(routingKey, payload);
}

/** No message waits or is unacknowledged, also after the consumer has left the queue. */
async function expectSettled(consumer: { stop(): Promise<void> }): Promise<void> {
  await consumer.stop();
  await waitUntil('the queue has no consumer', async () => (await server.consumers(queue)) === 0);
  expect(await server.depth(queue)).toBe(0);
}
async function counted(outcome: string): Promise<number> {
  const line = new RegExp(
    `^opentill_events_consumed_total{queue="${queue}",outcome="${outcome}".*} (\\d+)$`,
    'm',
  );
  return Number(line.exec(await metrics.render())?.[1] ?? 0);
}
const retryable = (code: string) => new GatewayError(code, 'later', { retryable: true });

describe('startConsumer', () => {
  test('acknowledges handled messages and runs handlers in parallel up to the prefetch', async () => {
    const seen: string[] = [];
    let running = 0;
    let most = 0;
    const full = Promise.withResolvers<void>();
    const { consumer } = await consume(
      async (envelope) => {
        most = Math.max(most, (running += 1));
        if (running === 5) full.resolve();
        await full.promise;
        await new Promise((resolve) => setTimeout(resolve, 10));
        running -= 1;
        seen.push(envelope.data.orderPk);
      },
      { prefetch: 5 },
    );
    expect(consumer.consuming).toBe(true);
    const envelopes = Array.from({ length: 30 }, anOrderCreated);
    await Promise.all(envelopes.map(send));
    await waitUntil('all handled', () => seen.length === 30);
    expect([...seen].sort()).toEqual(envelopes.map((envelope) => envelope.data.orderPk).sort());
    expect(most).toBe(5);
    await expectSettled(consumer);
    expect(consumer.consuming).toBe(false);
    expect(await counted('handled')).toBe(30);
  });

  test('retries a retryable failure with growing pauses until it is handled', async () => {
    const times: number[] = [];
    const { consumer } = await consume(
      () => {
        times.push(Date.now());
        return times.length < 4 ? Promise.reject(retryable('PROVIDER_LAGS')) : Promise.resolve();
      },
      { firstRetryDelayMs: 40, maxRetryDelayMs: 1_000 },
    );
    await send(anOrderCreated());
    await waitUntil('handled', async () => (await counted('handled')) === 1);
    const pauses = times.slice(1).map((time, index) => time - (times[index] ?? 0));
    expect(pauses[0]).toBeGreaterThanOrEqual(19);
    expect(pauses[2]).toBeGreaterThanOrEqual(79);
    await expectSettled(consumer);
    expect(await server.depth(dead)).toBe(0);
  });

  test.each([
    ['rejects', () => Promise.reject(retryable('PROVIDER_LAGS'))],
    [
      'throws before its first await',
      () => {
        throw new TypeError('bug');
      },
    ],
    ['throws a string', () => Promise.reject('text' as unknown as Error)],
  ])('dead-letters a message after the limit when its handler always %s', async (_name, fail) => {
    let runs = 0;
    const { consumer } = await consume(() => {
      runs += 1;
      return fail();
    });
    const envelope = anOrderCreated();
    await send(envelope);
    await waitUntil('dead', async () => (await server.depth(dead)) === 1);
    expect(runs).toBe(MAX_FAILURES);
    const [letter] = await server.take(dead);
    expect(JSON.parse(letter?.content.toString() ?? '')).toEqual(envelope);
    await expectSettled(consumer);
    expect(await counted('dead')).toBe(1);
  });

  test('does not count failures while infrastructure is down', async () => {
    let runs = 0;
    const { consumer } = await consume(() => {
      runs += 1;
      return runs <= MAX_FAILURES * 3 ? Promise.reject(retryable('DATABASE_UNAVAILABLE')) : Promise.resolve();
    });
    await send(anOrderCreated());
    await waitUntil('handled', async () => (await counted('handled')) === 1);
    expect(runs).toBe(MAX_FAILURES * 3 + 1);
    await expectSettled(consumer);
    expect(await server.depth(dead)).toBe(0);
  });

  test('dead-letters a permanent failure at once', async () => {
    let runs = 0;
    const { consumer } = await consume(() => {
      runs += 1;
      return Promise.reject(new GatewayError('ORDER_UNKNOWN', 'no', { retryable: false }));
    });
    await send(anOrderCreated());
    await waitUntil('dead', async () => (await server.depth(dead)) === 1);
    expect(runs).toBe(1);
    await expectSettled(consumer);
  });

  test.each([
    ['not JSON', 'not { json'],
    ['nothing', ''],
    ['null', 'null'],
    ['another type', JSON.stringify({ ...anOrderCreated(), type: 'order.changed' })],
    ['another version', JSON.stringify({ ...anOrderCreated(), version: 2 })],
    ['no id', JSON.stringify({ ...anOrderCreated(), id: undefined })],
    ['no time', JSON.stringify({ ...anOrderCreated(), occurredAt: 'yesterday' })],
    ['data of another schema', JSON.stringify({ ...anOrderCreated(), data: { orderPk: 7 } })],
    ['too much', JSON.stringify({ ...anOrderCreated(), more: 'x'.repeat(300_000) })],
  ])('dead-letters an unreadable message (%s) and handles the next one', async (_name, content) => {
    const handled: string[] = [];
    const { consumer } = await consume((envelope) => {
      handled.push(envelope.id);
      return Promise.resolve();
    });
    const good = anOrderCreated();
    await server.publish('order.created._', content);
    await send({ ...good, futureField: 1 } as typeof good);
    await waitUntil('dead', async () => (await server.depth(dead)) === 1);
    await waitUntil('next', () => handled.includes(good.id));
    expect(handled).toEqual([good.id]);
    expect((await server.take(dead))[0]?.content.toString()).toBe(content);
    await expectSettled(consumer);
    expect(await counted('unreadable')).toBe(1);
  });

  test('fails a hanging handler at its time limit', async () => {
    let runs = 0;
    await consume(() => ((runs += 1) === 1 ? cleanup.hang() : Promise.resolve()), {
      handleTimeoutMs: 30,
    });
    await send(anOrderCreated());
    await waitUntil('handled', async () => (await counted('handled')) === 1);
    expect(runs).toBe(2);
  });

  test('handles other messages while one waits for its retry', async () => {
    const bad = anOrderCreated();
    const handled: string[] = [];
    await consume(
      (envelope) => {
        if (envelope.id === bad.id) return Promise.reject(retryable('PROVIDER_LAGS'));
        handled.push(envelope.id);
        return Promise.resolve();
      },
      { firstRetryDelayMs: 60_000, maxRetryDelayMs: 60_000, prefetch: 2 },
    );
    await send(bad);
    const others = Array.from({ length: 20 }, anOrderCreated);
    for (const other of others) await send(other);
    await waitUntil('others', () => handled.length === 20);
    expect(handled).toEqual(others.map((other) => other.id));
  });
});

describe('stopping and losing a consumer', () => {
  test('waits on stop for running handlers and requeues the rest at once', async () => {
    const finish: (() => void)[] = [];
    const { consumer } = await consume(() => new Promise((resolve) => finish.push(resolve)), {
      prefetch: 3,
      drainTimeoutMs: 300_000,
    });
    for (let count = 0; count < 10; count += 1) await send(anOrderCreated());
    await waitUntil('three in flight', () => finish.length === 3);
    let stopped = false;
    const stopping = consumer.stop().then(() => (stopped = true));
    await send(anOrderCreated());
    await waitUntil('the other eight are requeued', async () => (await server.depth(queue)) === 8);
    expect(stopped).toBe(false);
    finish.forEach((end) => end());
    await stopping;
    expect(finish).toHaveLength(3);
    await waitUntil('the queue has no consumer', async () => (await server.consumers(queue)) === 0);
    expect(await server.depth(queue)).toBe(8);
  });

  test('delivers the last acknowledgements when it stops', async () => {
    // A quorum queue takes 32 commands of a channel at a time. More acks at the very end may be lost.
    const unacknowledged = 30;
    const finish: (() => void)[] = [];
    const { consumer } = await consume(() => new Promise((resolve) => finish.push(resolve)), {
      prefetch: unacknowledged,
    });
    await Promise.all(Array.from({ length: unacknowledged }, () => send(anOrderCreated())));
    await waitUntil('all in flight', () => finish.length === unacknowledged);
    const stopping = consumer.stop();
    finish.forEach((end) => end());
    await stopping;
    await waitUntil('the queue has no consumer', async () => (await server.consumers(queue)) === 0);
    expect(await server.depth(queue)).toBe(0);
  });

  test('replaces a channel that the broker closes', async () => {
    let channels = 0;
    const broker = cleanup.broker(server.url);
    const link = broker.openLink({
      name: 'double ack',
      setup: () => Promise.resolve(void (channels += 1)),
    });
    await broker.ready();
    link.channel?.ack({ fields: { deliveryTag: 99 } } as Message);
    await waitUntil('replaced', () => channels === 2);
  });

  test('requeues a message that waits for its retry when it stops', async () => {
    const { consumer } = await consume(() => Promise.reject(retryable('PROVIDER_LAGS')), {
      firstRetryDelayMs: 600_000,
      maxRetryDelayMs: 600_000,
      drainTimeoutMs: 300_000,
    });
    await send(anOrderCreated());
    await waitUntil('failed once', async () => (await counted('retried')) === 1);
    const start = Date.now();
    await consumer.stop();
    expect(Date.now() - start).toBeLessThan(60_000); // shorter than the pause and the drain time
    await waitUntil('back in the queue', async () => (await server.depth(queue)) === 1);
  });

  test('abandons a hanging handler after the drain time', async () => {
    const { consumer } = await consume(() => cleanup.hang(), { drainTimeoutMs: 100 });
    await send(anOrderCreated());
    await waitUntil('messages unacknowledged', async () => (await server.depth(queue)) === 0);
    const start = Date.now();
    await consumer.stop();
    expect(Date.now() - start).toBeLessThan(60_000);
    await waitUntil('back in the queue', async () => (await server.depth(queue)) === 1);
  });

  test('redelivers the messages of a dead consumer to another consumer', async () => {
    const proxy = await startTcpProxy(Number(new URL(server.url).port));
    cleanup.add(() => proxy.close());
    let held = 0;
    const first = await consume(
      () => {
        held += 1;
        return cleanup.hang();
      },
      { drainTimeoutMs: 10 },
      proxy.through(server.url),
    );
    for (let count = 0; count < 5; count += 1) await send(anOrderCreated());
    await waitUntil('all held', () => held === 5);
    const handled: string[] = [];
    await consume((envelope) => {
      handled.push(envelope.id);
      return Promise.resolve();
    });
    expect(handled).toEqual([]);
    proxy.mode = 'refuse';
    proxy.reset();
    await waitUntil('handled by the other', () => handled.length === 5);
    expect(first.consumer.consuming).toBe(false);
  });

  test('handles a message again when the connection was lost under its handler', async () => {
    const finish: (() => void)[] = [];
    const proxy = await startTcpProxy(Number(new URL(server.url).port));
    cleanup.add(() => proxy.close());
    const { broker, consumer } = await consume(
      () => new Promise((resolve) => finish.push(resolve)),
      {},
      proxy.through(server.url),
    );
    await send(anOrderCreated());
    await waitUntil('in flight', () => finish.length === 1);
    proxy.reset();
    await waitUntil('cut', () => !consumer.consuming);
    finish[0]?.();
    await broker.ready();
    await waitUntil('delivered again', () => finish.length === 2);
    finish[1]?.();
    await expectSettled(consumer);
  });

  test('abandons a retry and handles the redelivery when the connection is lost', async () => {
    let runs = 0;
    const proxy = await startTcpProxy(Number(new URL(server.url).port));
    cleanup.add(() => proxy.close());
    const { consumer, broker } = await consume(
      () => ((runs += 1) === 1 ? Promise.reject(retryable('PROVIDER_LAGS')) : Promise.resolve()),
      { firstRetryDelayMs: 600_000, maxRetryDelayMs: 600_000 },
      proxy.through(server.url),
    );
    await send(anOrderCreated());
    await waitUntil('failed once', async () => (await counted('retried')) === 1);
    proxy.reset();
    await waitUntil('cut', () => !consumer.consuming);
    await broker.ready();
    await waitUntil('handled', async () => (await counted('handled')) === 1);
    await waitUntil('no message in flight', async () =>
      /opentill_events_in_flight_count{[^}]*} 0\n/.test(await metrics.render()),
    );
    expect(runs).toBe(2);
  });

  test('consumes again from a queue that was deleted and declared', async () => {
    const other = await createTestBroker();
    cleanup.add(() => other.drop());
    const handled: string[] = [];
    const { consumer } = await consume(
      (envelope) => {
        handled.push(envelope.id);
        return Promise.resolve();
      },
      {},
      other.url,
    );
    const channel = await other.channel();
    await channel.deleteQueue(queue);
    await waitUntil('cancelled', () => !consumer.consuming);
    await declareTopology(other.url, { settleMs: 0 });
    await waitUntil('subscribed again', () => consumer.consuming);
    const envelope = anOrderCreated();
    await other.publish('order.created._', toMessage(envelope).payload);
    await waitUntil('handled', () => handled.includes(envelope.id));
  });

  test('lets the user of a service read only its own queues', async () => {
    const handled: string[] = [];
    const { consumer } = await consume(
      (envelope) => {
        handled.push(envelope.id);
        return Promise.resolve();
      },
      {},
      await server.urlFor('webhook-sender'),
    );
    await send(anOrderCreated());
    await waitUntil('handled', () => handled.length === 1);
    await server.publish('order.created._', 'unreadable'); // dead-lettering needs no right to publish
    await waitUntil('dead-lettered', async () => (await server.depth(dead)) === 1);
    expect(consumer.consuming).toBe(true);
    const foreign = cleanup.broker(await server.urlFor('api'));
    const stolen = startConsumer({
      broker: foreign,
      service: 'webhook-sender',
      type,
      prefetch: 1,
      handle: () => Promise.resolve(),
      logger,
      metrics,
    });
    cleanup.add(() => stolen.stop());
    await expect(foreign.ready(500)).rejects.toMatchObject({ code: 'BROKER_UNAVAILABLE' });
    expect(stolen.consuming).toBe(false);
  });

  test('parses the data of another event type', async () => {
    const broker = cleanup.broker(server.url);
    const heights: number[] = [];
    const consumer = startConsumer({
      broker,
      service: 'confirmation-tracker',
      type: 'block.verified',
      prefetch: 20,
      handle: (envelope) => {
        heights.push(envelope.data.height);
        return Promise.resolve();
      },
      logger,
      metrics,
    });
    cleanup.add(() => consumer.stop());
    await broker.ready();
    const data = { chain: 'ETH_SEPOLIA', height: 7, blockTimeSeconds: 1, transferIds: ['1'] } as const;
    await server.publish(
      'block.verified.evm',
      JSON.stringify(anEnvelope('block.verified', { ...data, transferIds: ['1'] })),
    );
    await waitUntil('handled', () => heights.length === 1);
    expect(heights).toEqual([7]);
  });
});
