import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sql } from 'kysely';
import { evmAddressCodec } from '@opentill/chain-evm/address';
import type { MerchantSettings } from '@opentill/db/merchants';
import { aChainCursor, aMerchant } from '@opentill/testkit/scenario';
import { openTestDatabase } from '@opentill/testkit/test-database';
import { waitUntil } from '@opentill/testkit/wait-until';
import { createDepositDeriver } from '@opentill/wallet/deposit-address-deriver';
import { signPaymentLink } from '@opentill/contracts/signing/verify-signature';
import {
  anOrderId,
  COLLECTION,
  collectionData,
  NO_LIMITS,
  startTestApi,
  TEST_NETWORKS,
  TEST_PUBLIC_KEYS,
  type TestApi,
} from './support/test-api.ts';
import { findAddressProblems } from './support/find-address-problems.ts';

const { testDatabase, admin } = await openTestDatabase();
let api: TestApi;
let v3: MerchantSettings;
let v2: MerchantSettings;

beforeAll(async () => {
  v3 = await aMerchant(admin.kysely, {
    merchantId: 'v3',
    rateLimits: NO_LIMITS,
    returnOrigins: ['https://shop.example', 'http://localhost:3011'],
  });
  v2 = await aMerchant(admin.kysely, { merchantId: 'v2', version: 'V2', rateLimits: NO_LIMITS });
  await aChainCursor(admin.kysely, { chain: 'ETH_SEPOLIA' });
  await aChainCursor(admin.kysely, { chain: 'BSC_TEST' });
  api = await startTestApi(testDatabase, { merchant: v3 });
});
afterAll(() => api.stop());

const create = (data: unknown, merchant = v3, through = api) => through.post(COLLECTION, data, { merchant });

async function rowOf(orderId: string) {
  return admin.kysely
    .selectFrom('orders')
    .innerJoin('deposit_address', 'deposit_address.order_pk', 'orders.order_pk')
    .selectAll('orders')
    .select('derivation_index')
    .where('order_id', '=', orderId)
    .executeTakeFirstOrThrow();
}

