import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { sql } from 'kysely';
import { openDatabase } from '@opentill/db/database';
import { aChainCursor, aMerchant } from '@opentill/testkit/scenario';
import { openTestDatabase } from '@opentill/testkit/test-database';
import { waitUntil } from '@opentill/testkit/wait-until';
import { createRateLimits } from '../src/rate-limits.ts';
import {
  anOrderId,
  COLLECTION,
  collectionData,
  PAYOUT,
  payoutData,
  startTestApi,
  type Answered,
  type TestApi,
  type TestApiOptions,
} from './support/test-api.ts';

const merchant = { token: 'token-of-shop-0123456789-0123456789' };
const SLOW_DOWN = 'Too many requests. Please slow down.';

const { testDatabase, admin } = await openTestDatabase();
const running: TestApi[] = [];

beforeAll(async () => {
  await aChainCursor(admin.kysely, { chain: 'ETH_SEPOLIA' });
});
beforeEach(async () => {
  await aMerchant(admin.kysely, { merchantId: 'shop', ...merchant, rateLimits: {} });
});
afterEach(async () => {
  await beginAnew();
  await sql`delete from request_nonce`.execute(admin.kysely);
  await sql`delete from merchant where merchant_id <> 'shop'`.execute(admin.kysely);
});

async function start(options: TestApiOptions = {}): Promise<TestApi> {
  const api = await startTestApi(testDatabase, { merchant, ...options });
  running.push(api);
  return api;
}

const codes = (answers: readonly Answered[]) => answers.map((answer) => answer.code);
const times = <T>(count: number, ask: (place: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, place) => ask(place)));

/** Repeats an attempt that outlasted its window under load; fails if it fails within the window, or three times. */
async function within(seconds: number, attempt: () => Promise<void>): Promise<void> {
  for (let left = 2; ; left -= 1) {
    const began = performance.now();
    try {
      return await attempt();
    } catch (error) {
      if (left === 0 || performance.now() - began < seconds * 1000) throw error;
      await beginAnew();
    }
  }
}

/** Like `within`, with a window that grows until it outlasts the attempt: an idle machine waits only a second. */
async function withinSome(attempt: (seconds: number) => Promise<void>): Promise<void> {
  for (let seconds = 1; ; seconds *= 4) {
    const began = performance.now();
    try {
      return await attempt(seconds);
    } catch (error) {
      if (seconds > 16 || performance.now() - began < seconds * 1000) throw error;
      await beginAnew();
    }
  }
}

/** Asks only after a window that begins now, because each of some 100 earlier requests would be rejected. */
function untilAfter(seconds: number, isAccepted: () => Promise<boolean>): Promise<void> {
  const endsAt = performance.now() + seconds * 1000;
  return waitUntil('the window ended', async () => performance.now() >= endsAt && isAccepted());
}

async function beginAnew(): Promise<void> {
  await Promise.all(running.splice(0).map((api) => api.stop()));
  await sql`delete from rate_counter`.execute(admin.kysely);
}

function expectSlowDown(answer: Answered, mostSeconds: number): void {
  expect(answer).toMatchObject({ code: 429, msg: SLOW_DOWN, data: null });
  const seconds = Number(answer.headers.get('retry-after'));
  expect(seconds).toBeGreaterThanOrEqual(1);
  expect(seconds).toBeLessThanOrEqual(mostSeconds);
}

/** The default, and one that a merchant has. */
const LIMITS = {
  memory: { requests: 100, seconds: 10, ofMerchant: (): Record<string, unknown> => ({}) },
  postgres: {
    requests: 3,
    seconds: 60,
    ofMerchant: (endpoint: string): Record<string, unknown> => ({ [endpoint]: { requests: 3, seconds: 60 } }),
  },
};

