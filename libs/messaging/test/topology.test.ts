import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DEAD_EXCHANGE, EVENTS_EXCHANGE, queues } from '@opentill/contracts/topology';
import { declareTopology } from '../src/declare-topology.ts';
import { createTestBroker, type TestBroker } from '@opentill/testkit/test-broker';

let server: TestBroker;
beforeAll(async () => {
  server = await createTestBroker({ declare: false });
});
afterAll(() => server.drop());

const names = queues().flatMap((queue) => [queue.name, queue.deadLetterQueue]);

async function expectNoCanary(): Promise<void> {
  for (const queue of ['opentill.canary', 'opentill.canary.dead']) expect(await server.depth(queue)).toBe(0);
}

describe('declareTopology', () => {
  test('declares every queue, waits, and reports the new ones', async () => {
    const start = Date.now();
    const first = await declareTopology(server.url, { settleMs: 100 });
    expect(Date.now() - start).toBeGreaterThanOrEqual(100);
    expect([...first.declared].sort()).toEqual([...names, 'opentill.canary', 'opentill.canary.dead'].sort());
    const again = await declareTopology(server.url);
    expect(again.declared).toEqual([]);
    expect([...again.verified].sort()).toEqual([...first.declared].sort());
  });

  test('leaves messages in the queues as they were', async () => {
    await server.publish('order.created._', 'a message that waits');
    await declareTopology(server.url);
    const depths = await Promise.all(names.map((name) => server.depth(name)));
    expect(depths.reduce((sum, depth) => sum + depth, 0)).toBe(1);
    await expectNoCanary();
    const [message] = await server.take('webhook-sender.order-created');
    expect(message?.content.toString()).toBe('a message that waits');
    expect(message?.fields.redelivered).toBe(false);
  });

  test('keeps the canaries of concurrent runs apart', async () => {
    await Promise.all([1, 2, 3, 4, 5].map(() => declareTopology(server.url)));
    await expectNoCanary();
  });

  test('ignores canaries that earlier runs left behind', async () => {
    const channel = await server.channel();
    for (const [exchange, key] of [
      [EVENTS_EXCHANGE, 'opentill.canary._'],
      [DEAD_EXCHANGE, 'opentill.canary.dead'],
    ] as const)
      for (const messageId of ['one', 'another'])
        channel.publish(exchange, key, Buffer.from('canary'), { messageId, timestamp: Date.now() });
    await channel.waitForConfirms();
    await declareTopology(server.url);
    await expectNoCanary();
  });

  test('routes every event to the queues of its consumers', async () => {
    for (const type of new Set(queues().map((queue) => queue.type)))
      await server.publish(`${type}.evm`, type);
    for (const { name, type } of queues()) {
      expect((await server.take(name)).map((message) => message.content.toString())).toEqual([type]);
    }
  });

  test('names a queue that exists with other arguments', async () => {
    const other = await createTestBroker({ declare: false });
    try {
      await (await other.channel()).assertQueue('webhook-sender.order-changed', { durable: true });
      await expect(declareTopology(other.url)).rejects.toMatchObject({
        code: 'TOPOLOGY_BROKEN',
        retryable: false,
        message: expect.stringContaining('webhook-sender.order-changed'),
      });
    } finally {
      await other.drop();
    }
  });

  test('distinguishes an unreachable broker from one that rejects the user', async () => {
    await expect(declareTopology('amqp://127.0.0.1:1')).rejects.toMatchObject({ code: 'BROKER_UNAVAILABLE' });
    const wrong = new URL(server.url);
    wrong.password = 'wrong';
    await expect(declareTopology(wrong.href)).rejects.toMatchObject({ code: 'BROKER_REFUSED' });
    await expect(declareTopology(await server.urlFor('api'))).rejects.toMatchObject({
      code: 'BROKER_REFUSED',
    });
  });
});