describe('createCollection', () => {
  it('creates a collection with a derived address, checkout URL and shown amount', async () => {
    const orderId = anOrderId();
    const data = collectionData({
      orderId,
      amount: '250',
      symbol: 'usdt',
      uid: 42,
      ignored: { deep: [1, 2] },
    });
    const [before, answer] = await api.atOneMoment(async () => [api.nowSeconds(), await create(data)]);
    expect(answer).toMatchObject({ code: 200, msg: 'success' });
    expect(Object.keys(answer.data as object)).toEqual([
      'address',
      'amount',
      'symbol',
      'chain',
      'uid',
      'orderId',
      'expiredTime',
      'paymentUrl',
    ]);
    expect(answer.data).toMatchObject({
      amount: '250.00',
      symbol: 'USDT',
      chain: 'ETH_SEPOLIA',
      uid: '42',
      orderId,
    });
    expect(answer.data.expiredTime).toBeGreaterThanOrEqual(before + 1800);
    expect(answer.data.expiredTime).toBeLessThanOrEqual(before + 1802);
    expect(answer.data.paymentUrl).toBe(
      `http://pay.example/checkout?orderId=${orderId}&sign=${signPaymentLink(v3.token, orderId)}.${v3.merchantId}`,
    );

    const row = await rowOf(orderId);
    const derived = createDepositDeriver(TEST_PUBLIC_KEYS, [evmAddressCodec]).address(
      'EVM',
      row.derivation_index,
    );
    expect(answer.data.address).toBe(evmAddressCodec.format(derived));
    expect(row).toMatchObject({
      merchant_id: 'v3',
      status: 'INIT',
      amount: 250_000_000n,
      accepted_amount: 250_000_000n,
      address: derived,
      confirmations_required: 3,
      uid: '42',
    });
    expect(row.expires_at.getTime() / 1000).toBe(answer.data.expiredTime);
  });

  it('stores first notification and event together and wakes the relay', async () => {
    const orderId = anOrderId();
    const wakes = api.wakes();
    const answer = await create(collectionData({ orderId, amount: '12.340000' }));
    expect(answer.data.amount).toBe('12.34');
    expect(api.wakes()).toBe(wakes + 1);
    const { order_pk } = await rowOf(orderId);
    const notification = await admin.kysely
      .selectFrom('notification')
      .selectAll()
      .where('subject_id', '=', order_pk)
      .executeTakeFirstOrThrow();
    expect(notification).toMatchObject({ sequence: 1, notify_type: 'ORDER_PENDING', merchant_id: 'v3' });
    expect(JSON.parse(notification.data)).toEqual({
      orderId,
      uid: null,
      orderType: 'COLLECTION',
      status: 'INIT',
      reason: null,
      amount: '12.34',
      actualAmount: null,
      fee: '0',
      feeRatio: '0',
      transaction: null,
    });
    const events = await admin.kysely.selectFrom('api.outbox').selectAll().execute();
    const payload = events
      .map((event) => JSON.parse(event.payload))
      .find((each) => each.data.orderPk === order_pk);
    expect(payload).toMatchObject({
      type: 'order.created',
      version: 1,
      data: { orderPk: order_pk, eventId: notification.event_id },
    });
  });

  it.each([
    ['250', '250.00'],
    ['0.123456', '0.123456'],
    ['0.01', '0.01'],
    ['1000000', '1000000.00'],
    ['00012.5', '12.50'],
    ['7.10000000000000', '7.10'],
  ])('answers amount %s as %s', async (amount, shown) => {
    expect((await create(collectionData({ amount }))).data.amount).toBe(shown);
  });

  it('reads a JSON number from its literal, never through a float', async () => {
    const orderId = anOrderId();
    const dataText = `{"amount":123456.100001,"symbol":"USDT","chain":"ETH_SEPOLIA","orderId":"${orderId}"}`;
    const { signText } = await import('@opentill/contracts/signing/verify-signature');
    const body = `{"sign":"${signText(v3.token, dataText)}","timestamp":${api.nowSeconds()},"nonce":"${orderId}","data":${dataText}}`;
    const answer = await api.request('POST', COLLECTION, {
      headers: { 'content-type': 'application/json' },
      body,
    });
    expect(answer.data.amount).toBe('123456.100001');
    expect((await rowOf(orderId)).amount).toBe(123_456_100_001n);
  });

  it('keeps every base unit of a token with 18 decimals', async () => {
    const orderId = anOrderId();
    const amount = '999999.123456789012345678';
    const answer = await create(collectionData({ orderId, amount, chain: 'BSC_TEST' }));
    expect(answer.data.amount).toBe(amount);
    expect((await rowOf(orderId)).amount).toBe(999_999_123_456_789_012_345_678n);
  });

  it("uses the merchant's lifetime, tolerance and grace, unless expiresIn is set", async () => {
    const merchant = await aMerchant(admin.kysely, {
      merchantId: 'tolerant',
      orderTtlSeconds: 120,
      underpaymentToleranceBps: 50,
      lateGraceSeconds: 77,
      rateLimits: NO_LIMITS,
    });
    await api.knows(merchant);
    const orderId = anOrderId();
    const [at, answer, longer] = await api.atOneMoment(async () => [
      api.nowSeconds(),
      await create(collectionData({ orderId, amount: '100' }), merchant),
      await create(collectionData({ expiresIn: 86400 }), merchant),
    ]);
    expect(answer.data.expiredTime - at).toBeGreaterThanOrEqual(118);
    expect(answer.data.expiredTime - at).toBeLessThanOrEqual(120);
    expect(await rowOf(orderId)).toMatchObject({ accepted_amount: 99_500_000n, late_grace_seconds: 77 });
    expect(longer.data.expiredTime - at).toBeGreaterThanOrEqual(86_398);
  });

  it('keeps returnUrl and description', async () => {
    const orderId = anOrderId();
    const description = 'Zwei Kaffee ☕ & <Kuchen>';
    await create(collectionData({ orderId, returnUrl: 'https://shop.example/thanks?o=1', description }));
    expect(await rowOf(orderId)).toMatchObject({
      return_url: 'https://shop.example/thanks?o=1',
      description,
    });
  });
});

