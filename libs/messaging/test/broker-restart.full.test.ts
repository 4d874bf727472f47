import { execFile } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { appendToOutbox, createOutboxStore, newEvent } from '@opentill/db/outbox';
import { findFreePort } from '@opentill/test-servers/free-port';
import { startRabbitMq, type RabbitMqServer } from '@opentill/test-servers/rabbitmq';
import { startConsumer } from '../src/consumer.ts';
import { declareTopology } from '../src/declare-topology.ts';
import { createPublisher } from '../src/publisher.ts';
import { startRelay } from '../src/relay.ts';
import { systemClock } from '@opentill/runtime/clock';
import { newId } from '@opentill/runtime/ids';
import { createMetrics } from '@opentill/runtime/metrics';
import { createTestDatabase, type TestDatabase } from '@opentill/testkit/test-database';
import { waitUntil } from '@opentill/testkit/wait-until';
import { createCleanup, logger } from './messaging-harness.ts';

let dir: string;
let port: number;
let server: RabbitMqServer;
let testDatabase: TestDatabase;
const cleanup = createCleanup();

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'opentill-restart-'));
  chmodSync(dir, 0o711);
  port = await findFreePort();
  [server, testDatabase] = await Promise.all([
    startRabbitMq({ dir: join(dir, 'rabbitmq'), port }),
    createTestDatabase(),
  ]);
  await declareTopology(server.url); // includes settleMs: kill -9 loses a queue declared just before
});
afterEach(() => cleanup.run());
afterAll(async () => {
  await server.stop('kill');
  await testDatabase.drop();
  rmSync(dir, { recursive: true });
});

async function startService() {
  const metrics = createMetrics('test');
  const database = testDatabase.open('api');
  cleanup.add(() => database.close());
  const broker = cleanup.broker(server.url);
  const publisher = createPublisher(broker, { confirmTimeoutMs: 1_000 });
  const handled = new Map<string, number>();
  const consumer = startConsumer({
    broker,
    service: 'webhook-sender',
    type: 'order.created',
    prefetch: 20,
    handle: (envelope) => {
      handled.set(envelope.id, (handled.get(envelope.id) ?? 0) + 1);
      return Promise.resolve();
    },
    logger,
    metrics,
  });
  cleanup.add(() => consumer.stop());
  await broker.ready();
  const store = createOutboxStore(database.kysely, 'api');
  const relay = startRelay({ store, publisher, logger, metrics });
  cleanup.add(() => relay.stop());
  async function append(count: number): Promise<string[]> {
    const events = Array.from({ length: count }, () =>
      newEvent('order.created', '_', { orderPk: newId(), eventId: newId() }, { newId, clock: systemClock }),
    );
    await database.kysely.transaction().execute((tx) => appendToOutbox(tx, 'api', events));
    relay.wake();
    return events.map((event) => event.envelope.id);
  }
  return { broker, publisher, consumer, handled, store, append, metrics };
}

test('resumes relay and consumer without loss after broker stops and kills under load', async () => {
  const { broker, consumer, handled, store, append } = await startService();
  const written: string[] = [];
  let writing = true;
  const writer = (async () => {
    while (writing) {
      written.push(...(await append(5)));
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  })();

  for (const mode of ['graceful', 'kill'] as const) {
    const before = handled.size;
    await waitUntil(`traffic before ${mode}`, () => handled.size > before + 50);
    await server.stop(mode);
    await waitUntil('loss noticed', () => broker.state === 'connecting' && !consumer.consuming);
    server = await startRabbitMq({ dir: join(dir, 'rabbitmq'), port });
    await broker.ready(90_000);
    const during = handled.size;
    await waitUntil('traffic again', () => handled.size > during + 50);
  }
  writing = false;
  await writer;
  await waitUntil('all handled', () => written.every((id) => handled.has(id)));
  expect((await store.backlog()).events).toBe(0);
  expect(handled.size).toBe(written.length);
});

test('declares deleted queues again under load and loses no unpublished event', async () => {
  const { broker, consumer, handled, store, append } = await startService();
  const before = await append(50);
  await waitUntil('traffic', () => before.every((id) => handled.has(id)));
  await server.stop('kill');
  await waitUntil('loss noticed', () => broker.state === 'connecting' && !consumer.consuming);

  rmSync(join(dir, 'rabbitmq', 'mnesia'), { recursive: true, force: true });
  const meanwhile = await append(50);
  server = await startRabbitMq({ dir: join(dir, 'rabbitmq'), port });
  // The set-up does not run here: the services' polls restore events of the old broker's queues.
  await waitUntil('consuming again', () => consumer.consuming);
  await waitUntil('all handled', () => meanwhile.every((id) => handled.has(id)));
  expect((await store.backlog()).events).toBe(0);
  const again = await append(50);
  await waitUntil('all handled', () => again.every((id) => handled.has(id)));
});

test('fails publishing but keeps consuming during a memory alarm, then sends all', async () => {
  const { publisher, consumer, handled, append, metrics } = await startService();
  const ctl = (...args: string[]) =>
    promisify(execFile)(server.ctl.command, args, { env: { ...process.env, ...server.ctl.env } });
  await ctl('set_vm_memory_high_watermark', '0.000001');
  const ids: string[] = [];
  await waitUntil('blocked', async () => {
    ids.push(...(await append(1)));
    return publisher.state === 'blocked';
  });
  await waitUntil('rejected at once', async () =>
    /opentill_outbox_failures_total{code="BROKER_BLOCKED"[^}]*} [1-9]/.test(await metrics.render()),
  );
  expect(consumer.consuming).toBe(true);
  await ctl('set_vm_memory_high_watermark', '0.8');
  await waitUntil('all handled', () => ids.every((id) => handled.has(id)));
  expect(publisher.state).toBe('open');
});
