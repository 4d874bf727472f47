import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { sql } from 'kysely';
import type { MerchantSettings } from '@opentill/db/merchants';
import { aChainCursor, aMerchant, aRate } from '@opentill/testkit/scenario';
import { openTestDatabase } from '@opentill/testkit/test-database';
import { anOrderId, COLLECTION, NO_LIMITS, startTestApi, type TestApi } from './support/test-api.ts';

const { testDatabase, admin } = await openTestDatabase();
let api: TestApi;
let merchant: MerchantSettings;

beforeAll(async () => {
  merchant = await aMerchant(admin.kysely, { merchantId: 'shop', rateLimits: NO_LIMITS });
  await aChainCursor(admin.kysely, { chain: 'ETH_SEPOLIA' });
  api = await startTestApi(testDatabase, { merchant });
});
afterAll(() => api.stop());
beforeEach(async () => {
  await aRate(admin.kysely, { rate: '0.920500000000' });
});

const priced = (overrides: Record<string, unknown> = {}) => ({
  price: '49.90',
  currency: 'EUR',
  symbol: 'USDT',
  chain: 'ETH_SEPOLIA',
  orderId: anOrderId(),
  ...overrides,
});
const create = (data: object, as = merchant) => api.post(COLLECTION, data, { merchant: as });

async function rowOf(orderId: string) {
  return admin.kysely
    .selectFrom('orders')
    .selectAll()
    .where('order_id', '=', orderId)
    .executeTakeFirstOrThrow();
}

/** As the service `rates` does when it refuses the pair. */
async function withdraw(refusal: string): Promise<void> {
  await sql`update current_rate set rate_id = null, refusal = ${refusal}`.execute(admin.kysely);
}

describe('an order with a price', () => {
  test('has the amount of the current rate, rounded up, and keeps the rate', async () => {
    const rateId = await aRate(admin.kysely, { rate: '0.920500000000' });
    const data = priced({ currency: 'eur' });
    const answer = await create(data);
    const pricing = { currency: 'EUR', price: '49.90', rate: '0.9205' };
    expect(answer).toMatchObject({ code: 200, data: { amount: '54.21', symbol: 'USDT', ...pricing } });
    expect(await rowOf(data.orderId)).toMatchObject({
      amount: 54_210_000n, // 49.90 / 0.9205 is 54.2096…
      accepted_amount: 54_210_000n,
      currency: 'EUR',
      price: '49.90',
      rate: '0.920500000000',
      rate_id: rateId,
      markup_bps: 0,
    });
    for (const endpoint of ['status', 'pay'] as const) {
      const { data: shown } = await api.signedGet(endpoint, data.orderId, merchant);
      expect(shown).toMatchObject({ amount: '54.21', ...pricing });
    }
    const { order_pk } = await rowOf(data.orderId);
    const notice = await admin.kysely
      .selectFrom('notification')
      .select('data')
      .where('subject_id', '=', order_pk)
      .executeTakeFirstOrThrow();
    expect(JSON.parse(notice.data)).toMatchObject({ status: 'INIT', amount: '54.21', ...pricing });
  });

  test("adds the merchant's markup, and keeps it", async () => {
    const other = await aMerchant(admin.kysely, {
      merchantId: 'with-markup',
      rateLimits: NO_LIMITS,
      markupBps: 150,
    });
    await api.knows(other);
    const data = priced();
    expect(await create(data, other)).toMatchObject({ data: { amount: '55.03', rate: '0.9205' } });
    expect(await rowOf(data.orderId)).toMatchObject({ markup_bps: 150 });
  });

  test('returns the order as first created after the rate moved, ended or was withdrawn', async () => {
    const data = priced();
    const first = await create(data);
    await aRate(admin.kysely, { rate: '0.5' + '0'.repeat(11) });
    expect(await create({ ...data, price: 49.9 })).toMatchObject({ code: 200, data: first.data });
    await aRate(admin.kysely, { validForSeconds: -1 });
    expect(await create(data)).toMatchObject({ code: 200, data: first.data });
    await withdraw('DEPEGGED');
    expect(await create(data)).toMatchObject({ code: 200, data: first.data });
  });

  test('makes one order of equal requests that meet different rates', async () => {
    const data = priced();
    const answers = await Promise.all(
      Array.from({ length: 12 }, async (_, i) => {
        await aRate(admin.kysely, { rate: `0.9${i + 10}` + '0'.repeat(9) });
        return create(data);
      }),
    );
    const amounts = new Set(answers.map((answer) => (answer.data as { amount: string }).amount));
    expect([answers.every(({ code }) => code === 200), amounts.size]).toEqual([true, 1]);
  });

  test('is another order than one with another price, currency or the same amount', async () => {
    const data = priced();
    await create(data);
    await aRate(admin.kysely, { currency: 'USD', rate: '1.' + '0'.repeat(12) });
    const { price: _price, currency: _currency, ...rest } = data;
    for (const [other, detail] of [
      [{ ...data, price: '49.91' }, 'orderId: exists with price 49.90 EUR'],
      [{ ...data, currency: 'USD' }, 'orderId: exists with price 49.90 EUR'],
      [{ ...rest, amount: '54.21' }, 'orderId: exists with price 49.90 EUR'],
    ] as const)
      expect(await create(other)).toMatchObject({ code: 409, detail });
    const asked = { ...rest, orderId: anOrderId(), amount: '54.21' };
    await create(asked);
    const again = await create({ ...data, orderId: asked.orderId });
    expect(again).toMatchObject({ code: 409, detail: 'orderId: exists with price none' });
  });
});

