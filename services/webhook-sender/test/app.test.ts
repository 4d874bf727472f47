import { createHmac, randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { sql } from 'kysely';
import type { EventEnvelope } from '@opentill/contracts/event-catalog';
import { notifyOrderText, toNotifyOrder } from '@opentill/contracts/format-order';
import type { NotifyType, OrderStatus } from '@opentill/contracts/notify-order';
import { openDatabase, type Database, type Db } from '@opentill/db/database';
import { handleOnce } from '@opentill/db/inbox';
import {
  appendToOutbox,
  createOutboxStore,
  newEvent,
  type OutboxRow,
  type OutboxStore,
} from '@opentill/db/outbox';
import { connectBroker, type Broker } from '@opentill/messaging/connection';
import { createPublisher } from '@opentill/messaging/publisher';
import { startRelay, type Relay } from '@opentill/messaging/relay';
import { systemClock } from '@opentill/runtime/clock';
import { newId } from '@opentill/runtime/ids';
import { createLogger } from '@opentill/runtime/logger';
import { createMetrics } from '@opentill/runtime/metrics';
import { Crash, createCrashPoints, type CrashPoints } from '@opentill/testkit/crash-points';
import { aCollection, aMerchant, type OrderRow, TEST_SECRETS_KEY } from '@opentill/testkit/scenario';
import { recordTestSpans, TEST_TRACE_ID, TEST_TRACEPARENT } from '@opentill/testkit/record-test-spans';
import { createTestBroker, type TestBroker } from '@opentill/testkit/test-broker';
import { createTestDatabase, type TestDatabase } from '@opentill/testkit/test-database';
import { waitUntil } from '@opentill/testkit/wait-until';
import { createApp, type WebhookSenderSettings } from '../src/app.ts';
import { startDeliverer, type Deliverer } from '../src/deliver-due.ts';
import { createAddressGuard } from '../src/forbidden-addresses.ts';
import { onOrderNotified } from '../src/handlers/on-order-notified.ts';
import { createObserve } from '../src/observe.ts';
import { sendCallback } from '../src/send-callback.ts';
import { findCallbackProblems, repeatedNonces } from './check-callbacks.ts';
import { startReceiver, type Receiver } from './receiver.ts';

const QUEUE = 'webhook-sender.order-changed';
const logger = createLogger({ service: 'test', level: 'silent' });
const deps = { newId, clock: systemClock };

let database: TestDatabase;
let broker: TestBroker;
let admin: Database;
let webhook: Database;
const producers: Record<'api' | 'tracker', { db: Db; broker: Broker; relay: Relay }> = {} as never;
const cleanUp: (() => Promise<void>)[] = [];
let receiver: Receiver;
const stops: (() => Promise<void>)[] = [];

beforeAll(async () => {
  [database, broker] = await Promise.all([createTestDatabase(), createTestBroker()]);
  admin = database.open('admin');
  webhook = database.open('webhook');
  for (const [schema, service] of [
    ['api', 'api'],
    ['tracker', 'confirmation-tracker'],
  ] as const) {
    const own = database.open(schema);
    const connection = connectBroker({ url: await broker.urlFor(service), logger, name: service });
    const relay = startRelay({
      store: createOutboxStore(own.kysely, schema),
      publisher: createPublisher(connection),
      logger,
      metrics: createMetrics(service),
    });
    producers[schema] = { db: own.kysely, broker: connection, relay };
    cleanUp.push(async () => {
      await relay.stop();
      await connection.close();
      await own.close();
    });
  }
});
afterAll(async () => {
  for (const end of cleanUp) await end();
  await webhook.close();
  await admin.close();
  await broker.drop();
  await database.drop();
});
beforeEach(async () => {
  receiver = await startReceiver();
});
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
  await sql`update delivery set state = 'DEAD' where state = 'PENDING'`.execute(admin.kysely);
  await receiver.close();
});