describe.each(['memory', 'postgres'] as const)('rate limits in %s', (rateLimitStore) => {
  it.each([
    ['createCollection', COLLECTION, () => collectionData({ amount: 'x' })],
    ['createPayout', PAYOUT, () => payoutData({ amount: 'x' })],
    ['link', '/v1/link/list', () => ({ limit: 0 })],
  ])('%s: answers requests up to the limit, and rejects the next', (endpoint, path, data) => {
    const { requests, seconds, ofMerchant } = LIMITS[rateLimitStore];
    return within(seconds, async () => {
      await aMerchant(admin.kysely, { merchantId: 'shop', ...merchant, rateLimits: ofMerchant(endpoint) });
      const api = await start({ rateLimitStore });
      expect(codes(await times(requests, () => api.post(path, data())))).toEqual(
        Array.from({ length: requests }, () => 400),
      );
      expectSlowDown(await api.post(path, data()), seconds);
      // Rejected before the body is read.
      const unread = { headers: { 'content-type': 'text/plain' }, body: 'x' };
      expectSlowDown(await api.request('POST', path, unread), seconds);
      for (const other of [COLLECTION, PAYOUT, '/v1/link/list'].filter((each) => each !== path))
        expect((await api.post(other, {})).code).toBe(400);
    });
  });

  it('limits pay and getOrderStatus per order and endpoint to two at once', () =>
    withinSome(async (seconds) => {
      const limit = { requests: 2, seconds };
      const rateLimits = seconds === 1 ? {} : { pay: limit, getOrderStatus: limit }; // else the defaults
      await aMerchant(admin.kysely, { merchantId: 'shop', ...merchant, rateLimits });
      const api = await start({ rateLimitStore });
      const [one, two] = [anOrderId(), anOrderId()];
      for (const orderId of [one, two]) await api.post(COLLECTION, collectionData({ orderId }));
      for (const endpoint of ['pay', 'getOrderStatus'] as const) {
        const answers = await times(3, () => api.signedGet(endpoint, one));
        expect(codes(answers).toSorted((a, b) => a - b)).toEqual([200, 200, 429]);
        expectSlowDown(
          answers.find((answer) => answer.code === 429)!,
          seconds,
        );
        expect((await api.signedGet(endpoint, two)).code).toBe(200);
      }
      await untilAfter(seconds, async () => (await api.signedGet('pay', one)).code === 200);
    }));

  it('does not spend the nonce of a 429', () =>
    withinSome(async (seconds) => {
      await aMerchant(admin.kysely, {
        merchantId: 'shop',
        ...merchant,
        rateLimits: { createCollection: { requests: 1, seconds } },
      });
      const api = await start({ rateLimitStore });
      await api.post(COLLECTION, collectionData());
      const nonce = anOrderId();
      const data = collectionData();
      expectSlowDown(await api.post(COLLECTION, data, { nonce }), seconds);
      await untilAfter(seconds, async () => (await api.post(COLLECTION, data, { nonce })).code === 200);
    }));
});

it("limits an order's requests in any window when counted in Postgres", async () => {
  const database = testDatabase.open('api');
  let now = 0;
  const replicas = [1, 2].map(() => createRateLimits(database.kysely, () => now));
  const after = async (ms: number, replica: number) => {
    now += ms;
    await sql`update rate_counter set recent = array(select t - ${ms} from unnest(recent) t)`.execute(
      admin.kysely,
    );
    return replicas[replica]!.take('order:pay', 'a', { requests: 2, seconds: 60 });
  };
  expect([await after(0, 0), await after(59_000, 1), await after(1_000, 0)]).toEqual([0, 0, 0]);
  const wait = await after(2_000, 1);
  expect(wait).toBeGreaterThan(50);
  expect(wait).toBeLessThanOrEqual(57);
  expect(await after(57_000, 1)).toBe(0);
  expect(await after(0, 0)).toBeGreaterThan(0);
  await database.close();
});

it('drops a session that became read-only while it counted', async () => {
  const database = openDatabase({ url: testDatabase.url('api'), applicationName: 'limits', poolMax: 1 });
  const limits = createRateLimits(database.kysely);
  for (const kind of ['order:pay', 'merchant:createPayout'] as const) {
    const take = () => limits.take(kind, 'read-only', { requests: 10, seconds: 60 });
    await sql`set default_transaction_read_only = on`.execute(database.kysely);
    await expect(take()).rejects.toMatchObject({
      code: 'DATABASE_UNAVAILABLE',
      context: { sqlState: '25006' },
    });
    expect(await take()).toBe(0);
  }
  await database.close();
});

