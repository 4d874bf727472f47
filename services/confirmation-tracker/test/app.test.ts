import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { sql } from 'kysely';
import type { EventEnvelope } from '@opentill/contracts/event-catalog';
import { routingKey } from '@opentill/contracts/event-catalog';
import { queueName } from '@opentill/contracts/topology';
import { listPresence } from '@opentill/db/presence';
import { connectBroker, type Broker } from '@opentill/messaging/connection';
import { newId } from '@opentill/runtime/ids';
import { createLogger } from '@opentill/runtime/logger';
import { createMetrics, type Metrics } from '@opentill/runtime/metrics';
import type { OrderRow } from '@opentill/testkit/scenario';
import { createTestBroker, type TestBroker } from '@opentill/testkit/test-broker';
import { waitUntil } from '@opentill/testkit/wait-until';
import { createApp, type TrackerApp } from '../src/app.ts';
import { changed, fated, payoutsOn } from './payout-scenario.ts';
import {
  createTrackerScenario,
  envelope,
  named,
  NETWORKS,
  TTL,
  verifiedEvent,
  type TrackerScenario,
} from './tracker-scenario.ts';

interface Replica {
  readonly app: TrackerApp;
  readonly metrics: Metrics;
  stop(): Promise<void>;
}

let s: TrackerScenario;
let rabbit: TestBroker;
const replicas: Replica[] = [];
const logger = createLogger({ service: 'confirmation-tracker', level: 'silent' });
const ORDER_CHANGED = queueName('webhook-sender', 'order.changed');
const DETECTED = queueName('confirmation-tracker', 'transfer.detected');

beforeAll(async () => {
  s = await createTrackerScenario();
  rabbit = await createTestBroker();
  await s.chainAt(110, 200);
});
afterEach(async () => {
  await Promise.all(replicas.splice(0).map((replica) => replica.stop()));
  await rabbit.take(ORDER_CHANGED);
});
afterAll(async () => {
  await rabbit.drop();
  await s.close();
});

/** Connected with the role of its service. */
async function startReplica(timing: Parameters<typeof createApp>[0]['timing'] = {}): Promise<Replica> {
  const database = s.database.open('tracker');
  const broker: Broker = connectBroker({
    url: await rabbit.urlFor('confirmation-tracker'),
    logger,
    name: 'tracker',
  });
  const metrics = createMetrics('confirmation-tracker');
  const app = createApp({
    db: database.kysely,
    broker,
    logger,
    metrics,
    clock: { now: () => new Date() },
    newId,
    networks: NETWORKS,
    instanceId: `tracker-${replicas.length}`,
    timing: { transferSweepMs: 60_000, dueSweepMs: 60_000, ...timing },
  });
  await app.start();
  await broker.ready();
  const replica = {
    app,
    metrics,
    async stop() {
      await app.stop();
      await broker.close();
      await database.close();
    },
  };
  replicas.push(replica);
  return replica;
}

async function publish(event: EventEnvelope): Promise<void> {
  await rabbit.publish(routingKey(event.type, 'EVM'), JSON.stringify(event));
}

async function reaches(order: OrderRow, status: string): Promise<void> {
  await waitUntil(`order ${status}`, async () => (await s.state(order)).status === status);
}

/**
 * In the order in which the webhook-sender receives them. Waits for all. An event that was republished after a late
 * confirm counts once; events of earlier tests are ignored.
 */
async function publishedIds(...orders: readonly OrderRow[]): Promise<string[]> {
  const ids = new Set((await Promise.all(orders.map(notificationIds))).flat());
  const events = new Map<string, EventEnvelope<'order.changed'>>();
  const callbacks = () =>
    [...events.values()]
      .flatMap(({ data }) => data.moves.map(({ eventId }) => eventId))
      .filter((id) => ids.has(id));
  await waitUntil('all callbacks published', async () => {
    for (const { content, properties } of await rabbit.take(ORDER_CHANGED))
      events.set(
        String(properties.messageId),
        JSON.parse(content.toString()) as EventEnvelope<'order.changed'>,
      );
    return new Set(callbacks()).size === ids.size;
  });
  for (const [messageId, { id }] of events) expect(messageId).toBe(id);
  return callbacks();
}