describe('fields of createCollection', () => {
  const missing = (name: string) => ({ [name]: undefined });
  it.each([
    ['The amount cannot be left blank.', missing('amount')],
    ['The amount cannot be left blank.', { amount: null }],
    ['The amount cannot be left blank.', { amount: '' }],
    ['The amount cannot be left blank.', { amount: 'ten' }],
    ['The amount cannot be left blank.', { amount: '-1' }],
    ['The amount cannot be left blank.', { amount: '+1' }],
    ['The amount cannot be left blank.', { amount: '1e3' }],
    ['The amount cannot be left blank.', { amount: '1.' }],
    ['The amount cannot be left blank.', { amount: '.5' }],
    ['The amount cannot be left blank.', { amount: ' 5' }],
    ['The amount cannot be left blank.', { amount: '1,5' }],
    ['The amount cannot be left blank.', { amount: '٣' }],
    ['The amount cannot be left blank.', { amount: ['5'] }],
    ['The amount cannot be left blank.', { amount: true }],
    ['The amount cannot be left blank.', { amount: 1e21 }],
    ['The amount cannot be left blank.', { amount: '1'.repeat(31) }],
    ['The amount must be greater than zero.', { amount: '0' }],
    ['The amount must be greater than zero.', { amount: 0 }],
    ['The amount must be greater than zero.', { amount: '0.000000000' }],
    ['The amount has too many decimals.', { amount: '1.0000001' }],
    ['The amount is out of range.', { amount: '0.009999' }],
    ['The amount is out of range.', { amount: '1000000.000001' }],
    ['The amount is out of range.', { amount: '1'.repeat(30) }],
    ['The symbol cannot be left blank.', missing('symbol')],
    ['The symbol cannot be left blank.', { symbol: '' }],
    ['The symbol cannot be left blank.', { symbol: '  ' }],
    ['The symbol cannot be left blank.', { symbol: null }],
    ['The symbol cannot be left blank.', { symbol: 7 }],
    ['Unsupported symbol or chain', { symbol: 'DOGE' }],
    ['Unsupported symbol or chain', { symbol: 'USDT\u0000' }],
    ['Unsupported symbol or chain', { chain: 'ETH' }],
    ['Unsupported symbol or chain', { chain: 'TRON' }],
    ['Unsupported symbol or chain', { chain: 'BSC_TEST', symbol: 'USDC' }],
    ['The chain cannot be left blank.', missing('chain')],
    ['The chain cannot be left blank.', { chain: '' }],
    ['The chain cannot be left blank.', { chain: 'eth_sepolia' }],
    ['The chain cannot be left blank.', { chain: 'DOGECHAIN' }],
    ['The chain cannot be left blank.', { chain: 'constructor' }],
    ['The uid is invalid.', { uid: 'a b' }],
    ['The uid is invalid.', { uid: 1.5 }],
    ['The uid is invalid.', { uid: 'x'.repeat(65) }],
    ['The uid is invalid.', { uid: {} }],
    ['The uid cannot be zero.', { uid: '0' }],
    ['The uid cannot be zero.', { uid: 0 }],
    ['The orderId cannot be left blank.', missing('orderId')],
    ['The orderId cannot be left blank.', { orderId: null }],
    ['The orderId cannot be left blank.', { orderId: '' }],
    ['The orderId is invalid.', { orderId: 'a b' }],
    ['The orderId is invalid.', { orderId: 'a/b' }],
    ['The orderId is invalid.', { orderId: 'é' }],
    ['The orderId is invalid.', { orderId: 'a\u0000b' }],
    ['The orderId is invalid.', { orderId: 'x'.repeat(65) }],
    ['The orderId is invalid.', { orderId: '.' }],
    ['The orderId is invalid.', { orderId: '..' }],
    ['The orderId is invalid.', { orderId: 12 }],
    ['The returnUrl is invalid.', { returnUrl: 'https://evil.example/' }],
    ['The returnUrl is invalid.', { returnUrl: 'http://localhost:3011/back' }],
    ['The returnUrl is invalid.', { returnUrl: 'javascript:alert(1)' }],
    ['The returnUrl is invalid.', { returnUrl: 'https://shop.example@evil.example/' }],
    ['The returnUrl is invalid.', { returnUrl: 'https://user:pw@shop.example/' }],
    ['The returnUrl is invalid.', { returnUrl: 7 }],
    ['The description is invalid.', { description: 'x'.repeat(121) }],
    ['The description is invalid.', { description: 'paid \u202etcudorp' }],
    ['The description is invalid.', { description: 'a\u2066b' }],
    ['The description is invalid.', { description: 'a\u200fb' }],
    ['The description is invalid.', { description: 'a\nb' }],
    ['The description is invalid.', { description: 'a\u0000b' }],
    ['The description is invalid.', { description: 7 }],
    ['The expiresIn is invalid.', { expiresIn: 59 }],
    ['The expiresIn is invalid.', { expiresIn: 86401 }],
    ['The expiresIn is invalid.', { expiresIn: '600' }],
    ['The expiresIn is invalid.', { expiresIn: 600.5 }],
  ])('answers "%s" for %j', async (msg, overrides) => {
    expect(await create(collectionData(overrides))).toMatchObject({ code: 400, msg, data: null });
  });

  it('requires uid and creates an orderId for a V2 merchant', async () => {
    const blank = await create(collectionData({ uid: undefined }), v2);
    expect(blank).toMatchObject({ code: 400, msg: 'The uid cannot be left blank.' });
    const zero = await create(collectionData({ uid: '0' }), v2);
    expect(zero).toMatchObject({ code: 400, msg: 'The uid cannot be zero.' });
    const first = await create(collectionData({ uid: 'user-1', orderId: undefined }), v2);
    const second = await create(collectionData({ uid: 'user-1', orderId: undefined }), v2);
    expect(first.code).toBe(200);
    expect(first.data.orderId).toMatch(/^[A-Za-z0-9_.:~@-]{1,64}$/);
    expect(second.data.orderId).not.toBe(first.data.orderId);
    expect(second.data.address).not.toBe(first.data.address);
  });

  it('checks amount, symbol, chain, uid and orderId before the other fields', async () => {
    const wrong: Record<string, unknown> = {
      amount: null,
      symbol: null,
      chain: null,
      uid: 'a b',
      orderId: 'a b',
      description: 7,
    };
    const right = collectionData();
    const texts: string[] = [];
    for (const field of ['amount', 'symbol', 'chain', 'uid', 'orderId', 'description']) {
      texts.push((await create(wrong)).msg);
      wrong[field] = right[field];
    }
    expect(texts).toEqual([
      'The amount cannot be left blank.',
      'The symbol cannot be left blank.',
      'The chain cannot be left blank.',
      'The uid is invalid.',
      'The orderId is invalid.',
      'The description is invalid.',
    ]);
  });

  it('accepts every allowed character in ids of full length', async () => {
    const id = `${anOrderId()}_-.:~@`.padEnd(64, 'Z');
    const answer = await create(collectionData({ orderId: id, uid: id }));
    expect(answer.data).toMatchObject({ orderId: id, uid: id });
    expect((await api.signedGet('status', id)).data.orderId).toBe(id);
    expect((await api.signedGet('pay', id)).data.orderId).toBe(id);
    const query = new URL(answer.data.paymentUrl as string).searchParams;
    expect(query.get('orderId')).toBe(id);
  });
});

