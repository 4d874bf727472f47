import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { sql } from 'kysely';
import { randomUUID } from 'node:crypto';
import type { Database } from '../src/database.ts';
import { appendToOutbox, createOutboxStore, newEvent, type OutboxRow } from '../src/outbox.ts';
import { aCollection, aMerchant } from '@opentill/testkit/scenario';
import { waitUntil } from '@opentill/testkit/wait-until';
import { createTestDatabase, type TestDatabase } from '@opentill/testkit/test-database';

const deps = { newId: () => randomUUID() as string, clock: { now: () => new Date() } };

let testDatabase: TestDatabase;
let admin: Database;
let tracker: Database;
let replicas: Database[];
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  admin = testDatabase.open('admin');
  tracker = testDatabase.open('tracker');
  replicas = Array.from({ length: 3 }, () => testDatabase.open('tracker'));
});
beforeEach(async () => {
  await sql`delete from tracker.outbox`.execute(admin.kysely);
});
afterAll(async () => {
  await Promise.all([admin, tracker, ...replicas].map((database) => database.close()));
  await testDatabase.drop();
});

const changed = (orderPk: string, eventId = randomUUID() as string) =>
  newEvent('order.changed', '_', { moves: [{ orderPk, eventId }] }, deps);
const append = (count: number) =>
  tracker.kysely.transaction().execute((tx) =>
    appendToOutbox(
      tx,
      'tracker',
      Array.from({ length: count }, () => changed(randomUUID())),
    ),
  );
const waiting = async () =>
  (await sql<{ n: number }>`select count(*) as n from tracker.outbox`.execute(admin.kysely)).rows[0]!.n;

test('publishes an event as its envelope, with its routing key and trace', async () => {
  const event = newEvent(
    'transfer.detected',
    'EVM',
    { chain: 'ETH', transferIds: ['1'] },
    { newId: () => '01980000-0000-7000-8000-000000000000', clock: { now: () => new Date(1_000) } },
  );
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const traced = { ...changed('01980000-0000-7000-8000-000000000001'), traceparent };
  await tracker.kysely.transaction().execute((tx) => appendToOutbox(tx, 'tracker', [event, traced]));
  const seen: OutboxRow[] = [];
  const drained = await createOutboxStore(tracker.kysely, 'tracker').drain(
    10,
    async (rows) => void seen.push(...rows),
  );
  expect(drained).toBe(2);
  expect(seen).toEqual([
    {
      eventId: '01980000-0000-7000-8000-000000000000',
      routingKey: 'transfer.detected.evm',
      payload:
        '{"id":"01980000-0000-7000-8000-000000000000","type":"transfer.detected","version":1,"occurredAt":"1970-01-01T00:00:01.000Z","data":{"chain":"ETH","transferIds":["1"]}}',
      traceparent: null,
    },
    expect.objectContaining({ routingKey: 'order.changed._', traceparent }),
  ]);
});

test('a transaction that rolls back leaves no event', async () => {
  const work = tracker.kysely.transaction().execute(async (tx) => {
    await appendToOutbox(tx, 'tracker', [changed(randomUUID())]);
    throw new Error('changed my mind');
  });
  await expect(work).rejects.toThrow('changed my mind');
  expect(await waiting()).toBe(0);
});

test('16 writers and 3 relays publish each event once, in order per aggregate', async () => {
  const { merchantId } = await aMerchant(admin.kysely);
  const orders = await Promise.all(
    Array.from({ length: 6 }, () => aCollection(admin.kysely, { merchant_id: merchantId })),
  );
  const perWriter = 20;
  let writing = 16;
  const write = async (writer: number) => {
    for (let n = 0; n < perWriter; n += 1) {
      const order = orders[(writer + n) % orders.length]!;
      await tracker.kysely.transaction().execute(async (tx) => {
        // Locking the aggregate's row first makes ids follow the order of versions.
        const { version } = await tx
          .updateTable('orders')
          .set({ version: sql`version + 1` })
          .where('order_pk', '=', order.order_pk)
          .returning('version')
          .executeTakeFirstOrThrow();
        await appendToOutbox(tx, 'tracker', [
          changed(order.order_pk, String(version)),
          changed(order.order_pk, `${version}b`),
        ]);
      });
    }
    writing -= 1;
  };
  const published: { orderPk: string; eventId: string }[] = [];
  let publishing = 0;
  let busy = 0;
  const relay = async (replica: Database) => {
    const store = createOutboxStore(replica.kysely, 'tracker');
    for (;;) {
      const lastLook = writing === 0;
      const drained = await store.drain(37, async (rows) => {
        expect((publishing += 1)).toBe(1); // at most one active relay
        await new Promise((resolve) => setTimeout(resolve, 1));
        for (const row of rows)
          published.push(...(JSON.parse(row.payload) as { data: { moves: typeof published } }).data.moves);
        publishing -= 1;
      });
      if (drained === 'busy') busy += 1;
      if (lastLook && drained === 0) return;
      if (lastLook && drained === 'busy' && (await waiting()) === 0) return;
    }
  };
  await Promise.all([...Array.from({ length: 16 }, (_, writer) => write(writer)), ...replicas.map(relay)]);

  expect(published).toHaveLength(16 * perWriter * 2);
  expect(busy).toBeGreaterThan(0);
  for (const order of orders) {
    const versions = published
      .filter((event) => event.orderPk === order.order_pk)
      .map((event) => event.eventId);
    const first = 2; // the order was created with version 1
    expect(versions).toEqual(
      Array.from(
        { length: versions.length },
        (_, n) => `${first + Math.floor(n / 2)}${n % 2 === 0 ? '' : 'b'}`,
      ),
    );
  }
});

