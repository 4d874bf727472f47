import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { sql } from 'kysely';
import { queueName } from '@opentill/contracts/topology';
import type { Database } from '@opentill/db/database';
import { handleOnce } from '@opentill/db/inbox';
import { appendToOutbox, createOutboxStore, newEvent } from '@opentill/db/outbox';
import { connectBroker, type Broker } from '@opentill/messaging/connection';
import { startConsumer } from '@opentill/messaging/consumer';
import { declareTopology } from '@opentill/messaging/declare-topology';
import { createPublisher } from '@opentill/messaging/publisher';
import { startRelay } from '@opentill/messaging/relay';
import { systemClock } from '@opentill/runtime/clock';
import { newId } from '@opentill/runtime/ids';
import { createLogger } from '@opentill/runtime/logger';
import { createMetrics } from '@opentill/runtime/metrics';
import { scratchParent } from '@opentill/test-servers/scratch-directory';
import { startRabbitMqCluster, type NodeName, type RabbitMqCluster } from '../src/rabbitmq-cluster.ts';
import { createTestDatabase, type TestDatabase } from '../src/test-database.ts';
import { waitUntil } from '../src/wait-until.ts';

/*
 * Three RabbitMQ nodes on this machine. Replicas of a producer and a consumer use the services' settings and all
 * hosts. No poll restores lost messages here, so each event must arrive through the broker. Each test prints times.
 */

const QUEUE = queueName('webhook-sender', 'order.created');
const PRODUCERS = 3;
const CONSUMERS = 6;
/** A node that disappears without a word is declared down after 1 to 1.25 times this. NET_TICKTIME=60 sets the default. */
const NET_TICK_SECONDS = Number(process.env['NET_TICKTIME'] ?? 20);
const RECOVERY_MS = 300_000;
const TEST_MS = 900_000;

let dir: string;
let cluster: RabbitMqCluster;
let database: TestDatabase;
let admin: Database;
/** LOG=1 prints the log. */
const logger = createLogger({ service: 'test', level: process.env['LOG'] ? 'info' : 'silent' });
const cleanup: (() => Promise<void>)[] = [];

beforeAll(async () => {
  dir = mkdtempSync(join(scratchParent(), 'opentill-cluster-'));
  chmodSync(dir, 0o711);
  [cluster, database] = await Promise.all([
    startRabbitMqCluster(dir, NET_TICK_SECONDS),
    createTestDatabase(),
  ]);
  await cluster.ctl('one', 'await_online_nodes', '3', '--timeout', '120');
  await declareTopology(cluster.url, { callTimeoutMs: RECOVERY_MS });
  admin = database.open('admin');
  await sql`create table effect (event_id uuid)`.execute(admin.kysely);
  await sql`grant insert, select on effect to opentill_webhook`.execute(admin.kysely);
}, TEST_MS);
afterEach(async () => {
  for (const step of cleanup.splice(0).toReversed()) await step();
});
afterAll(async () => {
  await cluster?.stop();
  await admin?.close();
  await database?.drop();
  rmSync(dir, { recursive: true, force: true });
});

interface Load {
  /** Milliseconds of performance.now(), by event id. */
  readonly appended: ReadonlyMap<string, number>;
  readonly handled: ReadonlyMap<string, number>;
  /** Deliveries to each consumer. */
  readonly deliveries: readonly number[];
  allConnected(): boolean;
  /** Stops the writer, then waits until every event is handled. */
  finish(): Promise<{ readonly effects: number; readonly doubled: number; readonly waiting: number }>;
}

function connect(name: string): Broker {
  const broker = connectBroker({ url: cluster.url, logger, name });
  cleanup.push(() => broker.close());
  return broker;
}