async function notificationIds(order: OrderRow): Promise<string[]> {
  const rows = await s.admin
    .selectFrom('notification')
    .select('event_id')
    .where('subject_id', '=', order.order_pk)
    .where('sequence', '>', 1)
    .orderBy('sequence')
    .execute();
  return rows.map((row) => row.event_id);
}

const depthIs = (queue: string, count: number) => async () => (await rabbit.depth(queue)) === count;

describe('running service', () => {
  test('deletes inbox rows of a day ago and keeps later ones', async () => {
    const [old, young] = [newId(), newId()];
    await sql`
      insert into tracker.inbox (consumer, event_id, received_at) values
        ('block.verified', ${old}, now() - interval '25 hours'), ('block.verified', ${young}, now() - interval '23 hours')`.execute(
      s.admin,
    );
    const kept = async () => {
      const ids = sql`array[${old}, ${young}]::uuid[]`;
      const { rows } = await sql<{ event_id: string }>`
        select event_id from tracker.inbox where event_id = any(${ids})`.execute(s.admin);
      return rows.map((row) => row.event_id);
    };
    await startReplica();
    await waitUntil('the old one is forgotten', async () => (await kept()).length === 1);
    expect(await kept()).toEqual([young]);
  });

  test('moves an order by events and publishes the change', async () => {
    const { metrics } = await startReplica();
    const order = await s.order();
    const paid = await s.transfer(order, 100n);
    await publish(envelope('transfer.detected', named([paid])));
    await reaches(order, 'PENDING_CONFIRMATION');
    await publish(verifiedEvent([await s.verify(paid)]));
    await reaches(order, 'SUCCESS');
    const callbacks = await publishedIds(order);
    expect(callbacks).toEqual(await notificationIds(order));
    expect(callbacks).toHaveLength(2);
    await waitUntil('both counted', async () => {
      const text = await metrics.render();
      return (
        /opentill_tracker_orders_moved_total\{.*status="SUCCESS".*\} 1/.test(text) &&
        /opentill_tracker_order_settlement_seconds_count\{.*\} 2/.test(text)
      );
    });
  });

  test('ignores a redelivered event', async () => {
    await startReplica();
    const order = await s.order();
    const event = envelope('transfer.detected', named([await s.transfer(order, 40n)]));
    await publish(event);
    await reaches(order, 'PENDING');
    const once = await publishedIds(order);
    expect(once).toHaveLength(1);
    await publish(event);
    await publish(event);
    const other = await s.order();
    await publish(envelope('transfer.detected', named([await s.transfer(other, 40n)])));
    await reaches(other, 'PENDING');
    await waitUntil('handled', depthIs(DETECTED, 0));
    expect(await publishedIds(other)).toEqual(await notificationIds(other));
    expect(await notificationIds(order)).toEqual(once);
  });

  test('expires orders when a block without transfers is verified', async () => {
    await startReplica();
    const order = await s.order({ chain: 'BSC_TEST' });
    await s.chainAt(500, TTL + 1, 'BSC_TEST');
    await publish(
      envelope('block.verified', { chain: 'BSC_TEST', height: 498, blockTimeSeconds: 1, transferIds: [] }),
    );
    await reaches(order, 'EXPIRED');
  });

  test('settles and expires orders by sweeps when the broker loses all events', async () => {
    await startReplica({ transferSweepMs: 20, dueSweepMs: 20, sweepGraceMs: 0 });
    const paid = await s.order();
    const unpaid = await s.order({ chain: 'BSC_TEST' });
    const transfer = await s.transfer(paid, 100n);
    await s.chainAt(500, TTL + 1, 'BSC_TEST');
    await reaches(paid, 'PENDING_CONFIRMATION');
    await reaches(unpaid, 'EXPIRED');
    await s.verify(transfer);
    await reaches(paid, 'SUCCESS');
  });

  test('moves payouts and carries out decisions by events and publishes the changes', async () => {
    await startReplica({ payoutSweepMs: 60_000 });
    const p = payoutsOn(s);
    const order = await p.payout();
    const transaction = await p.sign(order);
    await s.admin
      .updateTable('payout')
      .set({ first_sent_at: new Date() })
      .where('order_pk', '=', order.order_pk)
      .execute();
    await publish(changed(order));
    await reaches(order, 'PENDING');
    await p.fate(transaction, 'MINED');
    await publish(fated(transaction));
    await reaches(order, 'PENDING_CONFIRMATION');
    await p.fate(transaction, 'VERIFIED');
    await publish(fated(transaction));
    await reaches(order, 'SUCCESS');
    const callbacks = await publishedIds(order);
    expect(callbacks).toEqual(await notificationIds(order));
    expect(callbacks).toHaveLength(3);
    const collection = await s.order();
    await p.decide(collection, 'REFUSE');
    await publish(envelope('order.decided', { orderPk: collection.order_pk }));
    await reaches(collection, 'FAILED');
  });

  test('moves payouts and carries out decisions by sweeps when all events are lost', async () => {
    await startReplica({ payoutSweepMs: 20, thoroughSweepMs: 20, sweepGraceMs: 0 });
    const p = payoutsOn(s);
    const expired = await p.payout({ expires_at: new Date(Date.now() - 1_000) });
    const order = await p.payout();
    const collection = await s.order();
    const transaction = await p.sign(order);
    await p.decide(collection, 'REFUSE');
    await reaches(expired, 'FAILED');
    await reaches(collection, 'FAILED');
    await p.fate(transaction, 'MINED');
    await reaches(order, 'PENDING_CONFIRMATION');
    await p.fate(transaction, 'VERIFIED');
    await reaches(order, 'SUCCESS');
  });

  test('settles many orders in two replicas, each notified once and in order', async () => {
    await startReplica({ transferSweepMs: 50, dueSweepMs: 50, sweepGraceMs: 0 });
    await startReplica();
    const merchant = await s.merchant();
    const orders = await Promise.all(
      Array.from({ length: 15 }, () => s.order({ merchant_id: merchant.merchantId })),
    );
    const transfers = await Promise.all(orders.map((order) => s.transfer(order, 100n)));
    for (const transfer of transfers) await publish(envelope('transfer.detected', named([transfer])));
    for (const transfer of transfers) await s.verify(transfer);
    await publish(verifiedEvent(transfers));
    await publish(verifiedEvent(transfers.toReversed()));
    for (const order of orders) await reaches(order, 'SUCCESS');
    await waitUntil('outbox empty', async () => {
      const { rows } = await sql<{ waiting: number }>`select count(*) as waiting from tracker.outbox`.execute(
        s.admin,
      );
      return rows[0]?.waiting === 0;
    });
    const callbacks = await publishedIds(...orders);
    for (const order of orders) {
      const ids = await notificationIds(order);
      expect(callbacks.filter((id) => ids.includes(id))).toEqual(ids);
    }
    expect((await s.balances(merchant.merchantId))['MERCHANT']).toBe(-1_500n);
  });

  test('answers health checks and announces its presence until it stops', async () => {
    const replica = await startReplica();
    for (const [name, check] of Object.entries(replica.app.checks))
      await waitUntil(`${name} is well`, async () => (await check()).ok);
    const alive = () => listPresence(s.admin, 'tracker');
    await waitUntil('present', async () => (await alive()).includes('tracker-0'));
    await waitUntil('it consumes', async () => (await rabbit.consumers(DETECTED)) === 1);
    await replica.stop();
    replicas.splice(0);
    expect(await alive()).toEqual([]);
    await waitUntil('consumers gone', async () => (await rabbit.consumers(DETECTED)) === 0);
    expect(await replica.app.checks['broker']?.()).toMatchObject({ ok: false });
  });

  test('continues after the broker closed its connections', async () => {
    await startReplica();
    await rabbit.cutConnections();
    const order = await s.order();
    await publish(envelope('transfer.detected', named([await s.transfer(order, 100n)])));
    await reaches(order, 'PENDING_CONFIRMATION');
    expect(await publishedIds(order)).toHaveLength(1);
  });
});