async function startSender(overrides: Partial<WebhookSenderSettings> = {}): Promise<Broker> {
  const own = database.open('webhook');
  const url = await broker.urlFor('webhook-sender');
  const connection = connectBroker({ url, logger, name: 'webhook-sender' });
  const app = createApp({
    database: own,
    broker: connection,
    logger,
    metrics: createMetrics('webhook-sender'),
    clock: systemClock,
    random: () => 0,
    resolveHost: async () => ['127.0.0.1'],
    secretsKey: TEST_SECRETS_KEY,
    settings: {
      instance: randomUUID(),
      retryScheduleSeconds: [0.05, 0.05, 0.05, 0.05],
      allowedCallbackAddresses: ['127.0.0.1'],
      allowHttpCallbacks: true,
      concurrency: 32,
      concurrencyPerEndpoint: 16,
      attemptDeadlineMs: 60_000,
      pollIntervalMs: 20,
      sweepIntervalMs: 3_600_000,
      ...overrides,
    },
  });
  app.start();
  stops.push(async () => {
    await app.stop();
    await connection.close();
    await own.close();
  });
  await connection.ready(60_000);
  return connection;
}

async function anOrder(): Promise<OrderRow> {
  const { merchantId } = await aMerchant(admin.kysely, { callbackUrl: receiver.url });
  return aCollection(admin.kysely, { merchant_id: merchantId });
}

const MOVES = [
  { schema: 'api', eventType: 'order.created', notifyType: 'ORDER_PENDING', status: 'INIT' },
  {
    schema: 'tracker',
    eventType: 'order.changed',
    notifyType: 'ORDER_PENDING_CONFIRMATION',
    status: 'PENDING_CONFIRMATION',
  },
  { schema: 'tracker', eventType: 'order.changed', notifyType: 'ORDER_SUCCESS', status: 'SUCCESS' },
] as const satisfies readonly {
  schema: 'api' | 'tracker';
  eventType: 'order.created' | 'order.changed';
  notifyType: NotifyType;
  status: OrderStatus;
}[];

async function move(
  order: OrderRow,
  sequence: number,
  { withEvent = true, wake = true, secondsAgo = 0, traceparent = undefined as string | undefined } = {},
): Promise<EventEnvelope> {
  const { schema, eventType, notifyType, status } = MOVES[sequence - 1]!;
  const eventId = newId();
  const view = toNotifyOrder(
    {
      orderId: order.order_id,
      uid: order.uid,
      orderType: order.order_type,
      status,
      reason: null,
      chain: order.chain,
      symbol: order.symbol,
      contractAddress: order.contract_address,
      decimals: order.decimals,
      displayDecimals: order.display_decimals,
      amount: order.amount,
      actualAmount: null,
      confirmationsRequired: order.confirmations_required,
    },
    null,
  );
  const moved = { orderPk: order.order_pk, eventId };
  const event =
    eventType === 'order.created'
      ? newEvent(eventType, order.family, moved, deps)
      : newEvent(eventType, order.family, { moves: [moved] }, deps);
  await producers[schema].db.transaction().execute(async (tx) => {
    await tx
      .insertInto('notification')
      .values({
        event_id: eventId,
        merchant_id: order.merchant_id,
        subject_id: order.order_pk,
        sequence,
        notify_type: notifyType,
        data: notifyOrderText(view),
        traceparent: traceparent ?? null,
        occurred_at: new Date(Date.now() - secondsAgo * 1_000),
      })
      .execute();
    if (withEvent) await appendToOutbox(tx, schema, [{ ...event, traceparent }]);
  });
  if (wake) producers[schema].relay.wake();
  return event.envelope;
}

async function pay(order: OrderRow, options: Parameters<typeof move>[2] = {}): Promise<void> {
  for (let sequence = 1; sequence <= MOVES.length; sequence += 1) await move(order, sequence, options);
}

