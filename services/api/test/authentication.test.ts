import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sql } from 'kysely';
import { signOrderId, signText } from '@opentill/contracts/signing/verify-signature';
import { rotateToken, type MerchantSettings } from '@opentill/db/merchants';
import {
  aChainCursor,
  aMerchant,
  aMerchantWithShortToken,
  TEST_SECRETS_KEY,
} from '@opentill/testkit/scenario';
import { openTestDatabase } from '@opentill/testkit/test-database';
import { waitUntil } from '@opentill/testkit/wait-until';
import {
  anOrderId,
  COLLECTION,
  collectionData,
  NO_LIMITS,
  PAYOUT,
  payoutData,
  startTestApi,
  type TestApi,
} from './support/test-api.ts';

const { testDatabase, admin } = await openTestDatabase();
let api: TestApi;
let shop: MerchantSettings;
let cafe: MerchantSettings;
let careful: MerchantSettings;

beforeAll(async () => {
  const settings = { rateLimits: NO_LIMITS };
  shop = await aMerchant(admin.kysely, { merchantId: 'shop', ...settings });
  cafe = await aMerchant(admin.kysely, { merchantId: 'cafe', ...settings });
  careful = await aMerchant(admin.kysely, { merchantId: 'careful', signVersion: 2, ...settings });
  await aChainCursor(admin.kysely, { chain: 'ETH_SEPOLIA' });
  // The wrong signatures of these tests do not name a merchant.
  api = await startTestApi(testDatabase, { merchant: shop, unnamedFailuresMax: 1_000_000 });
});
afterAll(() => api.stop());

const postBody = (path: string, body: string, headers: Record<string, string> = {}, through = api) =>
  through.request('POST', path, { headers: { 'content-type': 'application/json', ...headers }, body });

describe('the request envelope', () => {
  it.each([
    ['The sign cannot be left blank.', { sign: undefined }],
    ['The sign cannot be left blank.', { sign: null }],
    ['The sign cannot be left blank.', { sign: '' }],
    ['The sign cannot be left blank.', { sign: ' ' }],
    ['The sign cannot be left blank.', { sign: 7 }],
    ['The timestamp cannot be left blank.', { timestamp: undefined }],
    ['The timestamp cannot be left blank.', { timestamp: null }],
    ['The timestamp cannot be left blank.', { timestamp: '1790000000' }],
    ['The timestamp cannot be left blank.', { timestamp: 1.5 }],
    ['The timestamp cannot be left blank.', { timestamp: 1e300 }],
    ['The nonce cannot be left blank.', { nonce: undefined }],
    ['The nonce cannot be left blank.', { nonce: null }],
    ['The nonce cannot be left blank.', { nonce: '' }],
    ['The nonce cannot be left blank.', { nonce: '  ' }],
    ['The nonce cannot be left blank.', { nonce: 5 }],
    ['The nonce cannot be left blank.', { nonce: 'x'.repeat(129) }],
    ['The nonce cannot be left blank.', { nonce: 'ü' }],
    ['The nonce cannot be left blank.', { nonce: 'a\u0000' }],
  ])('rejects an envelope with "%s" for %j', async (msg, options) => {
    expect(await api.post(COLLECTION, collectionData(), options)).toMatchObject({
      code: 401,
      msg,
      data: null,
    });
  });

  it.each([undefined, null, 'text', 7, [], true])('rejects data %j with 400', async (data) => {
    const answer = await api.post(COLLECTION, data, { sign: 'a'.repeat(64) });
    expect(answer).toMatchObject({ code: 400, msg: 'The data cannot be left blank.' });
  });

  it('accepts a nonce of 128 printable characters', async () => {
    const nonce = `${anOrderId()} ~!"`.padEnd(128, '\\');
    expect((await api.post(COLLECTION, collectionData(), { nonce })).code).toBe(200);
  });
});

