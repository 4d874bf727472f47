import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { sql } from 'kysely';
import type { Database, Db } from '../src/database.ts';
import {
  FIRST_CALLBACK,
  deleteEndedCallbacksPage,
  rollDeliveryAttempts,
  rollInbox,
} from '../src/housekeeping.ts';
import { handleOnce } from '../src/inbox.ts';
import { aCollection, type OrderRow } from '@opentill/testkit/scenario';
import { createTestDatabase, type TestDatabase } from '@opentill/testkit/test-database';
import { waitUntil } from '@opentill/testkit/wait-until';

let testDatabase: TestDatabase;
let admin: Database;
let tracker: Database;
let webhook: Database;
beforeEach(async () => {
  testDatabase = await createTestDatabase();
  admin = testDatabase.open('admin');
  tracker = testDatabase.open('tracker');
  webhook = testDatabase.open('webhook');
});
afterEach(async () => {
  await Promise.all([admin.close(), tracker.close(), webhook.close()]);
  await testDatabase.drop();
});

const HOUR = 3_600;
const DAY = 24 * HOUR;
const noWork = (): Promise<void> => Promise.resolve();
function idOf(secondsAgo: number): string {
  const time = Math.floor(Date.now() - secondsAgo * 1_000)
    .toString(16)
    .padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}