const problems = async (orders: readonly OrderRow[]) =>
  findCallbackProblems(
    admin.kysely,
    orders.map((order) => order.order_pk),
    receiver.received,
  );
const untilDelivered = async (orders: readonly OrderRow[]) =>
  waitUntil('every callback is delivered', async () => {
    const open = await admin.kysely
      .selectFrom('notification as n')
      .leftJoin('delivery as d', 'd.event_id', 'n.event_id')
      .select('n.event_id')
      .where(
        'n.subject_id',
        'in',
        orders.map((order) => order.order_pk),
      )
      .where((eb) => eb.or([eb('d.state', 'is', null), eb('d.state', '!=', 'DELIVERED')]))
      .execute();
    return open.length === 0;
  });
const types = () => receiver.received.map(({ body }) => body.notifyType);

describe('outbox events', () => {
  it('sends a callback in the trace of its event, and without one while tracing is off', async () => {
    const spans = recordTestSpans('webhook-sender');
    stops.push(() => spans.stop());
    await startSender();
    const [order, next] = [await anOrder(), await anOrder()];
    await move(order, 1, { traceparent: TEST_TRACEPARENT });
    await untilDelivered([order]);
    const callback = spans.ended().find(({ name }) => name === 'callback ORDER_PENDING');
    expect(callback).toMatchObject({
      traceId: TEST_TRACE_ID,
      parentSpanId: TEST_TRACEPARENT.split('-')[2],
      attributes: { 'opentill.order_pk': order.order_pk, 'http.response.status_code': 200 },
    });
    expect(receiver.received[0]?.headers['traceparent']).toBe(callback?.traceparent);

    await spans.stop();
    await move(next, 1, { traceparent: TEST_TRACEPARENT });
    await untilDelivered([next]);
    expect(receiver.received[1]?.headers).not.toHaveProperty('traceparent');
    expect(await problems([order, next])).toEqual([]);
  });

  it('turns events into signed callbacks in the order of the events', async () => {
    await startSender();
    const order = await anOrder();
    await pay(order);
    await untilDelivered([order]);
    expect(types()).toEqual(MOVES.map((one) => one.notifyType));
    expect(await problems([order])).toEqual([]);
    for (const { text, body, headers } of receiver.received) {
      const secret = `secret-of-${order.merchant_id}`;
      const data = text.slice(text.indexOf('"data":') + 7, -1);
      expect(body.sign).toBe(createHmac('sha256', secret).update(data).digest('hex'));
      const signed = `${body.nonce}.${headers['webhook-timestamp'] as string}.${text}`;
      const standard = createHmac('sha256', secret).update(signed).digest('base64');
      expect(headers['webhook-signature']).toBe(`v1,${standard}`);
    }
  });

  it('publishes events right after their commit, without a poll', async () => {
    await startSender({ pollIntervalMs: 3_600_000 });
    const order = await anOrder();
    const startedAt = Date.now();
    await move(order, 1);
    await waitUntil('the callback came', () => receiver.received.length === 1);
    expect(receiver.received[0]!.at - startedAt).toBeLessThan(50_000); // the thorough sweep comes after a minute
  });

  it('keeps events in the outbox while the broker is down and sends them later', async () => {
    await startSender();
    const order = await anOrder();
    await move(order, 1);
    await untilDelivered([order]);
    await broker.cutConnections();
    await move(order, 2);
    await broker.cutConnections();
    await move(order, 3);
    await untilDelivered([order]);
    expect(await problems([order])).toEqual([]);
  });

  it('survives connections that break repeatedly', async () => {
    await startSender();
    const orders = await Promise.all(Array.from({ length: 4 }, () => anOrder()));
    const paid = Promise.all(orders.map((order) => pay(order)));
    for (let cut = 0; cut < 3; cut += 1) await broker.cutConnections();
    await paid;
    await untilDelivered(orders);
    expect(await problems(orders)).toEqual([]);
    expect(repeatedNonces(receiver.received)).toEqual([]);
  });

  it('queues a callback once when its event arrives twice, even at two replicas', async () => {
    await startSender();
    await startSender();
    const order = await anOrder();
    const event = await move(order, 1);
    await untilDelivered([order]);
    for (let copy = 0; copy < 20; copy += 1) await broker.publish('order.created.evm', JSON.stringify(event));
    await move(order, 2);
    const copies = await move(order, 3, { wake: false, withEvent: false });
    for (let copy = 0; copy < 20; copy += 1)
      await broker.publish('order.changed.evm', JSON.stringify(copies));
    await untilDelivered([order]);
    await waitUntil('both queues are empty', async () => {
      const depths = await Promise.all([broker.depth(QUEUE), broker.depth('webhook-sender.order-created')]);
      return depths.every((depth) => depth === 0);
    });
    expect(types()).toEqual(MOVES.map((one) => one.notifyType));
    const attempts = await admin.kysely
      .selectFrom('delivery as d')
      .select('d.attempts')
      .where('d.subject_id', '=', order.order_pk)
      .execute();
    expect(attempts.map((row) => row.attempts)).toEqual([1, 1, 1]);
  });

  it('queues callbacks of lost events by the sweep within its interval', async () => {
    await startSender({ sweepIntervalMs: 200 });
    const order = await anOrder();
    await pay(order, { withEvent: false });
    const startedAt = Date.now();
    await untilDelivered([order]);
    expect(Date.now() - startedAt).toBeLessThan(50_000); // the thorough sweep comes after a minute
    expect(types()).toEqual(MOVES.map((one) => one.notifyType));
    expect(await problems([order])).toEqual([]);
  });

  it('dead-letters events of unknown schema without blocking others', async () => {
    await startSender();
    await broker.take(`${QUEUE}.dead`);
    await broker.publish('order.changed.evm', '{"not":"an event"}');
    const order = await anOrder();
    await pay(order);
    await untilDelivered([order]);
    await waitUntil('the dead letter', async () => (await broker.depth(`${QUEUE}.dead`)) === 1);
    await broker.take(`${QUEUE}.dead`);
  });
});

