import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { queueName } from '@opentill/contracts/topology';
import { openDatabase, type Database, type Db } from '@opentill/db/database';
import { handleOnce } from '@opentill/db/inbox';
import { appendToOutbox, createOutboxStore, newEvent, type OutboxEvent } from '@opentill/db/outbox';
import { connectBroker, type Broker } from '@opentill/messaging/connection';
import { createPublisher, type Publisher } from '@opentill/messaging/publisher';
import { systemClock } from '@opentill/runtime/clock';
import { newId } from '@opentill/runtime/ids';
import { createLogger } from '@opentill/runtime/logger';
import { Crash, createCrashPoints, enumerateCrashPoints } from '../src/crash-points.ts';
import { createTestBroker, type TestBroker } from '../src/test-broker.ts';
import { createTestDatabase, type TestDatabase } from '../src/test-database.ts';

const points = createCrashPoints();
let testDatabase: TestDatabase;
let watcher: Database;
let database: Database;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  watcher = testDatabase.open('api');
  database = openDatabase({
    url: testDatabase.url('api'),
    applicationName: 'mortal',
    poolMax: 3,
    wrapPool: points.wrapPool,
  });
});
afterAll(async () => {
  await database.close();
  await watcher.close();
  await testDatabase.drop();
});

const anEvent = (): OutboxEvent =>
  newEvent('order.created', '_', { orderPk: newId(), eventId: newId() }, { newId, clock: systemClock });

interface World {
  readonly eventId: string;
  readonly effect: OutboxEvent;
}
const arrange = (): Promise<World> => Promise.resolve({ eventId: newId(), effect: anEvent() });
async function effects({ effect }: World): Promise<number> {
  const { count } = await watcher.kysely
    .selectFrom('api.outbox')
    .select((e) => e.fn.countAll<number>().as('count'))
    .where('event_id', '=', effect.envelope.id)
    .executeTakeFirstOrThrow();
  return Number(count);
}
async function check(world: World): Promise<void> {
  expect(await effects(world)).toBe(1);
}
const inboxKey = ({ eventId }: World) => ({ schema: 'api', consumer: 'test', eventId }) as const;
const append = (db: Db, { effect }: World) =>
  db.transaction().execute((tx) => appendToOutbox(tx, 'api', [effect]));

/** Redelivers until handled, like the broker. Only a crash ends it. */
async function deliver(handle: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await handle();
      return;
    } catch (error) {
      if (error instanceof Crash) throw error;
    }
  }
}