describe('order of checks', () => {
  it('checks sign, timestamp, nonce, data, signature, time, used nonce, then fields', async () => {
    const data = { amount: 'wrong' };
    const used = anOrderId();
    await api.post(COLLECTION, data, { nonce: used });
    const right = {
      sign: signText(shop.token, JSON.stringify(data)),
      timestamp: api.nowSeconds(),
      nonce: anOrderId(),
    };
    const envelope: Record<string, unknown> = { sign: ' ', timestamp: null, nonce: null, data: null };
    const texts: string[] = [];
    const ask = async () => {
      const { msg } = await postBody(COLLECTION, JSON.stringify(envelope));
      texts.push(msg);
    };
    await ask();
    envelope['sign'] = 'f'.repeat(64);
    await ask();
    envelope['timestamp'] = right.timestamp - 10_000;
    await ask();
    envelope['nonce'] = used;
    await ask();
    envelope['data'] = data;
    await ask();
    envelope['sign'] = right.sign;
    await ask();
    envelope['timestamp'] = right.timestamp;
    await ask();
    envelope['nonce'] = right.nonce;
    await ask();
    expect(texts).toEqual([
      'The sign cannot be left blank.',
      'The timestamp cannot be left blank.',
      'The nonce cannot be left blank.',
      'The data cannot be left blank.',
      'Sign verification failed',
      'Timestamp expired',
      'Nonce already used',
      'The amount cannot be left blank.',
    ]);
  });

  it.each([-301, 301])('rejects a timestamp that is %d s off', async (seconds) => {
    const answer = await api.atOneMoment(() =>
      api.post(COLLECTION, collectionData(), { timestamp: api.nowSeconds() + seconds }),
    );
    expect(answer).toMatchObject({ code: 401, msg: 'Timestamp expired' });
  });

  it.each([-299, 299])('accepts a timestamp that is %d s off', async (seconds) => {
    const answer = await api.atOneMoment(() =>
      api.post(COLLECTION, collectionData(), { timestamp: api.nowSeconds() + seconds }),
    );
    expect(answer.code).toBe(200);
  });

  it('uses the configured timestamp window', async () => {
    const strict = await startTestApi(testDatabase, { merchant: shop, timestampWindowSeconds: 10 });
    const timestamp = strict.nowSeconds() - 20;
    const answer = await strict.post(COLLECTION, collectionData(), { timestamp });
    await strict.stop();
    expect(answer.msg).toBe('Timestamp expired');
  });
});

