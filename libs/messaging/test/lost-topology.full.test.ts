import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { queues } from '@opentill/contracts/topology';
import { connectBroker } from '../src/connection.ts';
import { declareTopology } from '../src/declare-topology.ts';
import { createPublisher } from '../src/publisher.ts';
import { startTcpProxy } from '@opentill/testkit/tcp-proxy';
import { createTestBroker, type TestBroker } from '@opentill/testkit/test-broker';
import { waitUntil } from '@opentill/testkit/wait-until';
import { deleteTopology } from './delete-topology.ts';
import { createCleanup, logger } from './messaging-harness.ts';

let server: TestBroker;
const cleanup = createCleanup();
beforeAll(async () => {
  server = await createTestBroker();
});
afterEach(() => cleanup.run());
afterAll(() => server.drop());

test('closes in time when the broker falls silent while the topology is restored', async () => {
  const proxy = await startTcpProxy(Number(new URL(server.url).port || 5672));
  cleanup.add(() => proxy.close());
  const [first, second] = queues().map(({ deadLetterQueue }) => deadLetterQueue);
  const has = async (queue = '') => {
    const channel = await server.channel();
    return channel.checkQueue(queue).then(
      () => true,
      () => false,
    );
  };
  /** @returns the time that closing took, and whether the second queue was already declared */
  const closeIn = async (silentFrom: 'the connection' | 'the middle') => {
    const broker = connectBroker({ url: proxy.through(server.url), logger, name: 'test' });
    createPublisher(broker);
    await broker.ready();
    await deleteTopology(server, 'webhook-sender.order-created');
    if (silentFrom === 'the connection') proxy.mode = 'blackhole';
    else proxy.delayMs = 300;
    broker.topologyMissing('a queue');
    if (silentFrom === 'the middle') await waitUntil('it has begun', () => has(first));
    proxy.mode = 'blackhole';
    const began = performance.now();
    await broker.close();
    const tookMs = performance.now() - began;
    expect(broker.state).toBe('closed');
    const wasLate = silentFrom === 'the middle' && (await has(second));
    proxy.reset();
    proxy.delayMs = 0;
    proxy.mode = 'pass';
    return { isQuick: tookMs < 2_500, wasLate };
  };
  for (const silentFrom of ['the connection', 'the middle'] as const) {
    // Under load a try may be slow, or the silence too late. Waiting for the broker takes five seconds on every try.
    let closed = await closeIn(silentFrom);
    for (let tries = 1; tries < 6 && (closed.wasLate || !closed.isQuick); tries += 1)
      closed = await closeIn(silentFrom);
    expect(closed).toEqual({ isQuick: true, wasLate: false });
  }
  await declareTopology(server.url, { settleMs: 0 });
});