describe('crash points of a handler', () => {
  test('inbox and effect in one transaction give exactly one effect at every crash point', async () => {
    const report = await enumerateCrashPoints({
      points,
      arrange,
      run: (world) =>
        deliver(() =>
          handleOnce(database.kysely, inboxKey(world), (tx) => appendToOutbox(tx, 'api', [world.effect])),
        ),
      check,
    });
    expect(report.steps).toEqual([
      'before begin',
      'before insert api.inbox',
      'before insert api.outbox',
      'before commit',
      'after commit',
    ]);
    expect(report).toMatchObject({ scenarios: 10, unreached: 0 });
  });

  test('control: an inbox row committed before the effect loses the effect', async () => {
    const run = (world: World) =>
      deliver(async () => {
        const { handled } = await handleOnce(database.kysely, inboxKey(world), () => Promise.resolve());
        if (handled) await append(database.kysely, world);
      });
    await expect(enumerateCrashPoints({ points, arrange, run, check })).rejects.toThrow(
      /^crash at step \d+, after commit/,
    );
  });

  test("control: an effect without a key repeats when only the commit's response is lost", async () => {
    const run = (world: World) =>
      deliver(async () => {
        const again = { ...anEvent(), routingKey: `order.created.${world.eventId}` };
        await database.kysely.transaction().execute((tx) => appendToOutbox(tx, 'api', [again]));
      });
    const onlyOne = async (world: World) => {
      const rows = await watcher.kysely
        .selectFrom('api.outbox')
        .select('id')
        .where('routing_key', '=', `order.created.${world.eventId}`)
        .execute();
      expect(rows).toHaveLength(1);
    };
    await expect(
      enumerateCrashPoints({ points, arrange, run, check: onlyOne, faults: ['lose'] }),
    ).rejects.toThrow(/^lose at step \d+, after commit/);
  });

  test('after a crash no code continues, not even catch or finally, and no lock remains', async () => {
    const world = await arrange();
    const tried: string[] = [];
    points.crashAt(3); // Postgres has executed the insert
    const dying = (async () => {
      try {
        await database.kysely.transaction().execute(async (tx) => {
          await appendToOutbox(tx, 'api', [world.effect]);
          await tx.selectFrom('api.outbox').select('id').execute();
        });
      } catch (error) {
        tried.push('catch');
        await append(database.kysely, world).catch(() => tried.push('refused'));
        throw error;
      } finally {
        await points.around('farewell', () => Promise.resolve(tried.push('farewell'))).catch(() => undefined);
      }
    })();
    await expect(dying).rejects.toBeInstanceOf(Crash);
    expect(tried).toEqual(['catch', 'refused']);
    expect(points.crashed).toBe(true);
    points.crashAt(undefined);
    expect(await effects(world)).toBe(0);
    await append(watcher.kysely, world); // would wait for the dead transaction's row
    expect(await effects(world)).toBe(1);
  });
});

describe('crash points of a relay', () => {
  const queue = queueName('webhook-sender', 'order.created');
  let server: TestBroker;
  let broker: Broker;
  let publisher: Publisher;
  beforeAll(async () => {
    server = await createTestBroker();
    broker = connectBroker({
      url: server.url,
      name: 'test',
      logger: createLogger({ service: 'test', level: 'silent' }),
    });
    publisher = points.wrapPublisher(createPublisher(broker));
    await broker.ready(60_000);
  });
  afterAll(async () => {
    await broker.close();
    await server.drop();
  });

  interface RelayWorld {
    readonly ids: readonly string[];
  }
  async function arrangeRows(): Promise<RelayWorld> {
    await watcher.kysely.deleteFrom('api.outbox').execute();
    await server.take(queue);
    const events = [anEvent(), anEvent(), anEvent()];
    await watcher.kysely.transaction().execute((tx) => appendToOutbox(tx, 'api', events));
    return { ids: events.map((event) => event.envelope.id) };
  }
  async function allArrived({ ids }: RelayWorld): Promise<void> {
    const arrived = (await server.take(queue)).map((message) => String(message.properties.messageId));
    expect([...new Set(arrived)]).toEqual(ids);
    expect((await createOutboxStore(watcher.kysely, 'api').backlog()).events).toBe(0);
  }

  test('publishing before deleting loses no event at any crash point', async () => {
    const store = createOutboxStore(database.kysely, 'api');
    const report = await enumerateCrashPoints({
      points,
      arrange: arrangeRows,
      run: () =>
        deliver(async () => {
          while ((await store.drain(2, (rows) => publisher.publish(rows))) !== 0);
        }),
      check: allArrived,
    });
    expect(report.unreached).toBe(0);
    expect(report.steps).toContain('after publish');
    expect(report.scenarios).toBe(2 * report.steps.length);
  });

  test('control: deleting before publishing loses events', async () => {
    const run = () =>
      deliver(async () => {
        const rows = await database.kysely
          .deleteFrom('api.outbox')
          .returning(['event_id as eventId', 'routing_key as routingKey', 'payload'])
          .execute();
        await publisher.publish(rows.sort((a, b) => (a.eventId < b.eventId ? -1 : 1)));
      });
    await expect(
      enumerateCrashPoints({ points, arrange: arrangeRows, run, check: allArrived }),
    ).rejects.toThrow(/^crash at step 2, after delete/);
  });
});
