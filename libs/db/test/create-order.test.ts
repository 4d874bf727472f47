import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { sql } from 'kysely';
import { randomBytes, randomUUID } from 'node:crypto';
import { violates } from '../src/database-error.ts';
import { deleteExpiredNonces } from '../src/housekeeping.ts';
import { aHotWallet, aMerchant, anEvmAddress } from '@opentill/testkit/scenario';
import { openTestDatabase } from '@opentill/testkit/test-database';

const { testDatabase, admin, open } = await openTestDatabase();
const api = open('api');
let merchantId: string;
beforeAll(async () => {
  await admin.kysely.insertInto('hot_wallet').values({ family: 'EVM', address: HOT_WALLET }).execute();
});
beforeEach(async () => {
  merchantId = (await aMerchant(admin.kysely)).merchantId;
});

type Fields = Record<string, unknown>;
let nextIndex = 0;
const HOT_WALLET = anEvmAddress();
const future = () => new Date(Date.now() + 600_000).toISOString();

function anOrder(overrides: Fields): Fields {
  return {
    orderPk: randomUUID(),
    merchantId,
    orderId: randomUUID(),
    uid: '7',
    chain: 'ETH_SEPOLIA',
    family: 'EVM',
    symbol: 'USDT',
    contractAddress: anEvmAddress(),
    decimals: 6,
    displayDecimals: 2,
    amount: '115792089237316195423570985008687907853269984665640564039457584007913129639935', // 2^256 - 1
    acceptedAmount: '250000000',
    address: anEvmAddress(),
    sourceAddress: null,
    confirmationsRequired: 12,
    returnUrl: null,
    description: null,
    signedDataHash: null,
    createdAt: new Date().toISOString(),
    expiresAt: future(),
    ...overrides,
  };
}

function collectionRequest(overrides: Fields = {}, envelope: Fields = {}): Fields {
  const order = anOrder({ orderType: 'COLLECTION', ...overrides });
  return {
    order,
    nonce: randomUUID(),
    nonceExpiresAt: future(),
    derivationIndex: (nextIndex += 1),
    ...firstNotification(order),
    events: [{ eventId: randomUUID(), routingKey: 'order.created._', payload: '{}' }],
    ...envelope,
  };
}

function firstNotification(order: Fields): Fields {
  const data = { orderId: order['orderId'], status: 'INIT', actualAmount: null, transaction: null };
  return { notificationId: randomUUID(), notificationData: JSON.stringify(data) };
}

function payoutRequest(overrides: Fields = {}, envelope: Fields = {}): Fields {
  const order = anOrder({
    orderType: 'PAYOUT',
    amount: '100',
    acceptedAmount: '100',
    sourceAddress: HOT_WALLET,
    confirmationsRequired: null,
    ...overrides,
  });
  return {
    order,
    nonce: randomUUID(),
    nonceExpiresAt: future(),
    ...firstNotification(order),
    events: [{ eventId: randomUUID(), routingKey: 'payout.requested.evm', payload: '{}' }],
    ...envelope,
  };
}

interface Answer {
  readonly outcome: string;
  readonly order_pk: string | null;
  readonly address: string | null;
  readonly amount: bigint | null;
  readonly created_at: Date | null;
}

async function call(
  fn: 'create_collections' | 'create_payout',
  request: Fields | readonly Fields[],
): Promise<Answer> {
  const { rows } = await sql<Answer>`
    select outcome, (existing).* from ${sql.ref(fn)}(${JSON.stringify(request)}::jsonb)`.execute(api.kysely);
  expect(rows).toHaveLength(1);
  return rows[0]!;
}
const createCollection = (request: Fields) => call('create_collections', [request]);
const createPayout = (request: Fields) => call('create_payout', request);

async function count(table: string): Promise<number> {
  const where = { orders: 'merchant_id', notification: 'merchant_id', request_nonce: 'merchant_id' }[table];
  const filter = where === undefined ? sql`true` : sql`${sql.ref(where)} = ${merchantId}`;
  const { rows } = await sql<{
    n: number;
  }>`select count(*) as n from ${sql.table(table)} where ${filter}`.execute(admin.kysely);
  return rows[0]!.n;
}
const outcomes = (answers: readonly Answer[]) =>
  answers.reduce<Record<string, number>>(
    (sum, { outcome }) => ({ ...sum, [outcome]: (sum[outcome] ?? 0) + 1 }),
    {},
  );