describe('without a valid rate', () => {
  test.each([
    ['a refused pair', () => withdraw('SOURCES_DISAGREE'), 'the sources disagree'],
    ['a depegged coin', () => withdraw('DEPEGGED'), 'the coin is off its peg'],
    [
      'a rate that ended',
      async () => void (await aRate(admin.kysely, { validForSeconds: -1 })),
      'the last one is too old',
    ],
  ])('rejects an order with a price in %s', async (_, make, why) => {
    await make();
    const data = priced();
    expect(await create(data)).toMatchObject({
      code: 422,
      msg: 'Rate not available',
      detail: `currency: no rate of USDT in EUR now: ${why}; repeat the request later`,
    });
    await aRate(admin.kysely);
    expect(await create(data)).toMatchObject({ code: 200, data: { amount: '54.21' } });
  });

  test('rejects a currency that the gateway has no rates in', async () => {
    expect(await create(priced({ currency: 'CHF' }))).toMatchObject({
      code: 422,
      detail: 'currency: the gateway has no rate of USDT in CHF',
    });
  });
});

describe('fields', () => {
  test.each([
    [{ currency: undefined }, 'The currency is invalid.'],
    [{ currency: 'EURO' }, 'The currency is invalid.'],
    [{ price: '49.905' }, 'The price is invalid.'],
    [{ price: '0' }, 'The price is invalid.'],
    [{ price: '49,90' }, 'The price is invalid.'],
    [{ price: ['49.90'] }, 'The price is invalid.'],
    [{ price: '9999999999' }, 'The amount is out of range.'],
    [{ price: null }, 'The amount cannot be left blank.'],
  ])('rejects %j: %s', async (change, msg) => {
    expect(await create(priced(change))).toMatchObject({ code: 400, msg });
  });

  test.each([undefined, '49.90', 'of the shop', { net: '4' }])(
    'ignores currency and price %j next to an amount, as before prices existed',
    async (price) => {
      const answer = await create(priced({ price, amount: '5', currency: 'whatever' }));
      expect(answer).toMatchObject({ code: 200, data: { amount: '5.00' } });
      for (const member of ['currency', 'price', 'rate']) expect(answer.data).not.toHaveProperty(member);
    },
  );
});

describe('the database', () => {
  test('accepts no order whose rate was never decided, and no change of a rate', async () => {
    const data = priced();
    await create(data);
    const db = api.database.kysely;
    await expect(
      sql`update orders set rate = '1.000000000000' where order_id = ${data.orderId}`.execute(db),
    ).rejects.toMatchObject({ code: 'DATABASE_FORBIDDEN' });
    await expect(
      sql`update orders set rate = '1.000000000000' where order_id = ${data.orderId}`.execute(admin.kysely),
    ).rejects.toThrow(/orders_rate/);
    await expect(
      sql`update orders set price = null where order_id = ${data.orderId}`.execute(admin.kysely),
    ).rejects.toThrow(/orders_price/);
    await expect(sql`delete from rate where currency = 'EUR'`.execute(admin.kysely)).rejects.toThrow(
      /current_rate|orders_rate/,
    );
  });
});
