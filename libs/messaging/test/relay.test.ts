import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { queueName } from '@opentill/contracts/topology';
import type { Database } from '@opentill/db/database';
import { appendToOutbox, createOutboxStore, newEvent } from '@opentill/db/outbox';
import { createPublisher } from '../src/publisher.ts';
import { startRelay } from '../src/relay.ts';
import { systemClock } from '@opentill/runtime/clock';
import { newId } from '@opentill/runtime/ids';
import { createMetrics } from '@opentill/runtime/metrics';
import { createTestBroker, type TestBroker } from '@opentill/testkit/test-broker';
import { createTestDatabase, type TestDatabase } from '@opentill/testkit/test-database';
import { waitUntil } from '@opentill/testkit/wait-until';
import { createCleanup, logger, TIMEOUT_MS } from './messaging-harness.ts';

const queue = queueName('webhook-sender', 'order.created');
const cleanup = createCleanup();
let server: TestBroker;
let testDatabase: TestDatabase;
let database: Database;

beforeAll(async () => {
  [server, testDatabase] = await Promise.all([createTestBroker(), createTestDatabase()]);
});
afterAll(async () => {
  await Promise.all([server.drop(), testDatabase.drop()]);
});
beforeEach(() => {
  database = testDatabase.open('api');
});
afterEach(async () => {
  await cleanup.run();
  await database.kysely.deleteFrom('api.outbox').execute();
  await database.close();
  await server.take(queue);
});

async function append(count: number): Promise<string[]> {
  const events = Array.from({ length: count }, () =>
    newEvent('order.created', '_', { orderPk: newId(), eventId: newId() }, { newId, clock: systemClock }),
  );
  await database.kysely.transaction().execute((tx) => appendToOutbox(tx, 'api', events));
  return events.map((event) => event.envelope.id);
}

/** No queue takes its routing key, also after the topology is restored. */
async function appendUnroutable(): Promise<string[]> {
  const moves = [{ orderPk: newId(), eventId: newId() }];
  const event = {
    ...newEvent('order.changed', '_', { moves }, { newId, clock: systemClock }),
    routingKey: 'order.unknown._',
  };
  await database.kysely.transaction().execute((tx) => appendToOutbox(tx, 'api', [event]));
  return [event.envelope.id];
}

async function start(options: { batch?: number; idleMs?: number } = {}) {
  const metrics = createMetrics('test');
  const broker = cleanup.broker(server.url);
  const publisher = createPublisher(broker, { confirmTimeoutMs: TIMEOUT_MS });
  await broker.ready();
  const relay = startRelay({
    store: createOutboxStore(database.kysely, 'api'),
    publisher,
    logger,
    metrics,
    idleMs: 60_000,
    ...options,
  });
  cleanup.add(() => relay.stop());
  return { relay, publisher, broker, metrics };
}

async function waiting(): Promise<number> {
  return (await createOutboxStore(database.kysely, 'api').backlog()).events;
}
const delivered = async () =>
  (await server.take(queue)).map((message) => String(message.properties.messageId));