describe('create_collections with several orders', () => {
  const createCollections = async (requests: readonly Fields[]): Promise<Answer[]> => {
    const { rows } = await sql<Answer>`
      select outcome, (existing).* from create_collections(${JSON.stringify(requests)}::jsonb)`.execute(
      api.kysely,
    );
    return rows;
  };

  test('creates several orders in one call and answers in request order', async () => {
    const events = await count('api.outbox');
    const requests = Array.from({ length: 20 }, () => collectionRequest());
    expect(outcomes(await createCollections(requests))).toEqual({ CREATED: 20 });
    expect(await count('orders')).toBe(20);
    expect(await count('notification')).toBe(20);
    expect(await count('request_nonce')).toBe(20);
    expect(await count('api.outbox')).toBe(events + 20);
    expect(await createCollections([])).toEqual([]);
  });

  test('gives a repeated nonce or order id in one call to the first request', async () => {
    const nonce = randomUUID();
    const answers = await createCollections([
      collectionRequest({ orderId: 'a' }, { nonce }),
      collectionRequest({ orderId: 'b' }, { nonce }),
      collectionRequest({ orderId: 'a' }),
      collectionRequest({ orderId: 'c' }),
    ]);
    expect(answers.map(({ outcome }) => outcome)).toEqual(['CREATED', 'NONCE_USED', 'EXISTS', 'CREATED']);
    expect(answers[2]?.order_pk).not.toBeNull();
    expect(answers[1]?.order_pk).toBeNull();
    expect(await count('orders')).toBe(2);
    expect(await count('request_nonce')).toBe(3);
    const again = await createCollections([
      collectionRequest({ orderId: 'd' }),
      collectionRequest({ orderId: 'c' }),
      collectionRequest({ orderId: 'e' }, { nonce }),
    ]);
    expect(again.map(({ outcome }) => outcome)).toEqual(['CREATED', 'EXISTS', 'NONCE_USED']);
  });

  test('creates no order when one of the requests is invalid', async () => {
    const requests = [collectionRequest(), collectionRequest({ amount: '1.5' }), collectionRequest()];
    await expect(createCollections(requests)).rejects.toThrow('whole numbers');
    const hashed = collectionRequest({ signedDataHash: 'ab'.repeat(32) }); // identifies payouts only
    for (const other of [payoutRequest(), hashed])
      await expect(createCollections([collectionRequest(), other])).rejects.toThrow('not a collection');
    expect(await count('orders')).toBe(0);
    expect(await count('request_nonce')).toBe(0);
  });

  test('concurrent calls with the same orders create each order once', async () => {
    const ids = Array.from({ length: 12 }, (_, i) => `shared-${String(i).padStart(2, '0')}`);
    const calls = await Promise.all(
      Array.from({ length: 8 }, () =>
        createCollections(ids.map((orderId) => collectionRequest({ orderId }))),
      ),
    );
    expect(outcomes(calls.flat())).toEqual({ CREATED: 12, EXISTS: 84 });
    expect(await count('orders')).toBe(12);
  });
});