describe('nonces', () => {
  it.each([
    [200, collectionData()],
    [400, collectionData({ amount: 'x' })],
    [400, collectionData({ symbol: 'NONE' })],
    [400, collectionData({ amount: '1.0000001' })],
    [400, collectionData({ amount: '0.001' })],
  ])('spends the nonce of a request answered with %d', async (code, data) => {
    const nonce = anOrderId();
    expect((await api.post(COLLECTION, data, { nonce })).code).toBe(code);
    for (const later of [data, collectionData()]) {
      expect(await api.post(COLLECTION, later, { nonce })).toMatchObject({
        code: 401,
        msg: 'Nonce already used',
      });
    }
  });

  it("spends the nonce of a 409, a 422 and a payout's 400", async () => {
    const taken = collectionData();
    await api.post(COLLECTION, taken);
    for (const [code, path, data] of [
      [409, COLLECTION, { ...taken, amount: '9' }],
      [422, PAYOUT, payoutData()],
      [400, PAYOUT, payoutData({ receiveAddress: 'x' })],
      [400, PAYOUT, payoutData({ receiveAddress: null })],
    ] as const) {
      const nonce = anOrderId();
      expect((await api.post(path, data, { nonce })).code).toBe(code);
      expect((await api.post(path, data, { nonce })).msg).toBe('Nonce already used');
    }
  });

  it('does not spend the nonce of a 401', async () => {
    const nonce = anOrderId();
    await api.post(COLLECTION, collectionData(), { nonce, sign: 'f'.repeat(64) });
    await api.post(COLLECTION, collectionData(), { nonce, timestamp: 1 });
    expect((await api.post(COLLECTION, collectionData(), { nonce })).code).toBe(200);
  });

  it('rejects a used nonce on another replica and after a restart', async () => {
    const nonce = anOrderId();
    expect((await api.post(COLLECTION, collectionData(), { nonce })).code).toBe(200);
    for (const _ of ['replica', 'restart']) {
      const other = await startTestApi(testDatabase, { merchant: shop });
      const answer = await other.post(COLLECTION, collectionData(), { nonce });
      await other.stop();
      expect(answer).toMatchObject({ code: 401, msg: 'Nonce already used' });
    }
  });

  it('keeps the nonces of merchants apart', async () => {
    const nonce = anOrderId();
    expect((await api.post(COLLECTION, collectionData(), { nonce })).code).toBe(200);
    expect((await api.post(COLLECTION, collectionData(), { nonce, merchant: cafe })).code).toBe(200);
  });

  it('accepts one of twenty equal concurrent requests', async () => {
    const data = collectionData();
    const nonce = anOrderId();
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => api.post(COLLECTION, data, { nonce })),
    );
    expect(answers.filter((answer) => answer.code === 200)).toHaveLength(1);
    expect(answers.filter((answer) => answer.msg === 'Nonce already used')).toHaveLength(19);
  });

  it('keeps a nonce for twice the window and then deletes it', async () => {
    const nonce = anOrderId();
    const before = new Date();
    await api.post(COLLECTION, collectionData(), { nonce });
    // The nonce was spent between `before` and now.
    const { rows } = await sql<{ fromBefore: number; fromNow: number }>`
      select extract(epoch from expires_at - ${before}::timestamptz)::float8 as "fromBefore",
        extract(epoch from expires_at - clock_timestamp())::float8 as "fromNow"
      from request_nonce where nonce = ${nonce}`.execute(admin.kysely);
    expect(rows[0]?.fromBefore).toBeGreaterThan(598);
    expect(rows[0]?.fromNow).toBeLessThan(603);
    await sql`update request_nonce set expires_at = now() - interval '1 second' where nonce = ${nonce}`.execute(
      admin.kysely,
    );
    const restarted = await startTestApi(testDatabase, { merchant: shop });
    await waitUntil('the expired nonce is gone', async () => {
      const left = await sql`select from request_nonce where nonce = ${nonce}`.execute(admin.kysely);
      return left.rows.length === 0;
    });
    await restarted.stop();
  });
});

describe('signatures of data', () => {
  it('accepts signatures over the output of common serialisers, and no others', async () => {
    const file = new URL('../../../libs/contracts/test-vectors/signatures.json', import.meta.url);
    const vectors = JSON.parse(await readFile(file, 'utf8')) as {
      token: string;
      requests: { name: string; expect: 'accepted' | 'refused'; body: string }[];
    };
    await aMerchantWithShortToken(admin.kysely, {
      merchantId: 'vectors',
      token: vectors.token,
      rateLimits: NO_LIMITS,
    });
    const replay = await startTestApi(testDatabase, { unnamedFailuresMax: 1_000_000 });
    replay.advance(1_790_000_000 - replay.nowSeconds());
    const outcomes: string[] = [];
    for (const { name, body } of vectors.requests) {
      const { msg } = await postBody(COLLECTION, body, {}, replay);
      const refused = [
        'Sign verification failed',
        'The request body is not valid JSON.',
        'The data cannot be left blank.',
        'The sign cannot be left blank.',
      ].includes(msg);
      outcomes.push(`${name}: ${refused ? 'refused' : 'accepted'}`);
    }
    await replay.stop();
    expect(vectors.requests.length).toBeGreaterThan(20);
    expect(outcomes).toEqual(vectors.requests.map((vector) => `${vector.name}: ${vector.expect}`));
  });

  it('accepts upper case, rejects another token, a cut signature and other data', async () => {
    const data = collectionData();
    const sign = signText(shop.token, JSON.stringify(data));
    const sent = (wrong: unknown) => api.post(COLLECTION, data, { sign: wrong });
    for (const wrong of [
      signText('another token', JSON.stringify(data)),
      sign.slice(1),
      `${sign}0`,
      'x'.repeat(64),
      signText(shop.token, JSON.stringify({ ...data, amount: '1' })),
    ]) {
      expect(await sent(wrong)).toMatchObject({ code: 401, msg: 'Sign verification failed', data: null });
    }
    expect((await sent(sign.toUpperCase())).code).toBe(200);
  });

  it('rejects duplicate keys, which could share a signature with other data', async () => {
    const data = `{"amount":"1","symbol":"USDT","chain":"ETH_SEPOLIA","orderId":"${anOrderId()}","amount":"1000"}`;
    const body = `{"sign":"${signText(shop.token, data)}","timestamp":${api.nowSeconds()},"nonce":"n","data":${data}}`;
    expect(await postBody(COLLECTION, body)).toMatchObject({
      code: 400,
      msg: 'The request body is not valid JSON.',
    });
  });
});