/** Starts the consumers, which record each effect once. */
async function startConsumers(handled: Map<string, number>, deliveries: number[]): Promise<Broker[]> {
  const webhook = database.open('webhook');
  cleanup.push(() => webhook.close());
  const brokers: Broker[] = [];
  for (let replica = 0; replica < CONSUMERS; replica += 1) {
    const broker = connect(`consumer ${replica}`);
    brokers.push(broker);
    deliveries.push(0);
    const consumer = startConsumer({
      broker,
      service: 'webhook-sender',
      type: 'order.created',
      prefetch: 20,
      logger,
      metrics: createMetrics(`consumer${replica}`),
      async handle({ id }) {
        deliveries[replica] = (deliveries[replica] ?? 0) + 1;
        await handleOnce(webhook.kysely, { schema: 'webhook', consumer: QUEUE, eventId: id }, (tx) =>
          sql`insert into effect (event_id) values (${id})`.execute(tx),
        );
        if (!handled.has(id)) handled.set(id, performance.now());
      },
    });
    cleanup.push(() => consumer.stop());
    await broker.ready(RECOVERY_MS);
  }
  return brokers;
}

async function startLoad(): Promise<Load> {
  const api = database.open('api');
  cleanup.push(() => api.close());
  const appended = new Map<string, number>();
  const handled = new Map<string, number>();
  const deliveries: number[] = [];
  const brokers = await startConsumers(handled, deliveries);
  const store = createOutboxStore(api.kysely, 'api');
  const relays = [];
  for (let replica = 0; replica < PRODUCERS; replica += 1) {
    const broker = connect(`producer ${replica}`);
    brokers.push(broker);
    const publisher = createPublisher(broker);
    await broker.ready(RECOVERY_MS);
    const relay = startRelay({
      store,
      publisher,
      logger,
      metrics: createMetrics(`relay${replica}`),
    });
    cleanup.push(() => relay.stop());
    relays.push(relay);
  }
  let writing = true;
  const writer = (async () => {
    for (let turn = 0; writing; turn += 1) {
      const events = Array.from({ length: 5 }, () =>
        newEvent('order.created', '_', { orderPk: newId(), eventId: newId() }, { newId, clock: systemClock }),
      );
      await api.kysely.transaction().execute((tx) => appendToOutbox(tx, 'api', events));
      for (const { envelope } of events) appended.set(envelope.id, performance.now());
      relays[turn % PRODUCERS]?.wake();
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  })();
  cleanup.push(async () => {
    writing = false;
    await writer;
  });
  return {
    appended,
    handled,
    deliveries,
    allConnected: () => brokers.every(({ state }) => state === 'connected'),
    async finish() {
      writing = false;
      await writer;
      await waitUntil('every event handled', () => appended.size === handled.size, RECOVERY_MS);
      const { rows } = await sql<{ effects: number; doubled: number }>`
        select count(*)::int as effects, (count(*) - count(distinct event_id))::int as doubled from effect`.execute(
        admin.kysely,
      );
      const { events } = await store.backlog();
      return { effects: rows[0]?.effects ?? 0, doubled: rows[0]?.doubled ?? 0, waiting: events };
    },
  };
}

/** Every replica works, not only enough of them. */
async function allWork(load: Load): Promise<void> {
  await waitUntil('all are connected', load.allConnected, RECOVERY_MS);
  const before = [...load.deliveries];
  const grew = () => load.deliveries.every((count, replica) => count > (before[replica] ?? 0));
  await waitUntil('every consumer receives events', grew, RECOVERY_MS);
}

const traffic = async ({ handled }: Load, count = 100): Promise<void> => {
  const before = handled.size;
  await waitUntil('traffic', () => handled.size >= before + count, RECOVERY_MS);
};

/** Ends after the nodes have noticed the partition and the other side does all the work. */
async function outlastDetection(load: Load, victim: NodeName, survivor: NodeName): Promise<void> {
  const isDown = async () => !(await cluster.isUp(victim, survivor));
  await waitUntil('the others declare it down', isDown, RECOVERY_MS);
  if (await cluster.usesKhepri(survivor)) {
    // It continues to serve clients. Its consumers stay connected, and receive no message until the partition ends.
    expect(await cluster.acceptsClients(victim)).toBe(true);
    const before = [...load.deliveries];
    await traffic(load, 300);
    const idle = load.deliveries.filter((count, replica) => count === before[replica]).length;
    process.stdout.write(`cluster: ${idle} of ${CONSUMERS} consumers idle during the partition\n`);
  } else {
    const isPaused = async () => !(await cluster.acceptsClients(victim));
    await waitUntil('the isolated node stops serving clients', isPaused, RECOVERY_MS);
    await allWork(load);
  }
}

function report(what: string, fields: Readonly<Record<string, number | string>>): void {
  const texts = Object.entries(fields).map(([name, value]) => `${name} ${value}`);
  process.stdout.write(`cluster: ${what}: ${texts.join(', ')}\n`);
}
const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
const effectsBefore = { count: 0 };

/** Breaks the node with the queue's leader under load, waits until events flow, repairs it, and counts. */
async function surviveLossOf(
  what: string,
  fault: (node: NodeName) => void | Promise<void>,
  repair: (node: NodeName) => void | Promise<void>,
  untilRepair: (load: Load, victim: NodeName, survivor: NodeName) => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  const load = await startLoad();
  await traffic(load);
  const victim = await cluster.leaderOf(QUEUE, 'one');
  const survivor: NodeName = victim === 'one' ? 'two' : 'one';
  const faultMs = performance.now();
  await fault(victim);
  const isLater = (id: string): boolean => (load.appended.get(id) ?? 0) > faultMs;
  await waitUntil(
    'an event of after the fault is handled',
    () => [...load.handled.keys()].some(isLater),
    RECOVERY_MS,
  );
  const flowsMs = performance.now();
  const soFar = [...load.appended.keys()];
  await waitUntil('no event waits', () => soFar.every((id) => load.handled.has(id)), RECOVERY_MS);
  const caughtUpMs = performance.now();
  const hasOtherLeader = async () => (await cluster.leaderOf(QUEUE, survivor)) !== victim;
  await waitUntil('another node leads', hasOtherLeader, RECOVERY_MS);
  await untilRepair(load, victim, survivor);
  await repair(victim);
  await cluster.ctl(survivor, 'await_online_nodes', '3', '--timeout', '300');
  await traffic(load);
  await allWork(load);
  const result = await load.finish();
  const delivered = load.deliveries.reduce((sum, count) => sum + count);
  const waitsMs = [...load.handled].map(([id, atMs]) => atMs - (load.appended.get(id) ?? atMs));
  report(what, {
    events: load.appended.size,
    lost: effectsBefore.count + load.appended.size - (result.effects - result.doubled),
    'effects doubled': result.doubled,
    redelivered: delivered - load.handled.size,
    'first event after': seconds(flowsMs - faultMs),
    'none waits after': seconds(caughtUpMs - faultMs),
    'longest wait': seconds(Math.max(...waitsMs)),
  });
  expect(result).toEqual({ effects: effectsBefore.count + load.appended.size, doubled: 0, waiting: 0 });
  effectsBefore.count = result.effects;
}

test(
  'places three members of every queue where three nodes run',
  async () => {
    expect(await cluster.membersOf(QUEUE)).toBe(3);
    expect(await cluster.membersOf(`${QUEUE}.dead`)).toBe(3);
  },
  TEST_MS,
);

test(
  'gets missing members back by rabbitmq-queues grow',
  async () => {
    const spare: NodeName = (await cluster.leaderOf(QUEUE, 'one')) === 'three' ? 'two' : 'three';
    await cluster.queues('one', 'delete_member', QUEUE, `${spare}@localhost`);
    expect(await cluster.membersOf(QUEUE)).toBe(2);
    await cluster.queues('one', 'grow', `${spare}@localhost`, 'all');
    expect(await cluster.membersOf(QUEUE)).toBe(3);
    await cluster.queues('one', 'rebalance', 'quorum');
  },
  TEST_MS,
);

test(
  'loses and doubles no event when the leader is killed',
  async () => {
    await surviveLossOf('leader killed', cluster.kill, cluster.start);
  },
  TEST_MS,
);

test(
  'loses and doubles no event when the leader is frozen',
  async () => {
    await surviveLossOf('leader frozen', cluster.freeze, cluster.thaw);
  },
  TEST_MS,
);

test(
  'loses and doubles no event when the leader is cut off from the other nodes',
  async () => {
    await surviveLossOf('leader partitioned', cluster.isolate, cluster.heal, outlastDetection);
  },
  TEST_MS,
);