describe('startRelay', () => {
  test('publishes waiting rows at start, in order and in several batches', async () => {
    const ids = await append(1_050);
    await start({ batch: 100 });
    await waitUntil('drained', async () => (await waiting()) === 0);
    expect(await delivered()).toEqual(ids);
  });

  test('publishes within milliseconds of a commit when woken', async () => {
    const { relay } = await start();
    let published = 0;
    const medianOfTwenty = async (): Promise<number> => {
      const took: number[] = [];
      for (let round = 0; round < 20; round += 1) {
        await append(1);
        published += 1;
        const committed = performance.now();
        relay.wake();
        while ((await server.depth(queue)) !== published) await new Promise(setImmediate);
        took.push(performance.now() - committed);
      }
      return took.sort((a, b) => a - b)[10]!;
    };
    // A machine under load is slow now and then. A relay that waits for its next poll is slow each time.
    const medians = [await medianOfTwenty()];
    while (medians.at(-1)! >= 250 && medians.length < 10) medians.push(await medianOfTwenty());
    expect(medians.at(-1)).toBeLessThan(250);
  });

  test('finds rows by polling when it is not woken', async () => {
    await start({ idleMs: 20 });
    const ids = await append(1);
    await waitUntil('drained', async () => (await waiting()) === 0);
    expect(await delivered()).toEqual(ids);
  });

  test('publishes every row once and in order with two replicas', async () => {
    const one = await start({ batch: 20, idleMs: 5 });
    const two = await start({ batch: 20, idleMs: 5 });
    const ids: string[] = [];
    for (let round = 0; round < 30; round += 1) {
      ids.push(...(await append(10)));
      one.relay.wake();
      two.relay.wake();
    }
    await waitUntil('drained', async () => (await waiting()) === 0);
    expect(await delivered()).toEqual(ids);
  });

  test('publishes rows committed while another replica drains without delay', async () => {
    const [first] = await append(1);
    let finish: () => void = () => undefined;
    let taken: readonly string[] = [];
    const otherReplica = createOutboxStore(database.kysely, 'api').drain(10, (rows) => {
      taken = rows.map((row) => row.eventId);
      return new Promise((resolve) => (finish = resolve));
    });
    await waitUntil('the other one drains', () => taken.length > 0);
    const { relay } = await start();
    const [second] = await append(1);
    relay.wake();
    finish();
    expect(await otherReplica).toBe(1);
    expect(taken).toEqual([first]);
    await waitUntil('drained', async () => (await waiting()) === 0);
    expect(await delivered()).toEqual([second]);
  });

  test('keeps an unpublishable row first, without overtaking or repeated sends', async () => {
    const { relay, metrics } = await start();
    const before = await append(3);
    const channel = await server.channel();
    const stuck = await appendUnroutable();
    const behind = await append(3);
    relay.wake();
    const failures = async () =>
      Number(/code="PUBLISH_UNROUTABLE"[^}]*} (\d+)/.exec(await metrics.render())?.[1] ?? 0);
    await waitUntil('only this row is tried', async () => (await failures()) >= 4);
    const early = await delivered();
    expect(new Set(early.filter((id) => before.includes(id)))).toEqual(new Set(before));
    expect(early.filter((id) => behind.includes(id)).length).toBeLessThanOrEqual(2 * behind.length);
    const seen = await failures();
    await waitUntil('tried again', async () => (await failures()) >= seen + 2);
    expect(await delivered()).toEqual([]);
    expect(await waiting()).toBe(4);
    expect(await metrics.render()).toMatch(/opentill_outbox_waiting_count{[^}]*} 4/);
    await channel.bindQueue('webhook-sender.order-changed', 'opentill.events', 'order.unknown.*');
    await waitUntil('drained', async () => (await waiting()) === 0);
    expect(await delivered()).toEqual(behind);
    expect((await server.take('webhook-sender.order-changed')).map((m) => m.properties.messageId)).toEqual(
      stuck,
    );
    const lag = async () => /opentill_outbox_lag_seconds{[^}]*} 0/.test(await metrics.render());
    await waitUntil('the lag is zero', lag); // after the commit that drained it
  });

  test('resumes after the broker cut the connection', async () => {
    const { relay, publisher } = await start();
    await waitUntil('cut', async () => {
      await server.cutConnections();
      return publisher.state === 'connecting';
    });
    const ids = await append(5);
    relay.wake();
    await waitUntil('drained', async () => (await waiting()) === 0);
    expect(await delivered()).toEqual(ids);
  });

  test('stops while the broker is down', async () => {
    const { relay, broker } = await start();
    await broker.close();
    await append(5);
    relay.wake();
    await relay.stop();
    expect(await waiting()).toBe(5);
  });
});
