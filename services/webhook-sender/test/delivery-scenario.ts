import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { sql } from 'kysely';
import type { NotifyType } from '@opentill/contracts/notify-order';
import type { Database, Db } from '@opentill/db/database';
import { systemClock } from '@opentill/runtime/clock';
import { createLogger } from '@opentill/runtime/logger';
import { createMetrics } from '@opentill/runtime/metrics';
import { aCollection, aMerchant, TEST_SECRETS_KEY } from '@opentill/testkit/scenario';
import { createTestDatabase, type TestDatabase } from '@opentill/testkit/test-database';
import { startDeliverer, type Deliverer, type DelivererDeps } from '../src/deliver-due.ts';
import { createAddressGuard } from '../src/forbidden-addresses.ts';
import { createObserve } from '../src/observe.ts';
import { DEFAULT_ENDPOINT_RULES } from '../src/endpoint-health.ts';
import { queueDeliveries } from '../src/store/queue-deliveries.ts';
import { startReceiver, type Receiver } from './receiver.ts';

export const TYPES = ['ORDER_PENDING', 'ORDER_PENDING_CONFIRMATION', 'ORDER_SUCCESS'] as const;
const NEVER_RESTS = { ...DEFAULT_ENDPOINT_RULES, openAfterFailures: 1e6, openAfterAttempts: 1e6 };
const FAST_SCHEDULE = [0.02, 0.02, 0.02, 0.02, 0.02];

/** A database per test file and a receiver per test. Deliverers are stopped after each test. */
export function useDeliveryScenario() {
  let database: TestDatabase;
  let admin: Database;
  let webhook: Database;
  let receiver: Receiver;
  const deliverers: Deliverer[] = [];

  beforeAll(async () => {
    database = await createTestDatabase();
    admin = database.open('admin');
    webhook = database.open('webhook');
  });
  afterAll(async () => {
    await webhook.close();
    await admin.close();
    await database.drop();
  });
  beforeEach(async () => {
    receiver = await startReceiver();
  });
  afterEach(async () => {
    await Promise.all(deliverers.splice(0).map((deliverer) => deliverer.stop()));
    await sql`update delivery set state = 'DEAD', lease_until = null where state = 'PENDING'`.execute(
      admin.kysely,
    );
    await receiver.close();
  });

  /** Short times. Every name resolves to 127.0.0.1, the only allowed address. */
  function deliverer(overrides: Partial<DelivererDeps> = {}): Deliverer {
    const started = startDeliverer({
      db: webhook.kysely,
      clock: systemClock,
      random: () => 0,
      observe: createObserve({
        logger: createLogger({ service: 'test', level: 'silent' }),
        metrics: createMetrics('test'),
      }),
      secretsKey: TEST_SECRETS_KEY,
      instance: randomUUID(),
      rules: {
        guard: createAddressGuard(['127.0.0.1']),
        allowHttp: true,
        resolveHost: async () => ['127.0.0.1'],
      },
      retryScheduleSeconds: FAST_SCHEDULE,
      endpointRules: NEVER_RESTS,
      attemptDeadlineMs: 30_000, // tests of a timeout set a shorter one
      concurrency: 32,
      concurrencyPerEndpoint: 16,
      pollIntervalMs: 10,
      ...overrides,
    });
    deliverers.push(started);
    return started;
  }

  async function anOrderWithCallbacks(count: number, url: string | null = receiver.url, merchantId?: string) {
    const merchant = merchantId ?? (await aMerchant(admin.kysely, { callbackUrl: url })).merchantId;
    const order = await aCollection(admin.kysely, { merchant_id: merchant });
    const rows = Array.from({ length: count }, (_, at) => notification(order, at + 1));
    if (rows.length > 0) await admin.kysely.insertInto('notification').values(rows).execute();
    const events = rows.map((row) => row.event_id);
    await queueDeliveries(webhook.kysely, [order.order_pk]);
    return { order, events, merchantId: merchant };
  }

  const notification = (
    order: { order_pk: string; order_id: string; merchant_id: string },
    sequence: number,
    occurredAt = new Date(),
    notifyType: NotifyType = TYPES[(sequence - 1) % TYPES.length] ?? 'ORDER_PENDING',
  ) => ({
    event_id: randomUUID() as string,
    merchant_id: order.merchant_id,
    subject_id: order.order_pk,
    sequence,
    notify_type: notifyType,
    data: JSON.stringify({ orderId: order.order_id, sequence, status: 'INIT' }),
    occurred_at: occurredAt,
  });

  async function notify(...of: Parameters<typeof notification>): Promise<string> {
    const row = notification(...of);
    await admin.kysely.insertInto('notification').values(row).execute();
    return row.event_id;
  }

  async function deliveryOf(eventId: string) {
    return admin.kysely
      .selectFrom('delivery')
      .selectAll()
      .where('event_id', '=', eventId)
      .executeTakeFirstOrThrow();
  }

  return {
    get db(): Db {
      return admin.kysely;
    },
    get webhook(): Database {
      return webhook;
    },
    get receiver(): Receiver {
      return receiver;
    },
    get database(): TestDatabase {
      return database;
    },
    async expireLeases() {
      await sql`update delivery set lease_until = now() - interval '1 second' where lease_until is not null`.execute(
        admin.kysely,
      );
    },
    deliverer,
    anOrderWithCallbacks,
    notify,
    deliveryOf,
    stateOf: async (eventId: string) =>
      (
        await admin.kysely
          .selectFrom('delivery')
          .select('state')
          .where('event_id', '=', eventId)
          .executeTakeFirst()
      )?.state,
    attemptsOf: (eventId: string) =>
      admin.kysely
        .selectFrom('delivery_attempt')
        .selectAll()
        .where('event_id', '=', eventId)
        .orderBy('attempt')
        .execute(),
  };
}