describe('create_collections with one order', () => {
  test('creates the order, its address, first notification and event together', async () => {
    const events = await count('api.outbox');
    const request = collectionRequest();
    const order = request['order'] as Fields;
    expect(await createCollection(request)).toMatchObject({ outcome: 'CREATED', order_pk: null });
    const row = await api.kysely
      .selectFrom('orders')
      .innerJoin('deposit_address', 'deposit_address.order_pk', 'orders.order_pk')
      .innerJoin('notification', 'notification.subject_id', 'orders.order_pk')
      .select([
        'orders.amount',
        'orders.status',
        'deposit_address.address',
        'notification.sequence',
        'derivation_index',
      ])
      .where('orders.order_pk', '=', order['orderPk'] as string)
      .executeTakeFirstOrThrow();
    expect(row).toEqual({
      amount: 2n ** 256n - 1n,
      status: 'INIT',
      address: order['address'],
      sequence: 1,
      derivation_index: request['derivationIndex'],
    });
    expect(await count('api.outbox')).toBe(events + 1);
  });

  test('50 concurrent equal requests create one order with one address, returned to all', async () => {
    const events = await count('api.outbox');
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => createCollection(collectionRequest({ orderId: 'same' }))),
    );
    expect(outcomes(answers)).toEqual({ CREATED: 1, EXISTS: 49 });
    expect(await count('orders')).toBe(1);
    expect(await count('notification')).toBe(1);
    expect(await count('request_nonce')).toBe(50);
    expect(await count('api.outbox')).toBe(events + 1);
    const stored = await admin.kysely
      .selectFrom('orders')
      .innerJoin('deposit_address', 'deposit_address.order_pk', 'orders.order_pk')
      .select(['orders.order_pk', 'deposit_address.address', 'orders.amount', 'orders.created_at'])
      .where('merchant_id', '=', merchantId)
      .executeTakeFirstOrThrow();
    for (const answer of answers.filter(({ outcome }) => outcome === 'EXISTS'))
      expect(answer).toMatchObject(stored);
  });

  test('a nonce is accepted once, also in concurrent requests for different orders', async () => {
    const nonce = randomUUID();
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => createCollection(collectionRequest({}, { nonce }))),
    );
    expect(outcomes(answers)).toEqual({ CREATED: 1, NONCE_USED: 19 });
    expect(await count('orders')).toBe(1);
    const another = await aMerchant(admin.kysely);
    expect(
      await createCollection(collectionRequest({ merchantId: another.merchantId }, { nonce })),
    ).toMatchObject({ outcome: 'CREATED' });
  });

  test('a taken address or index or a fractional amount rolls back everything', async () => {
    const taken = collectionRequest();
    await createCollection(taken);
    const address = (taken['order'] as Fields)['address'];
    const failures: [Fields, string | undefined][] = [
      [collectionRequest({ address }), 'deposit_address_pkey'],
      [
        collectionRequest({}, { derivationIndex: taken['derivationIndex'] }),
        'deposit_address_family_derivation_index_key',
      ],
      [collectionRequest({ amount: '250.5' }), undefined],
      [collectionRequest({ acceptedAmount: '-1' }), undefined],
      [collectionRequest({ orderType: 'PAYOUT' }), undefined],
      [collectionRequest({ orderId: 'no spaces' }), 'orders_order_id_check'],
      [collectionRequest({ merchantId: 'nobody' }), 'request_nonce_merchant_id_fkey'],
    ];
    for (const [request, constraint] of failures) {
      const error: unknown = await createCollection(request).catch((failure: unknown) => failure);
      expect(error).toMatchObject({ code: 'DATABASE_CONSTRAINT', retryable: false });
      if (constraint !== undefined) expect(violates(error, constraint)).toBe(true);
    }
    expect(await count('orders')).toBe(1);
    expect(await count('request_nonce')).toBe(1);
  });

  test('the notification in the request must belong to the order', async () => {
    const request = collectionRequest(
      {},
      { notificationData: JSON.stringify({ orderId: 'other', status: 'INIT' }) },
    );
    await expect(createCollection(request)).rejects.toMatchObject({ code: 'DATABASE_FORBIDDEN' });
    expect(await count('orders')).toBe(0);
  });
});

