import { expect, test } from 'vitest';
import { sql } from 'kysely';
import { randomUUID } from 'node:crypto';
import type { Tx } from '../src/database.ts';
import { handleOnce, handleTogetherOnce } from '../src/inbox.ts';
import { aCollection } from '@opentill/testkit/scenario';
import { openTestDatabase } from '@opentill/testkit/test-database';

const { admin, open } = await openTestDatabase();
const tracker = open('tracker');

const key = (eventId: string, consumer = 'settle') => ({ schema: 'tracker', consumer, eventId }) as const;
const bump = (orderPk: string) => (tx: Tx) =>
  tx
    .updateTable('orders')
    .set({ version: sql`version + 1` })
    .where('order_pk', '=', orderPk)
    .returning('version')
    .executeTakeFirstOrThrow();
const versionOf = async (orderPk: string) =>
  (
    await admin.kysely
      .selectFrom('orders')
      .select('version')
      .where('order_pk', '=', orderPk)
      .executeTakeFirstOrThrow()
  ).version;

test('an event handled in many concurrent transactions has one effect', async () => {
  const order = await aCollection(admin.kysely);
  const eventId = randomUUID();
  const results = await Promise.all(
    Array.from({ length: 12 }, () => handleOnce(tracker.kysely, key(eventId), bump(order.order_pk))),
  );
  expect(results.filter((result) => result.handled)).toEqual([{ handled: true, result: { version: 2 } }]);
  expect(await versionOf(order.order_pk)).toBe(2);
  expect(await handleOnce(tracker.kysely, key(eventId), bump(order.order_pk))).toEqual({ handled: false });
});

test('another consumer handles the same event independently', async () => {
  const order = await aCollection(admin.kysely);
  const eventId = randomUUID();
  for (const consumer of ['one', 'two']) {
    expect((await handleOnce(tracker.kysely, key(eventId, consumer), bump(order.order_pk))).handled).toBe(
      true,
    );
  }
  expect(await versionOf(order.order_pk)).toBe(3);
});

test('work that throws leaves no effect and no inbox row, and a waiting one takes over', async () => {
  const order = await aCollection(admin.kysely);
  const eventId = randomUUID();
  const begun = Promise.withResolvers<void>();
  const second = Promise.withResolvers<void>();
  const failing = handleOnce(tracker.kysely, key(eventId), async (tx) => {
    await bump(order.order_pk)(tx);
    begun.resolve();
    await second.promise;
    throw new Error('a crash');
  });
  failing.catch(() => undefined);
  await begun.promise;
  const waiting = handleOnce(tracker.kysely, key(eventId), bump(order.order_pk));
  await untilSomebodyWaitsForALock();
  second.resolve();
  await expect(failing).rejects.toThrow('a crash');
  expect((await waiting).handled).toBe(true);
  expect(await versionOf(order.order_pk)).toBe(2);
});

async function untilSomebodyWaitsForALock(): Promise<void> {
  for (;;) {
    const { rows } = await sql`select from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`.execute(admin.kysely);
    if (rows.length > 0) return;
  }
}

test('events of overlapping batches are handled once each', async () => {
  const ids = Array.from({ length: 30 }, () => randomUUID());
  const seen: string[] = [];
  const call = (eventIds: readonly string[]) =>
    handleTogetherOnce(
      tracker.kysely,
      { schema: 'tracker', consumer: 'together', eventIds },
      (_tx, firstTime) => {
        seen.push(...firstTime);
        return Promise.resolve(firstTime.size);
      },
    );
  await Promise.all([call(ids.slice(0, 20)), call(ids.slice(10).toReversed()), call(ids.slice(5, 25))]);
  expect(seen.toSorted()).toEqual(ids.toSorted());
  expect(await call(ids)).toEqual({ handled: false });
  const failing = handleTogetherOnce(
    tracker.kysely,
    { schema: 'tracker', consumer: 'failing', eventIds: ids },
    () => Promise.reject(new Error('a crash')),
  );
  await expect(failing).rejects.toThrow('a crash');
  const again = { schema: 'tracker', consumer: 'failing', eventIds: ids } as const;
  expect(
    await handleTogetherOnce(tracker.kysely, again, (_tx, first) => Promise.resolve(first.size)),
  ).toEqual({
    handled: true,
    result: 30,
  });
});