describe('limits by key', () => {
  it("limits status by client address with the merchant's limit", async () => {
    const rateLimits = { status: { requests: 5, seconds: 60 } };
    await aMerchant(admin.kysely, { merchantId: 'shop', ...merchant, rateLimits });
    const api = await start();
    const answers = await times(5, (i) => api.signedGet('status', `unknown-${i}`));
    expect(new Set(codes(answers))).toEqual(new Set([404]));
    expectSlowDown(await api.signedGet('status', 'unknown'), 60);
  });

  it('limits supportSymbols to 50 requests in ten seconds', () =>
    within(10, async () => {
      const api = await start();
      const answers = await times(50, () => api.request('GET', '/v1/symbol/supportSymbols'));
      expect(new Set(codes(answers))).toEqual(new Set([200]));
      expectSlowDown(await api.request('GET', '/v1/symbol/supportSymbols'), 10);
    }));

  it("uses a merchant's limit, and the highest one per client address", async () => {
    const busy = { token: 'token-of-busy-0123456789-0123456789' };
    const limit = (requests: number) => ({ createCollection: { requests, seconds: 60 } });
    await aMerchant(admin.kysely, { merchantId: 'busy', ...busy, rateLimits: limit(6) });
    await aMerchant(admin.kysely, { merchantId: 'shop', ...merchant, rateLimits: limit(3) });
    const api = await start();
    const post = (by = merchant) => api.post(COLLECTION, collectionData({ amount: 'x' }), { merchant: by });
    expect(codes(await times(4, () => post(busy)))).toEqual([400, 400, 400, 400]);
    expect(codes(await times(2, () => post()))).toEqual([400, 400]);
    expectSlowDown(await post(), 60);
  });

  it("counts a merchant's limit after the signature, so others cannot use it up", async () => {
    const rateLimits = {
      createCollection: { requests: 5, seconds: 60 },
      createPayout: { requests: 1000, seconds: 1 },
    };
    await aMerchant(admin.kysely, { merchantId: 'another', token: 'token-of-another-0123456789-0123456789' }); // per client address the defaults apply
    await aMerchant(admin.kysely, { merchantId: 'shop', ...merchant, rateLimits });
    const api = await start();
    const named = `/m/shop${COLLECTION}`; // without a merchant id the address is rejected after a few wrong signatures
    await times(6, () => api.post(named, collectionData(), { sign: 'f'.repeat(64) }));
    await times(6, () => api.post(named, collectionData(), { timestamp: 5 }));
    const answers = await times(6, () => api.post(named, collectionData({ amount: 'x' })));
    expect(codes(answers).toSorted((a, b) => a - b)).toEqual([400, 400, 400, 400, 400, 429]);
  });

  it("counts an order's limit after the signature, so others cannot use it up", async () => {
    const api = await start();
    const orderId = anOrderId();
    await api.post(COLLECTION, collectionData({ orderId }));
    const forged = await times(3, () =>
      api.request('GET', `/v1/order/pay?orderId=${orderId}&sign=${'a'.repeat(64)}`),
    );
    expect(new Set(codes(forged))).toEqual(new Set([401]));
    expect(codes(await times(2, () => api.signedGet('pay', orderId)))).toEqual([200, 200]);
  });

  it('counts wrong and missing signatures per client address, not valid ones', () =>
    within(10, async () => {
      const api = await start();
      const orderId = anOrderId();
      await api.post(COLLECTION, collectionData({ orderId }));
      const forge = () => api.request('GET', `/v1/order/pay?orderId=${orderId}&sign=${'a'.repeat(64)}`);
      const unsigned = () => api.request('GET', '/v1/order/pay?orderId=x');
      const post = () => api.post(COLLECTION, collectionData(), { sign: '' });
      const refused = [times(50, forge), times(25, unsigned), times(25, post)];
      expect(new Set(codes((await Promise.all(refused)).flat()))).toEqual(new Set([401]));
      for (const ask of [forge, unsigned]) expectSlowDown(await ask(), 10);
      expect((await api.signedGet('pay', orderId)).code).toBe(200);
    }));

  it('shares limits between replicas in Postgres', async () => {
    const rateLimits = { createCollection: { requests: 10, seconds: 60 } };
    await aMerchant(admin.kysely, { merchantId: 'shop', ...merchant, rateLimits });
    const [one, two] = [
      await start({ rateLimitStore: 'postgres' }),
      await start({ rateLimitStore: 'postgres' }),
    ];
    const answers = await times(14, (i) =>
      (i % 2 === 0 ? one : two).post(COLLECTION, collectionData({ amount: 'x' })),
    );
    expect(codes(answers).filter((code) => code === 400)).toHaveLength(10);
    expect(codes(answers).filter((code) => code === 429)).toHaveLength(4);
  });
});

describe('client address', () => {
  const ask = (api: TestApi, forwarded: string) =>
    api.request('GET', '/v1/symbol/supportSymbols', { headers: { 'x-forwarded-for': forwarded } });

  beforeEach(async () => {
    const rateLimits = { supportSymbols: { requests: 3, seconds: 60 } };
    await aMerchant(admin.kysely, { merchantId: 'shop', ...merchant, rateLimits });
  });

  it('ignores X-Forwarded-For unless a trusted proxy sent it', async () => {
    const api = await start();
    const answers = await times(4, (i) => ask(api, `203.0.113.${i}`));
    expect(codes(answers).filter((code) => code === 429)).toHaveLength(1);
  });

  it('uses the last X-Forwarded-For entry that is not a trusted proxy', async () => {
    const api = await start({ trustedProxies: ['127.0.0.1', '10.0.0.0/8'] });
    // Each request has another client; the entries that a client adds itself have no effect.
    const answers = await times(5, (i) => ask(api, `198.51.100.${i}, 203.0.113.7, 10.1.2.3`));
    expect(codes(answers).filter((code) => code === 429)).toHaveLength(2);
    expect((await ask(api, '203.0.113.8, 10.1.2.3')).code).toBe(200);
    expectSlowDown(await ask(api, '203.0.113.7'), 60);
  });

  it('counts IPv6 clients per /64', async () => {
    const api = await start({ trustedProxies: ['127.0.0.1'] });
    const answers = await times(4, (i) => ask(api, `2001:db8:1:2::${i}`));
    expect(codes(answers).filter((code) => code === 429)).toHaveLength(1);
    expect((await ask(api, '2001:db8:1:3::1')).code).toBe(200);
  });
});