describe('create_payout', () => {
  const wallet = (amount: bigint, symbol: string) => aHotWallet(admin.kysely, { symbol, amount });
  const reservations = async () =>
    (
      await sql<{ n: number }>`select count(*) as n from ledger_transaction t join orders o using (order_pk)
      where t.kind = 'RESERVE' and o.merchant_id = ${merchantId}`.execute(admin.kysely)
    ).rows[0]!.n;

  test('a payout reserves its amount and emits an event for the signer', async () => {
    await wallet(100n, 'A');
    const events = await count('api.outbox');
    expect(await createPayout(payoutRequest({ symbol: 'A' }))).toMatchObject({ outcome: 'CREATED' });
    expect(await reservations()).toBe(1);
    expect(await count('api.outbox')).toBe(events + 1);
    const notifications = await admin.kysely
      .selectFrom('notification')
      .select(['sequence', 'notify_type'])
      .where('merchant_id', '=', merchantId)
      .execute();
    expect(notifications).toEqual([{ sequence: 1, notify_type: 'ORDER_PENDING' }]);
  });

  test('the notification in the request must belong to the order', async () => {
    await wallet(100n, 'F');
    const data = { orderId: 'other', status: 'INIT' };
    const request = payoutRequest({ symbol: 'F' }, { notificationData: JSON.stringify(data) });
    await expect(createPayout(request)).rejects.toMatchObject({ code: 'DATABASE_FORBIDDEN' });
    expect([await count('orders'), await reservations()]).toEqual([0, 0]);
  });

  test('a payout that is not covered leaves only the used nonce', async () => {
    await wallet(99n, 'B');
    const events = await count('api.outbox');
    const request = payoutRequest({ symbol: 'B' });
    expect(await createPayout(request)).toMatchObject({ outcome: 'INSUFFICIENT', order_pk: null });
    expect([await count('orders'), await reservations(), await count('api.outbox')]).toEqual([0, 0, events]);
    expect(await count('notification')).toBe(0);
    expect(await createPayout(request)).toMatchObject({ outcome: 'NONCE_USED' });
    await wallet(1n, 'B');
    expect(await createPayout({ ...request, nonce: randomUUID() })).toMatchObject({ outcome: 'CREATED' });
  });

  test('of 50 concurrent payouts that each need the remaining balance one is created', async () => {
    await wallet(199n, 'C');
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => createPayout(payoutRequest({ symbol: 'C' }))),
    );
    expect(outcomes(answers)).toEqual({ CREATED: 1, INSUFFICIENT: 49 });
    expect([await count('orders'), await reservations(), await count('request_nonce')]).toEqual([1, 1, 50]);
  });

  test('50 concurrent payouts with one orderId create and reserve one, returned to all', async () => {
    await wallet(10_000n, 'D');
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => createPayout(payoutRequest({ symbol: 'D', orderId: 'same' }))),
    );
    expect(outcomes(answers)).toEqual({ CREATED: 1, EXISTS: 49 });
    expect(await reservations()).toBe(1);
    expect(
      new Set(answers.filter(({ outcome }) => outcome === 'EXISTS').map((answer) => answer.order_pk)).size,
    ).toBe(1);
  });

  test('50 concurrent payouts without orderId are identified by their signed data', async () => {
    await wallet(10_000n, 'E');
    const signedDataHash = randomBytes(32).toString('hex');
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => createPayout(payoutRequest({ symbol: 'E', signedDataHash }))),
    );
    expect(outcomes(answers)).toEqual({ CREATED: 1, DUPLICATE: 49 });
    expect(await reservations()).toBe(1);
    const another = await aMerchant(admin.kysely);
    expect(
      await createPayout(payoutRequest({ symbol: 'E', signedDataHash, merchantId: another.merchantId })),
    ).toMatchObject({ outcome: 'CREATED' });
  });

  test('a payout cannot use the order id of a collection', async () => {
    const collection = collectionRequest({ orderId: 'both' });
    await createCollection(collection);
    expect(await createPayout(payoutRequest({ orderId: 'both' }))).toMatchObject({
      outcome: 'EXISTS',
      order_pk: (collection['order'] as Fields)['orderPk'],
    });
  });

  test('create_payout rejects a collection', async () => {
    await expect(createPayout(payoutRequest({ orderType: 'COLLECTION' }))).rejects.toMatchObject({
      code: 'DATABASE_CONSTRAINT',
    });
  });
});

test('an order in SUCCESS keeps its status and amount', async () => {
  const tracker = testDatabase.open('tracker');
  const request = collectionRequest();
  await createCollection(request);
  const orders = tracker.kysely
    .updateTable('orders')
    .where('order_pk', '=', (request['order'] as Fields)['orderPk'] as string);
  await orders.set({ status: 'SUCCESS', actual_amount: 5n }).execute();
  await orders.set({ detected_amount: 6n, version: 3 }).execute();
  for (const change of [{ status: 'FAILED' }, { actual_amount: 6n }, { actual_amount: null }] as const) {
    await expect(orders.set(change).execute()).rejects.toThrow(/SUCCESS, which is final/);
  }
  await tracker.close();
});

test('expired nonces are deleted in bounded steps and valid ones stay', async () => {
  for (let n = 0; n < 5; n += 1)
    await createCollection(collectionRequest({}, { nonceExpiresAt: new Date(0).toISOString() }));
  await createCollection(collectionRequest());
  expect([await deleteExpiredNonces(api.kysely, 3), await deleteExpiredNonces(api.kysely, 3)]).toEqual([
    3, 2,
  ]);
  expect(await count('request_nonce')).toBe(1);
});