describe('signVersion 2', () => {
  const send = (
    path: string,
    data: unknown,
    change: { path?: string; nonce?: string; v1?: boolean } = {},
  ) => {
    const text = JSON.stringify(data);
    const timestamp = api.nowSeconds();
    const nonce = anOrderId();
    const message = change.v1 === true ? text : `${timestamp}.${nonce}.${change.path ?? path}.${text}`;
    const sign = signText(careful.token, message);
    return postBody(path, JSON.stringify({ sign, timestamp, nonce: change.nonce ?? nonce, data }));
  };

  it('signs time, nonce and path with the data in version 2', async () => {
    expect((await send(COLLECTION, collectionData())).code).toBe(200);
  });
  it('rejects a changed nonce, another path and version 1 in version 2', async () => {
    for (const change of [{ nonce: anOrderId() }, { path: PAYOUT }, { v1: true }]) {
      expect(await send(COLLECTION, collectionData(), change)).toMatchObject({
        code: 401,
        msg: 'Sign verification failed',
      });
    }
  });
});

describe('several merchants', () => {
  it('identifies merchants by their tokens', async () => {
    const mine = collectionData();
    const theirs = collectionData();
    await api.post(COLLECTION, mine);
    await api.post(COLLECTION, theirs, { merchant: cafe });
    expect((await api.signedGet('status', String(theirs['orderId']), cafe)).code).toBe(200);
    expect(await api.signedGet('status', String(theirs['orderId']), shop)).toMatchObject({ code: 404 });
  });

  it('accepts only the signature of the merchant that X-Merchant-Id names', async () => {
    const named = (id: string) =>
      api.post(COLLECTION, collectionData(), { merchant: cafe, headers: { 'X-Merchant-Id': id } });
    expect((await named('cafe')).code).toBe(200);
    expect(await named('shop')).toMatchObject({ code: 401, msg: 'Sign verification failed' });
    expect(await named('nobody')).toMatchObject({ code: 401, msg: 'Sign verification failed' });
  });

  it('knows a new merchant at once, a rotated token or disabling within seconds', async () => {
    const fresh = await aMerchant(admin.kysely, { merchantId: 'fresh', rateLimits: NO_LIMITS });
    await waitUntil('the new merchant is known', async () => {
      const answer = await api.post(COLLECTION, collectionData(), { merchant: fresh });
      return answer.code === 200;
    });
    const token = await rotateToken(admin.kysely, TEST_SECRETS_KEY, 'fresh');
    await waitUntil('the new token is known', async () => {
      const answer = await api.post(COLLECTION, collectionData(), { merchant: { token } });
      return answer.code === 200;
    });
    expect((await api.post(COLLECTION, collectionData(), { merchant: fresh })).code).toBe(401);
    await sql`update merchant set enabled = false, updated_at = now() where merchant_id = 'fresh'`.execute(
      admin.kysely,
    );
    await waitUntil('the merchant is refused', async () => {
      const answer = await api.post(COLLECTION, collectionData(), { merchant: { token } });
      return answer.msg === 'Sign verification failed';
    });
  });

  it('skips and logs a merchant whose token cannot be decrypted', async () => {
    await aMerchant(admin.kysely, { merchantId: 'damaged', rateLimits: NO_LIMITS });
    await sql`update merchant set token_sealed = '\\x00' where merchant_id = 'damaged'`.execute(admin.kysely);
    const restarted = await startTestApi(testDatabase, { merchant: shop });
    expect((await restarted.post(COLLECTION, collectionData())).code).toBe(200);
    const logged = restarted.logLines().find((line) => line['level'] === 'error');
    expect(logged).toMatchObject({ merchantId: 'damaged' });
    await restarted.stop();
  });
});