async function partitions(table: string): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select c.relname as name from pg_inherits h join pg_class c on c.oid = h.inhrelid
    where h.inhparent = ${table}::regclass order by c.relname`.execute(admin.kysely);
  return rows.map((row) => row.name);
}

async function partitionOf(table: string, eventId: string): Promise<string | undefined> {
  const { rows } = await sql<{ name: string }>`
    select tableoid::regclass::text as name from ${sql.table(table)} where event_id = ${eventId}`.execute(
    admin.kysely,
  );
  return rows[0]?.name;
}

async function makePartition(table: string, name: string, fromSecondsAgo: number, seconds: number) {
  await sql`create table ${sql.table(name)} (like ${sql.table(table)} including all)`.execute(admin.kysely);
  const { rows } = await sql<{ lower: string; upper: string }>`
    select uuid_at(now() - ${fromSecondsAgo} * interval '1 second') as lower,
      uuid_at(now() - ${fromSecondsAgo - seconds} * interval '1 second') as upper`.execute(admin.kysely);
  await sql`alter table ${sql.table(table)} attach partition ${sql.table(name)}
    for values from (${sql.lit(rows[0]!.lower)}) to (${sql.lit(rows[0]!.upper)})`.execute(admin.kysely);
}

const key = (eventId: string, consumer = 'transfer.detected') =>
  ({ schema: 'tracker', consumer, eventId }) as const;

describe('the inbox', () => {
  test('an event has one inbox row across partitions and rolls', async () => {
    const early = idOf(1); // before the first partition exists: in the default one
    expect((await handleOnce(tracker.kysely, key(early), noWork)).handled).toBe(true);
    await rollInbox(tracker.kysely, 'tracker', DAY);
    expect((await handleOnce(tracker.kysely, key(early), noWork)).handled).toBe(false);

    const later = idOf(-6 * HOUR);
    expect((await handleOnce(tracker.kysely, key(later), noWork)).handled).toBe(true);
    expect(await partitionOf('tracker.inbox', later)).not.toMatch(/default/);
    const unordered = randomUUID(); // of version 4
    expect((await handleOnce(tracker.kysely, key(unordered), noWork)).handled).toBe(true);
    await rollInbox(tracker.kysely, 'tracker', DAY);
    for (const id of [early, later, unordered]) {
      expect((await handleOnce(tracker.kysely, key(id), noWork)).handled).toBe(false);
      expect((await handleOnce(tracker.kysely, key(id, 'another'), noWork)).handled).toBe(true);
    }
  });

  test('an inbox partition is dropped once all its rows are old enough', async () => {
    await makePartition('tracker.inbox', 'tracker.inbox_old', 40 * HOUR, 6 * HOUR);
    await makePartition('tracker.inbox', 'tracker.inbox_young', 29 * HOUR, 6 * HOUR);
    const [old, young] = [idOf(39 * HOUR), idOf(28 * HOUR)];
    for (const id of [old, young]) await handleOnce(tracker.kysely, key(id), noWork);
    expect((await rollInbox(tracker.kysely, 'tracker', DAY)).dropped).toBe(1);
    expect(await partitionOf('tracker.inbox', old)).toBeUndefined();
    expect(await partitionOf('tracker.inbox', young)).toBe('tracker.inbox_young');
    expect((await rollInbox(tracker.kysely, 'tracker', 0)).dropped).toBe(1); // but never the last hour
    expect((await handleOnce(tracker.kysely, key(idOf(0)), noWork)).handled).toBe(true);
  });

  test('inbox rows in the default partition are deleted by age', async () => {
    const [old, young] = [randomUUID(), randomUUID()];
    await sql`insert into tracker.inbox values ('x', ${old}, now() - interval '25 hours'), ('x', ${young}, now() - interval '23 hours')`.execute(
      tracker.kysely,
    );
    expect(await rollInbox(tracker.kysely, 'tracker', DAY)).toEqual({ dropped: 0, deleted: 1 });
    expect(await partitionOf('tracker.inbox', young)).toBeDefined();
  });

  test('concurrent rolls create the inbox partitions of the next hours once', async () => {
    await Promise.all(Array.from({ length: 5 }, () => rollInbox(tracker.kysely, 'tracker', DAY)));
    await rollInbox(tracker.kysely, 'tracker', DAY);
    const names = await partitions('tracker.inbox');
    expect(names).toHaveLength(5);
    expect(names.filter((name) => /^inbox_\d{8}_(00|06|12|18)$/.test(name))).toHaveLength(4);
    for (const hours of [0, 6, 12, 17]) expect(await partitionOfNew(-hours * HOUR)).not.toMatch(/default/);
  });

  async function partitionOfNew(secondsAgo: number): Promise<string | undefined> {
    const id = idOf(secondsAgo);
    await handleOnce(tracker.kysely, key(id), noWork);
    return partitionOf('tracker.inbox', id);
  }

  test('an open transaction on the inbox delays the roll and is not blocked by it', async () => {
    await makePartition('tracker.inbox', 'tracker.inbox_old', 40 * HOUR, 6 * HOUR);
    await tracker.kysely.transaction().execute(async (tx) => {
      await sql`insert into tracker.inbox (consumer, event_id) values ('x', ${idOf(38 * HOUR)})`.execute(tx);
      const began = Date.now();
      const other = testDatabase.open('tracker');
      try {
        const rolled = rollInbox(other.kysely, 'tracker', DAY);
        // Sessions queued behind its lock request wait no longer than its lock timeout.
        await handleOnce(tracker.kysely, key(randomUUID()), noWork);
        expect(Date.now() - began).toBeLessThan(60_000); // and not until the open transaction ends, which waits for this
        expect((await rolled).dropped).toBe(0);
      } finally {
        await other.close();
      }
    });
    expect((await rollInbox(tracker.kysely, 'tracker', DAY)).dropped).toBe(1);
  });

  test('only the owning service rolls an inbox, and only through the function', async () => {
    await expect(rollInbox(webhook.kysely, 'tracker', DAY)).rejects.toMatchObject({
      code: 'DATABASE_FORBIDDEN',
    });
    await expect(
      sql`select roll_partitions('tracker.inbox', 'received_at', '1 hour', '0')`.execute(tracker.kysely),
    ).rejects.toMatchObject({ code: 'DATABASE_FORBIDDEN' });
    await expect(sql`drop table tracker.inbox_default`.execute(tracker.kysely)).rejects.toMatchObject({
      code: 'DATABASE_FORBIDDEN',
    });
  });
});

async function aCallback(
  db: Db,
  order: OrderRow,
  sequence: number,
  delivery: { state: string; finishedDaysAgo: number | null; madeDaysAgo?: number },
): Promise<string> {
  const eventId = idOf(0);
  const madeDaysAgo = delivery.madeDaysAgo ?? delivery.finishedDaysAgo ?? 0;
  await sql`insert into notification (event_id, merchant_id, subject_id, sequence, notify_type, data, occurred_at, created_at)
    select ${eventId}, ${order.merchant_id}, ${order.order_pk}, ${sequence}, 'ORDER_PENDING', '{}', made, made
    from (select now() - ${madeDaysAgo} * interval '1 day' as made) m`.execute(db);
  await sql`insert into delivery (event_id, merchant_id, subject_id, sequence, state, next_attempt_at, finished_at)
    values (${eventId}, ${order.merchant_id}, ${order.order_pk}, ${sequence}, ${delivery.state}, now(),
      now() - ${delivery.finishedDaysAgo} * interval '1 day')`.execute(db);
  return eventId;
}
async function anAttempt(db: Db, eventId: string): Promise<void> {
  await sql`insert into delivery_attempt (event_id, attempt, started_at, duration_ms) values (${eventId}, 1, now(), 5)`.execute(
    db,
  );
}

describe('delivery attempts', () => {
  test('delivery attempts are dropped by the age of their callback, deliveries stay', async () => {
    const order = await aCollection(admin.kysely);
    await makePartition('delivery_attempt', 'delivery_attempt_old', 33 * DAY, DAY);
    const old = idOf(32.5 * DAY);
    await aCallbackWithId(order, 1, old);
    const young = idOf(DAY);
    await aCallbackWithId(order, 2, young);
    await rollDeliveryAttempts(webhook.kysely, 30 * DAY);
    const { rows } = await sql<{ event_id: string }>`select event_id from delivery_attempt`.execute(
      admin.kysely,
    );
    expect(rows.map((row) => row.event_id)).toEqual([young]);
    expect(await partitions('delivery_attempt')).toHaveLength(5);
    await anAttempt(webhook.kysely, old);
    expect(await partitionOf('delivery_attempt', old)).toBe('delivery_attempt_default');
    await expect(rollDeliveryAttempts(tracker.kysely, DAY)).rejects.toMatchObject({
      code: 'DATABASE_FORBIDDEN',
    });
  });

  async function aCallbackWithId(order: OrderRow, sequence: number, eventId: string): Promise<void> {
    await sql`insert into notification (event_id, merchant_id, subject_id, sequence, notify_type, data, occurred_at)
      values (${eventId}, ${order.merchant_id}, ${order.order_pk}, ${sequence}, 'ORDER_PENDING', '{}', now())`.execute(
      admin.kysely,
    );
    await sql`insert into delivery (event_id, merchant_id, subject_id, sequence, next_attempt_at)
      values (${eventId}, ${order.merchant_id}, ${order.order_pk}, ${sequence}, now())`.execute(admin.kysely);
    await anAttempt(webhook.kysely, eventId);
  }
});

describe('ended callbacks', () => {
  test('deletes ended callbacks that are no longer needed', async () => {
    const order = await aCollection(admin.kysely);
    const done = (daysAgo: number, state = 'DELIVERED') => ({ state, finishedDaysAgo: daysAgo });
    const forgotten = [
      await aCallback(admin.kysely, order, 1, done(100)),
      await aCallback(admin.kysely, order, 2, done(95, 'SUPERSEDED')),
      await aCallback(admin.kysely, order, 3, done(91, 'DEAD')),
    ];
    const young = await aCallback(admin.kysely, order, 4, done(89));
    const waiting = await aCallback(admin.kysely, order, 5, { state: 'PENDING', finishedDaysAgo: null });
    const recorded = await aCallback(admin.kysely, order, 6, done(100));
    await anAttempt(admin.kysely, recorded);
    const last = await aCallback(admin.kysely, order, 7, done(100));
    expect(await deleteEndedCallbacksPage(webhook.kysely, 90 * DAY, FIRST_CALLBACK)).toMatchObject({
      forgotten: 3,
      next: null,
    });
    for (const table of ['notification', 'delivery'] as const) {
      const rows = await admin.kysely.selectFrom(table).select('event_id').orderBy('sequence').execute();
      expect(rows.map((row) => row.event_id)).toEqual([young, waiting, recorded, last]);
      for (const id of forgotten) expect(rows.map((row) => row.event_id)).not.toContain(id);
    }
  });

  test('visits ended callbacks in pages that continue after the last one', async () => {
    for (let i = 0; i < 3; i += 1) {
      const order = await aCollection(admin.kysely);
      for (let sequence = 1; sequence <= 3; sequence += 1)
        await aCallback(admin.kysely, order, sequence, { state: 'DELIVERED', finishedDaysAgo: 100 });
    }
    await sql`update delivery set finished_at = date_trunc('day', finished_at)`.execute(admin.kysely); // all at the same time
    let position: typeof FIRST_CALLBACK | null = FIRST_CALLBACK;
    let forgotten = 0;
    let pages = 0;
    while (position !== null) {
      const page: Awaited<ReturnType<typeof deleteEndedCallbacksPage>> = await deleteEndedCallbacksPage(
        webhook.kysely,
        90 * DAY,
        position,
        2,
      );
      forgotten += page.forgotten;
      position = page.next;
      pages += 1;
    }
    expect({ forgotten, pages }).toEqual({ forgotten: 6, pages: 5 });
    const left = await admin.kysely.selectFrom('notification').select('sequence').execute();
    expect(left.map((row) => row.sequence)).toEqual([3, 3, 3]);
  });

  test('keeps callbacks of less than a week, and only webhook-sender may delete', async () => {
    const order = await aCollection(admin.kysely);
    await aCallback(admin.kysely, order, 1, { state: 'DELIVERED', finishedDaysAgo: 6 });
    await aCallback(admin.kysely, order, 2, { state: 'DELIVERED', finishedDaysAgo: 6 });
    expect((await deleteEndedCallbacksPage(webhook.kysely, 0, FIRST_CALLBACK)).forgotten).toBe(0);
    await expect(deleteEndedCallbacksPage(tracker.kysely, 0, FIRST_CALLBACK)).rejects.toMatchObject({
      code: 'DATABASE_FORBIDDEN',
    });
  });

  test('keeps callbacks of young notifications whose deliveries were backdated', async () => {
    const order = await aCollection(admin.kysely);
    for (const [sequence, madeDaysAgo] of [6, 8].entries())
      await aCallback(admin.kysely, order, sequence + 1, {
        state: 'PENDING',
        finishedDaysAgo: null,
        madeDaysAgo,
      });
    await aCallback(admin.kysely, order, 3, { state: 'PENDING', finishedDaysAgo: null });
    await sql`update delivery set state = 'DELIVERED', finished_at = now() - interval '100 days', created_at = now() - interval '100 days'`.execute(
      webhook.kysely,
    );
    expect((await deleteEndedCallbacksPage(webhook.kysely, 0, FIRST_CALLBACK)).forgotten).toBe(1);
    const left = await admin.kysely
      .selectFrom('notification')
      .select('sequence')
      .orderBy('sequence')
      .execute();
    expect(left.map((row) => row.sequence)).toEqual([1, 3]);
    // A backdated time of the writer does not make a notification older either.
    await sql`update notification set occurred_at = now() - interval '100 days'`.execute(admin.kysely);
    expect((await deleteEndedCallbacksPage(webhook.kysely, 0, FIRST_CALLBACK)).forgotten).toBe(0);
  });

  test('skips an ended callback that is locked', async () => {
    const order = await aCollection(admin.kysely);
    const first = await aCallback(admin.kysely, order, 1, { state: 'DELIVERED', finishedDaysAgo: 100 });
    await aCallback(admin.kysely, order, 2, { state: 'DELIVERED', finishedDaysAgo: 1 });
    await admin.kysely.transaction().execute(async (tx) => {
      await sql`select from delivery where event_id = ${first} for update`.execute(tx);
      expect((await deleteEndedCallbacksPage(webhook.kysely, 90 * DAY, FIRST_CALLBACK)).forgotten).toBe(0);
    });
    expect((await deleteEndedCallbacksPage(webhook.kysely, 90 * DAY, FIRST_CALLBACK)).forgotten).toBe(1);
  });
});

test('every service sees only the age of the oldest transaction', async () => {
  const ask = async () => {
    const { rows } = await sql<{
      seconds: number | null;
    }>`select oldest_transaction_seconds() as seconds`.execute(tracker.kysely);
    return rows[0]!.seconds;
  };
  await webhook.kysely.transaction().execute(async (tx) => {
    await sql`select pg_current_xact_id()`.execute(tx);
    await waitUntil('it grows old', async () => ((await ask()) ?? 0) > 0.3);
  });
  const isYoung = () => waitUntil('it ended', async () => ((await ask()) ?? Infinity) < 0.3);
  await isYoung();
  // An owner that sees only its own sessions returns null (unknown) instead of a small age.
  const owner = `opentill_owner_${randomUUID().slice(0, 8)}`;
  await sql`create role ${sql.id(owner)}`.execute(admin.kysely);
  try {
    await sql`grant create on schema public to ${sql.id(owner)}`.execute(admin.kysely);
    await sql`alter function oldest_transaction_seconds() owner to ${sql.id(owner)}`.execute(admin.kysely);
    expect(await ask()).toBeNull();
    await sql`grant pg_read_all_stats to ${sql.id(owner)}`.execute(admin.kysely);
    await isYoung();
  } finally {
    await sql`drop owned by ${sql.id(owner)} cascade`.execute(admin.kysely);
    await sql`drop role ${sql.id(owner)}`.execute(admin.kysely);
  }
});