describe('crash recovery', () => {
  /** Dies before or after its n-th side effect, from 1; never by default. */
  function aProcess(crashAt?: number): { points: CrashPoints; db: Db } {
    const points = createCrashPoints();
    points.crashAt(crashAt);
    const url = database.url('webhook');
    const own = openDatabase({ url, applicationName: 'mortal', poolMax: 4, wrapPool: points.wrapPool });
    stops.push(() => own.close());
    return { points, db: own.kysely };
  }

  /** Redelivers like a broker. Each failure ends a process. */
  async function handleWithRetries(event: EventEnvelope, crashAt?: number): Promise<CrashPoints> {
    const dying = aProcess(crashAt);
    const observe = createObserve({ logger, metrics: createMetrics('test') });
    for (const process of [dying, aProcess()]) {
      try {
        await onOrderNotified(
          { db: process.db, observe, wake: () => undefined },
          event as EventEnvelope<'order.changed'>,
        );
        break;
      } catch (error) {
        expect(process.points.crashed).toBe(true);
        if (!(error instanceof Crash)) throw error;
      }
    }
    return dying.points;
  }

  function startWorker({ points, db }: ReturnType<typeof aProcess>): Deliverer {
    return startDeliverer({
      db,
      clock: systemClock,
      random: () => 0,
      observe: createObserve({ logger, metrics: createMetrics('test') }),
      secretsKey: TEST_SECRETS_KEY,
      instance: randomUUID(),
      rules: {
        guard: createAddressGuard(['127.0.0.1']),
        allowHttp: true,
        resolveHost: async () => ['127.0.0.1'],
      },
      send: (request) => points.around('request', () => sendCallback(request)),
      retryScheduleSeconds: [0.01, 0.01],
      attemptDeadlineMs: 60_000,
      concurrency: 1,
      concurrencyPerEndpoint: 1,
      slowAfterMs: 3_600_000, // otherwise a slow attempt lets the next claim run in parallel, which changes the steps
      pollIntervalMs: 3_600_000,
    });
  }

  it('queues each callback once when the handler crashes at any step', async () => {
    const counted = await (async () => {
      const order = await anOrder();
      const event = await move(order, 1, { withEvent: false });
      return (await handleWithRetries(event)).steps.length;
    })();
    expect(counted).toBeGreaterThanOrEqual(5); // before begin, inbox, deliveries and commit, and after the commit
    for (let crashAt = 1; crashAt <= counted; crashAt += 1) {
      const order = await anOrder();
      const event = await move(order, 1, { withEvent: false });
      const { crashed } = await handleWithRetries(event, crashAt);
      expect({ crashAt, crashed }).toEqual({ crashAt, crashed: true });
      const rows = await admin.kysely
        .selectFrom('delivery')
        .select(['state', 'sequence', 'attempts'])
        .where('subject_id', '=', order.order_pk)
        .execute();
      expect({ crashAt, rows }).toEqual({ crashAt, rows: [{ state: 'PENDING', sequence: 1, attempts: 0 }] });
    }
  });

  it('loses no callback, keeps order and repeats only nonces on a worker crash', async () => {
    async function deliver(crashAt?: number) {
      receiver.received.length = 0;
      const order = await anOrder();
      for (const sequence of [1, 2]) {
        const event = await move(order, sequence, { withEvent: false });
        await handleWithRetries(event);
      }
      const dying = aProcess(crashAt);
      const worker = startWorker(dying);
      const state = async () =>
        (
          await admin.kysely
            .selectFrom('delivery')
            .select('state')
            .where('subject_id', '=', order.order_pk)
            .execute()
        ).map((row) => row.state);
      await waitUntil(
        'the worker is done or dead',
        async () => dying.points.crashed || (await state()).every((one) => one === 'DELIVERED'),
      );
      await worker.stop();
      if (dying.points.crashed) {
        await sql`update delivery set lease_until = now() - interval '1 second' where lease_until is not null`.execute(
          admin.kysely,
        );
        const next = startWorker(aProcess());
        await waitUntil('the next worker is done', async () =>
          (await state()).every((one) => one === 'DELIVERED'),
        );
        await next.stop();
      }
      return { order, dying: dying.points };
    }

    const undisturbed = await deliver();
    expect(receiver.received).toHaveLength(2);
    const total = 12; // claim, request, record: before and after each, for two callbacks
    expect(undisturbed.dying.steps.length).toBeGreaterThanOrEqual(total);
    let repeats = 0;
    for (let crashAt = 1; crashAt <= total; crashAt += 1) {
      const { order, dying } = await deliver(crashAt);
      expect({ crashAt, crashed: dying.crashed }).toEqual({ crashAt, crashed: true });
      expect({ crashAt, problems: await problems([order]) }).toEqual({ crashAt, problems: [] });
      repeats += repeatedNonces(receiver.received).length;
    }
    // Two steps of each callback are between the receiver's 200 and its record: the callback is sent again.
    expect(repeats).toBe(4);
  });
});