test('a failed publication keeps all events for the next run', async () => {
  await append(5);
  const store = createOutboxStore(tracker.kysely, 'tracker');
  const offered: string[][] = [];
  const fail = store.drain(3, async (rows) => {
    offered.push(rows.map((row) => row.eventId));
    throw new Error('the broker is away');
  });
  await expect(fail).rejects.toThrow('the broker is away');
  expect(await waiting()).toBe(5);
  expect(
    await store.drain(3, async (rows) => {
      offered.push(rows.map((row) => row.eventId));
    }),
  ).toBe(3);
  expect(offered[1]).toEqual(offered[0]);
  expect(await waiting()).toBe(2);
});

test('a relay that loses its connection while publishing deletes no event', async () => {
  await append(2);
  const drain = createOutboxStore(tracker.kysely, 'tracker').drain(10, async () => {
    await sql`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and usename = 'opentill_tracker' and state = 'idle in transaction'`.execute(
      admin.kysely,
    );
  });
  await expect(drain).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE', retryable: true });
  expect(await waiting()).toBe(2);
  // The server reports the end of the connection before it releases its locks.
  let published: unknown = 'busy';
  await waitUntil('the lock of the lost connection is gone', async () => {
    published = await createOutboxStore(tracker.kysely, 'tracker').drain(10, async () => undefined);
    return published !== 'busy';
  });
  expect(published).toBe(2);
});

test('a second relay of the service is busy; that of another service is not', async () => {
  await append(1);
  const one = createOutboxStore(replicas[0]!.kysely, 'tracker');
  const two = createOutboxStore(replicas[1]!.kysely, 'tracker');
  const api = testDatabase.open('api');
  const seen: unknown[] = [];
  await one.drain(1, async () => {
    seen.push(await two.drain(1, async () => undefined));
    seen.push(await createOutboxStore(api.kysely, 'api').drain(1, async () => undefined));
  });
  await api.close();
  expect(seen).toEqual(['busy', 0]);
});

test('locks of another service do not stop a relay', async () => {
  await append(2);
  const api = testDatabase.open('api');
  await api.kysely.transaction().execute(async (tx) => {
    await sql`select pg_advisory_xact_lock(hashtextextended('outbox:tracker', 0))`.execute(tx);
    const store = createOutboxStore(tracker.kysely, 'tracker');
    expect(await store.drain(10, async () => undefined)).toBe(2);
  });
  for (const statement of [
    'select from tracker.outbox_relay for update',
    'select from tracker.outbox_relay for key share',
    'lock table tracker.outbox_relay in access share mode',
    'update tracker.outbox_relay set one_row = true',
  ]) {
    const trying = api.kysely.transaction().execute((tx) => sql.raw(statement).execute(tx));
    await expect(trying).rejects.toMatchObject({
      code: 'DATABASE_FORBIDDEN',
    });
  }
  await api.close();
  for (const statement of [
    'delete from tracker.outbox_relay',
    'insert into tracker.outbox_relay default values',
  ]) {
    await expect(sql.raw(statement).execute(tracker.kysely)).rejects.toMatchObject({
      code: 'DATABASE_FORBIDDEN',
    });
  }
});

test('draining an empty outbox neither writes nor locks a row', async () => {
  const store = createOutboxStore(tracker.kysely, 'tracker');
  const lockedBy = async () =>
    (await sql<{ xmax: string }>`select xmax::text from tracker.outbox_relay`.execute(admin.kysely)).rows[0]
      ?.xmax;
  const before = await lockedBy();
  for (let n = 0; n < 5; n += 1) expect(await store.drain(10, async () => undefined)).toBe(0);
  expect(await lockedBy()).toBe(before);
  await append(1);
  await store.drain(10, async () => undefined);
  expect(await lockedBy()).not.toBe(before);
});

test('the backlog reports its count and age', async () => {
  const store = createOutboxStore(tracker.kysely, 'tracker');
  expect(await store.backlog()).toEqual({ events: 0, oldestSeconds: 0 });
  await append(3);
  await sql`update tracker.outbox set created_at = now() - interval '1 minute'`.execute(admin.kysely);
  const backlog = await store.backlog();
  expect(backlog.events).toBe(3);
  expect(backlog.oldestSeconds).toBeGreaterThanOrEqual(60);
});