describe('signatures of GET requests', () => {
  it.each(['pay', 'getOrderStatus', 'status'] as const)(
    '%s: answers 401 without a valid signature and 404 with one',
    async (endpoint) => {
      const known = collectionData();
      await api.post(COLLECTION, known);
      const ask = (orderId: string, sign: string | undefined) => {
        const query = sign === undefined ? '' : `sign=${sign}`;
        return api.request(
          'GET',
          endpoint === 'status'
            ? `/v1/order/status/${orderId}?${query}`
            : `/v1/order/${endpoint}?orderId=${orderId}&${query}`,
        );
      };
      for (const orderId of [String(known['orderId']), 'unknown']) {
        expect(await ask(orderId, undefined)).toMatchObject({
          code: 401,
          msg: 'The sign cannot be left blank.',
        });
        expect(await ask(orderId, '')).toMatchObject({ code: 401, msg: 'The sign cannot be left blank.' });
        for (const sign of ['f'.repeat(64), 'x', signOrderId(shop.token, `${orderId}x`)]) {
          expect(await ask(orderId, sign)).toMatchObject({ code: 401, msg: 'Sign verification failed' });
        }
      }
      expect(await ask('unknown', signOrderId(shop.token, 'unknown'))).toMatchObject({
        code: 404,
        msg: 'Order not found',
      });
      const right = await ask(
        String(known['orderId']),
        signOrderId(shop.token, String(known['orderId'])).toUpperCase(),
      );
      expect(right.code).toBe(200);
    },
  );

  it.each(['a b', 'a\u0000b', 'é', 'x'.repeat(65)])(
    'answers 404 for an id that cannot exist (%j)',
    async (orderId) => {
      for (const endpoint of ['pay', 'getOrderStatus', 'status'] as const) {
        expect(await api.signedGet(endpoint, orderId)).toMatchObject({ code: 404, msg: 'Order not found' });
      }
    },
  );

  it('answers 400 without orderId, and ignores a parameter given twice', async () => {
    expect(await api.request('GET', '/v1/order/pay?sign=ab')).toMatchObject({
      code: 400,
      msg: 'The orderId cannot be left blank.',
    });
    const sign = signOrderId(shop.token, 'a');
    expect(await api.request('GET', `/v1/order/pay?orderId=a&sign=${sign}&sign=${sign}`)).toMatchObject({
      code: 401,
    });
  });

  it('ignores unknown parameters, such as a cache-buster', async () => {
    const data = collectionData();
    await api.post(COLLECTION, data);
    const orderId = String(data['orderId']);
    const answer = await api.request(
      'GET',
      `/v1/order/getOrderStatus?_t=123&orderId=${orderId}&sign=${signOrderId(shop.token, orderId)}&x=y`,
    );
    expect(answer.data).toEqual({ status: 'INIT', unmatched: [] });
  });
});

describe('request log', () => {
  it('logs each request by its X-Request-Id, without secret, signature or nonce', async () => {
    const nonce = anOrderId();
    const data = collectionData();
    const sign = signText(shop.token, JSON.stringify(data));
    const answer = await api.post(COLLECTION, data, { nonce });
    const orderId = String(data['orderId']);
    const pay = await api.signedGet('pay', orderId);
    const line = api
      .logLines()
      .find(
        (each) => each['requestId'] === answer.headers.get('x-request-id') && each['message'] === 'request',
      );
    expect(line).toMatchObject({
      method: 'POST',
      route: COLLECTION,
      code: 200,
      merchantId: 'shop',
      orderId,
      clientAddress: '127.0.0.1',
    });
    expect(api.logLines().some((each) => each['requestId'] === pay.headers.get('x-request-id'))).toBe(true);
    const text = JSON.stringify(api.logLines());
    for (const secret of [nonce, sign, shop.token, signOrderId(shop.token, orderId)])
      expect(text).not.toContain(secret);
  });
});