it('deletes events handled a day ago and keeps later ones', async () => {
  const [old, young] = [randomUUID(), randomUUID()];
  await sql`
    insert into webhook.inbox (consumer, event_id, received_at) values
      ('order.changed', ${old}, now() - interval '25 hours'), ('order.changed', ${young}, now() - interval '23 hours')`.execute(
    admin.kysely,
  );
  const kept = async () => {
    const ids = sql`array[${old}, ${young}]::uuid[]`;
    const { rows } = await sql<{ event_id: string }>`
      select event_id from webhook.inbox where event_id = any(${ids})`.execute(admin.kysely);
    return rows.map((row) => row.event_id);
  };
  await startSender();
  await waitUntil('the old one is deleted', async () => (await kept()).length === 1);
  expect(await kept()).toEqual([young]);
});

describe('controls without a guard', () => {
  it('sends a redelivered event twice without an inbox, and once with it', async () => {
    const order = await anOrder();
    const event = await move(order, 1, { withEvent: false });
    const { dataText, send } = await sending(order);
    const key = { schema: 'webhook', consumer: 'sends at once', eventId: event.id } as const;
    for (let delivery = 0; delivery < 2; delivery += 1) await handleOnce(webhook.kysely, key, () => send());
    expect(repeatedNonces(receiver.received)).toEqual([]);
    for (let delivery = 0; delivery < 2; delivery += 1) await send();
    expect(repeatedNonces(receiver.received)).not.toEqual([]);
    expect(dataText).toContain(order.order_id);
  });

  async function sending(order: OrderRow) {
    const row = await admin.kysely
      .selectFrom('notification')
      .select(['event_id', 'data', 'notify_type'])
      .where('subject_id', '=', order.order_pk)
      .executeTakeFirstOrThrow();
    const body = `{"nonce":"${row.event_id}","notifyType":"${row.notify_type}","data":${row.data}}`;
    const endpoint = { url: new URL(receiver.url), address: '127.0.0.1' };
    return {
      dataText: row.data,
      send: () => sendCallback({ endpoint, body, headers: {}, deadlineMs: 60_000 }),
    };
  }

  /** The bug of this control: deletes rows before the broker has confirmed them. */
  function createStoreThatDeletesFirst(db: Db): OutboxStore {
    const table = sql.table('tracker.outbox');
    return {
      ...createOutboxStore(db, 'tracker'),
      async drain(limit, publish) {
        const { rows } = await sql<{ id: number; event_id: string; routing_key: string; payload: string }>`
          delete from ${table} where id in (select id from ${table} order by id limit ${limit})
          returning id, event_id, routing_key, payload`.execute(db);
        const inOrder: OutboxRow[] = rows
          .sort((a, b) => a.id - b.id)
          .map((row) => ({
            eventId: row.event_id,
            routingKey: row.routing_key,
            payload: row.payload,
            traceparent: null,
          }));
        await publish(inOrder);
        return rows.length;
      },
    };
  }

  async function drainThrough(store: OutboxStore, failure: 'publish fails' | 'dies before the confirm') {
    await producers.tracker.relay.stop();
    const order = await anOrder();
    await move(order, 1);
    await untilDelivered([order]); // its event would queue the others too
    await move(order, 2, { wake: false });
    await move(order, 3, { wake: false });
    const publisher = createPublisher(producers.tracker.broker);
    await producers.tracker.broker.ready(60_000);
    const dies = store.drain(200, async () => {
      if (failure === 'publish fails') throw new Error('the broker did not confirm');
      throw new Crash('before the confirm');
    });
    await expect(dies).rejects.toThrow();
    await store.drain(200, (rows) => publisher.publish(rows));
    // Sends the callbacks now: a later event of another order comes after all of this order's.
    const after = await anOrder();
    await move(after, 1);
    await move(after, 2, { wake: false });
    await createOutboxStore(producers.tracker.db, 'tracker').drain(200, (rows) => publisher.publish(rows));
    await untilDelivered([after]);
    return problems([order]);
  }

  it.each(['publish fails', 'dies before the confirm'] as const)(
    'loses a callback when its row is deleted before the confirm and the relay %s',
    async (failure) => {
      await startSender();
      const right = createOutboxStore(producers.tracker.db, 'tracker');
      expect(await drainThrough(right, failure)).toEqual([]);
      const wrong = createStoreThatDeletesFirst(producers.tracker.db);
      expect(await drainThrough(wrong, failure)).toEqual([
        expect.stringMatching(/callback 2 never arrived$/),
        expect.stringMatching(/callback 3 never arrived$/),
      ]);
    },
  );
});