describe('repeated collections', () => {
  it('answers an equal request with the order as first created', async () => {
    const orderId = anOrderId();
    const first = await create(collectionData({ orderId, amount: '250', uid: '7' }));
    api.advance(5);
    const again = await create({
      orderId,
      uid: 7,
      chain: 'ETH_SEPOLIA',
      symbol: 'usdt',
      amount: '250.000000',
      note: 'x',
    });
    expect(again).toMatchObject({ code: 200, data: first.data });
    expect(again.text).toBe(first.text);
  });

  it.each([
    ['amount', { amount: '250.01' }],
    ['symbol', { symbol: 'USDC' }],
    ['chain', { chain: 'BSC_TEST' }],
    ['uid', { uid: 'other' }],
    ['uid left out', { uid: undefined }],
  ])('answers 409 for a repeated order id with another %s', async (_what, change) => {
    const data = collectionData({ uid: 'u' });
    expect((await create(data)).code).toBe(200);
    expect(await create({ ...data, ...change })).toMatchObject({
      code: 409,
      msg: 'Order ID already exists.',
    });
  });

  it('answers 409 for a payout with the id of a collection', async () => {
    const data = collectionData();
    await create(data);
    const payout = await api.post('/v1/order/createPayout', {
      ...data,
      receiveAddress: '0x00000000000000000000000000000000deadbeef',
    });
    expect(payout).toMatchObject({ code: 409, msg: 'Order ID already exists.' });
  });

  it('keeps equal order ids of two merchants apart', async () => {
    const data = collectionData({ uid: 'u' });
    const mine = await create(data);
    const theirs = await create(data, v2);
    expect([mine.code, theirs.code]).toEqual([200, 200]);
    expect(theirs.data.address).not.toBe(mine.data.address);
  });

  it('answers an existing order despite new limits, chains and return origins', async () => {
    const order = collectionData({ returnUrl: 'https://shop.example/x' });
    const first = await create(order);
    const elsewhere = collectionData({ chain: 'BSC_TEST' });
    const firstElsewhere = await create(elsewhere);
    const networks = TEST_NETWORKS.map((network) => ({
      ...network,
      enabled: network.chain === 'ETH_SEPOLIA',
      tokens: network.tokens.map((token) => ({ ...token, minAmount: '9000' })),
    }));
    const later = await startTestApi(testDatabase, { merchant: v3, networks });
    try {
      expect(await create(order, v3, later)).toMatchObject({ code: 200, data: first.data });
      expect(await create(elsewhere, v3, later)).toMatchObject({ code: 200, data: firstElsewhere.data });
      expect(await create({ ...elsewhere, amount: '1' }, v3, later)).toMatchObject({ code: 409 });
      expect(await create(collectionData(), v3, later)).toMatchObject({ msg: 'The amount is out of range.' });
      expect(await create(collectionData({ chain: 'BSC_TEST' }), v3, later)).toMatchObject({
        msg: 'Unsupported symbol or chain',
      });
      await sql`update merchant set return_origins = '{}', updated_at = now() where merchant_id = 'v3'`.execute(
        admin.kysely,
      );
      const strict = await startTestApi(testDatabase, { merchant: v3 });
      expect(await create(order, v3, strict)).toMatchObject({ code: 200, data: first.data });
      expect(await create({ ...order, orderId: anOrderId() }, v3, strict)).toMatchObject({
        msg: 'The returnUrl is invalid.',
      });
      await strict.stop();
    } finally {
      await sql`update merchant set return_origins = '{https://shop.example,http://localhost:3011}', updated_at = now()
        where merchant_id = 'v3'`.execute(admin.kysely);
      await later.stop();
    }
  });

  it('creates one order with one address for fifty concurrent requests', async () => {
    const data = collectionData();
    const answers = await Promise.all(Array.from({ length: 50 }, () => create(data)));
    expect(answers.map((answer) => answer.code)).toEqual(Array.from({ length: 50 }, () => 200));
    expect(new Set(answers.map((answer) => answer.text)).size).toBe(1);
    const { rows } = await sql<{ orders: number; addresses: number; notifications: number; events: number }>`
      select count(distinct o.order_pk) as orders, count(distinct d.address) as addresses,
        count(distinct n.event_id) as notifications,
        (select count(*) from api.outbox x where x.payload::jsonb -> 'data' ->> 'orderPk' = min(o.order_pk::text)) as events
      from orders o join deposit_address d using (order_pk) join notification n on n.subject_id = o.order_pk
      where o.order_id = ${String(data['orderId'])}`.execute(admin.kysely);
    expect(rows).toEqual([{ orders: 1, addresses: 1, notifications: 1, events: 1 }]);
  });

  it('creates one order for fifty concurrent requests with two contents', async () => {
    const data = collectionData();
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) => create({ ...data, amount: i % 2 === 0 ? '1' : '2' })),
    );
    const codes = answers.map((answer) => answer.code);
    expect(codes.filter((code) => code === 200)).toHaveLength(25);
    expect(codes.filter((code) => code === 409)).toHaveLength(25);
  });
});

