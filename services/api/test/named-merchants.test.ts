import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { sql } from 'kysely';
import { signOrderId } from '@opentill/contracts/signing/verify-signature';
import type { MerchantSettings } from '@opentill/db/merchants';
import { aChainCursor, aMerchant } from '@opentill/testkit/scenario';
import { openTestDatabase } from '@opentill/testkit/test-database';
import {
  anOrderId,
  COLLECTION,
  collectionData,
  NO_LIMITS,
  startTestApi,
  type TestApi,
  type TestApiOptions,
} from './support/test-api.ts';

const { testDatabase, admin } = await openTestDatabase();
let oldest: MerchantSettings;
let second: MerchantSettings;
let newest: MerchantSettings;
const running: TestApi[] = [];

beforeAll(async () => {
  const settings = { rateLimits: NO_LIMITS };
  // Sorted by age, not by id.
  oldest = await aMerchant(admin.kysely, { merchantId: 'm-oldest', ...settings });
  second = await aMerchant(admin.kysely, { merchantId: 'z-second', signVersion: 2, ...settings });
  newest = await aMerchant(admin.kysely, { merchantId: 'a-newest', ...settings });
  for (const [place, { merchantId }] of [oldest, second, newest].entries())
    await sql`update merchant set created_at = now() - ${`${3 - place} hours`}::interval where merchant_id = ${merchantId}`.execute(
      admin.kysely,
    );
  await aChainCursor(admin.kysely, { chain: 'ETH_SEPOLIA' });
});
afterEach(async () => {
  await Promise.all(running.splice(0).map((api) => api.stop()));
});

async function start(options: TestApiOptions = {}): Promise<TestApi> {
  const api = await startTestApi(testDatabase, { merchant: oldest, ...options });
  running.push(api);
  return api;
}

const WRONG = { code: 401, msg: 'Sign verification failed' };
const MUST_NAME = 'Too many refused signatures. Name the merchant: use its base URL, /m/<merchantId>.';
const named = (merchantId: string) => ({ 'X-Merchant-Id': merchantId });
const pay = (orderId: string, sign: string) => `/v1/order/pay?orderId=${orderId}&sign=${sign}`;

describe('base URL of a merchant', () => {
  it("serves every route below /v1 and the checkout's calls under /m/<merchantId>", async () => {
    const api = await start({ unnamedMerchantsMax: 1 });
    const base = '/m/a-newest';
    const data = collectionData();
    const created = await api.post(base + COLLECTION, data, { merchant: newest });
    expect(created.code).toBe(200);
    const orderId = String(data['orderId']);
    const sign = signOrderId(newest.token, orderId);
    for (const path of [
      `/v1/order/status/${orderId}?sign=${sign}`,
      pay(orderId, sign),
      `/v1/order/getOrderStatus?orderId=${orderId}&sign=${sign}`,
      '/v1/symbol/supportSymbols',
    ]) {
      expect((await api.request('GET', base + path)).code).toBe(200);
    }
    const events = `${base}/v1/order/events?orderId=${orderId}&sign=${sign}`;
    expect((await api.request('HEAD', events)).status).toBe(200);
    expect((await api.request('GET', `${base}${COLLECTION}`)).code).toBe(405);
    expect((await api.request('GET', `${base}/v2/order/pay`)).code).toBe(404);
    expect(await api.post(base + COLLECTION, collectionData(), { merchant: oldest })).toMatchObject(WRONG);
  });
});