describe('chains without a cursor', () => {
  it('answers 503 without spending the nonce until the chain has a cursor', async () => {
    const data = collectionData({ chain: 'POLYGON_AMOY' });
    const nonce = 'waits-for-the-scanner';
    for (const _ of [1, 2]) {
      expect(await api.post(COLLECTION, data, { nonce })).toMatchObject({
        code: 503,
        msg: 'Chain not ready',
      });
    }
    await aChainCursor(admin.kysely, { chain: 'POLYGON_AMOY' });
    const answer = await api.post(COLLECTION, data, { nonce });
    expect(answer.code).toBe(200);
    expect((await rowOf(String(data['orderId']))).confirmations_required).toBeNull();
  });
});

describe('deposit addresses', () => {
  // 5,000 of them are in many-orders.full.test.ts.
  it('gives 150 orders of two replicas distinct addresses of the seed', async () => {
    const other = await startTestApi(testDatabase, { merchant: v3 });
    try {
      expect(await findAddressProblems(admin.kysely, [api, other], v3, 150)).toEqual([]);
    } finally {
      await other.stop();
    }
  });
});

describe('existing collections', () => {
  it('answers an existing order after its token got fewer decimals', async () => {
    const data = collectionData({ amount: '1.234567' });
    const first = await create(data);
    const networks = TEST_NETWORKS.map((network) => ({
      ...network,
      tokens: network.tokens.map((token) => ({ ...token, decimals: 2 })),
    }));
    const changed = await startTestApi(testDatabase, { merchant: v3, networks });
    expect(await create(data, v3, changed)).toMatchObject({ code: 200, data: first.data });
    const other = await create(collectionData({ amount: '1.234567' }), v3, changed);
    expect(other).toMatchObject({ code: 400, data: null });
    await changed.stop();
  });

  it("answers an existing order after its merchant's version changed", async () => {
    const merchant = await aMerchant(admin.kysely, { merchantId: 'moving', rateLimits: NO_LIMITS });
    await api.knows(merchant);
    const data = collectionData();
    const first = await create(data, merchant);
    expect(first.code).toBe(200);
    await aMerchant(admin.kysely, { ...merchant, version: 'V2' });
    const moved = await startTestApi(testDatabase, { merchant });
    expect(await create(data, merchant, moved)).toMatchObject({ code: 200, data: first.data });
    expect(await create(collectionData(), merchant, moved)).toMatchObject({
      code: 400,
      msg: 'The uid cannot be left blank.',
    });
    await moved.stop();
  });

  it('answers an existing order and 503 for new ones when addresses run out', async () => {
    const data = collectionData();
    const first = await create(data);
    await sql`revoke usage on sequence deposit_index_evm from opentill_api`.execute(admin.kysely);
    const dry = await startTestApi(testDatabase, { merchant: v3, addressWaitMs: 300 });
    expect(await create(data, v3, dry)).toMatchObject({ code: 200, data: first.data });
    expect(await create(collectionData(), v3, dry)).toMatchObject({ code: 503, data: null });
    const check = dry.app.checks['depositAddresses']!;
    expect(await check()).toMatchObject({ ok: false, detail: 'none ready for EVM' });
    expect(dry.logLines().find((line) => line['level'] === 'error')).toMatchObject({
      message: 'deposit addresses not refilled',
    });
    await sql`grant usage on sequence deposit_index_evm to opentill_api`.execute(admin.kysely);
    // Repeated as a merchant would: under load the next addresses may take longer than an order waits.
    await waitUntil(
      'there are addresses',
      async () => (await create(collectionData(), v3, dry)).code === 200,
    );
    expect(await check()).toMatchObject({ ok: true });
    await dry.stop();
  });
});