describe('payment links', () => {
  it('finds a merchant beyond the limit of unnamed ones by its payment link', async () => {
    const api = await start({ unnamedMerchantsMax: 1 });
    const created = await api.post(COLLECTION, collectionData(), {
      merchant: newest,
      headers: named('a-newest'),
    });
    const url = new URL(created.data.paymentUrl as string);
    expect((await api.request('GET', `/checkout${url.search}`)).status).toBe(200);
    expect((await api.request('GET', `/v1/order/pay${url.search}`)).code).toBe(200);
  });

  it('accepts an old payment link without a merchant id', async () => {
    const api = await start();
    for (const merchant of [oldest, newest]) {
      const orderId = anOrderId();
      await api.post(COLLECTION, collectionData({ orderId }), {
        merchant,
        headers: named(merchant.merchantId),
      });
      const link = `?orderId=${orderId}&sign=${signOrderId(merchant.token, orderId)}`;
      expect((await api.request('GET', `/checkout${link}`)).status).toBe(200);
    }
  });
});

describe('requests without a merchant id', () => {
  it('tries only the configured number of oldest merchants', async () => {
    const api = await start({ unnamedMerchantsMax: 2 });
    expect((await api.post(COLLECTION, collectionData())).code).toBe(200);
    expect((await api.signedGet('status', 'none', second)).code).toBe(404);
    expect(await api.signedGet('status', 'none', newest)).toMatchObject(WRONG);
    expect(await api.post(COLLECTION, collectionData(), { merchant: newest })).toMatchObject(WRONG);
    const headers = named('a-newest');
    expect((await api.post(COLLECTION, collectionData(), { merchant: newest, headers })).code).toBe(200);
  });

  it('requires a merchant id after a few wrong signatures of an address', async () => {
    const api = await start({ unnamedFailuresMax: 3, trustedProxies: ['127.0.0.1'] });
    const from = (address: string) => ({ 'X-Forwarded-For': address });
    const wrong = () => api.request('GET', pay('x', 'f'.repeat(64)), { headers: from('203.0.113.1') });
    expect([await wrong(), await wrong(), await wrong()]).toMatchObject([WRONG, WRONG, WRONG]);
    const headers = from('203.0.113.1');
    for (const answer of [await wrong(), await api.post(COLLECTION, collectionData(), { headers })]) {
      expect(answer).toMatchObject({ code: 429, msg: MUST_NAME });
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    }
    expect((await api.post(`/m/m-oldest${COLLECTION}`, collectionData(), { headers })).code).toBe(200);
    expect((await api.post(COLLECTION, collectionData(), { headers: from('203.0.113.2') })).code).toBe(200);
  });
});

describe('unknown merchants', () => {
  it('answers an unknown merchant like a wrong signature', async () => {
    const api = await start();
    const seen = (answer: { status: number; text: string; headers: Headers }) => {
      const { 'x-request-id': _id, date: _date, ...headers } = Object.fromEntries(answer.headers);
      return { status: answer.status, text: answer.text, headers };
    };
    const wrong = 'f'.repeat(64);
    const data = collectionData();
    // Equal requests: the detail of a wrong signature describes their bytes.
    const same = { sign: wrong, nonce: 'n', timestamp: api.nowSeconds() };
    const ask = async (merchantId: string) => [
      seen(await api.request('GET', `/m/${merchantId}${pay('x', wrong)}`)),
      seen(await api.request('GET', pay('x', wrong), { headers: named(merchantId) })),
      seen(await api.request('GET', pay('x', `${wrong}.${merchantId}`))),
      seen(await api.request('GET', `/m/${merchantId}/v1/order/status/x?sign=${wrong}`)),
      seen(await api.post(`/m/${merchantId}${COLLECTION}`, data, same)),
      seen(await api.post(COLLECTION, data, { ...same, headers: named(merchantId) })),
      seen(await api.request('GET', `/m/${merchantId}/v1/symbol/supportSymbols`)),
      seen(await api.request('GET', `/m/${merchantId}/v1/nothing`)),
    ];
    const unknown = await ask('unknown');
    expect(unknown[0]).toMatchObject({ status: 401, text: expect.stringContaining(WRONG.msg) });
    expect(await ask('m-oldest')).toEqual(unknown);
    expect(await ask('z-second')).toEqual(unknown);
  });
});
