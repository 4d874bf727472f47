import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sql } from 'kysely';
import type { MerchantSettings } from '@opentill/db/merchants';
import { aChainCursor, aMerchant } from '@opentill/testkit/scenario';
import { openTestDatabase } from '@opentill/testkit/test-database';
import {
  COLLECTION,
  collectionData,
  NO_LIMITS,
  PAYOUT,
  payoutData,
  startTestApi,
  STRANGER,
  TEST_NETWORKS,
  TEST_PUBLIC_KEYS,
  USDT_SEPOLIA,
  type Answered,
  type TestApi,
} from './support/test-api.ts';

const { testDatabase, admin } = await openTestDatabase();
let api: TestApi;
let shop: MerchantSettings;
let slow: MerchantSettings;

beforeAll(async () => {
  shop = await aMerchant(admin.kysely, {
    merchantId: 'shop',
    rateLimits: NO_LIMITS,
    returnOrigins: ['https://shop.example'],
  });
  slow = await aMerchant(admin.kysely, {
    merchantId: 'slow',
    rateLimits: { createCollection: { requests: 1, seconds: 3_600 } },
  });
  await aChainCursor(admin.kysely, { chain: 'ETH_SEPOLIA' });
  api = await startTestApi(testDatabase, { merchant: shop, unnamedFailuresMax: 1_000_000 });
});
afterAll(() => api.stop());

const JSON_TYPE = { 'content-type': 'application/json' };
const CHAINS = 'one of ETH_SEPOLIA, BSC_TEST, POLYGON_AMOY';
const NAME_FORM = '1 to 64 letters, digits and _ - . : ~ @';
const AMOUNT_FORM = 'write digits with a point, such as "25.00"';

const create = (changed: Record<string, unknown>) => api.post(COLLECTION, collectionData(changed));
const payOut = (changed: Record<string, unknown>) => api.post(PAYOUT, payoutData(changed));
const send = (body: string, headers: Record<string, string> = JSON_TYPE) =>
  api.request('POST', COLLECTION, { headers, body });
const digest = (text: string) =>
  `${Buffer.byteLength(text)} bytes, SHA-256 ${createHash('sha256').update(text).digest('hex')}`;

/** The numbers are those of the report on the first impression of the API. */
const MISTAKES: readonly (readonly [
  name: string,
  ask: () => Promise<Answered>,
  msg: string,
  detail: string | RegExp | undefined,
])[] = [
  [
    '1: a signature in base64',
    () => api.post(COLLECTION, {}, { sign: 'f'.repeat(43) + '=' }),
    'Sign verification failed',
    'sign: has 44 characters, which looks like base64; write 64 hex digits',
  ],
  [
    '2: no amount',
    () => create({ amount: undefined }),
    'The amount cannot be left blank.',
    `amount: is missing; ${AMOUNT_FORM}`,
  ],
  [
    '3: an amount with a comma',
    () => create({ amount: '12,50' }),
    'The amount cannot be left blank.',
    "amount: '12,50' is not a decimal number; write 12.50",
  ],
  [
    '3: an amount with an exponent',
    () => create({ amount: '1e2' }),
    'The amount cannot be left blank.',
    `amount: '1e2' has an exponent or letters; ${AMOUNT_FORM}`,
  ],
  [
    '3: a negative amount',
    () => create({ amount: '-5' }),
    'The amount cannot be left blank.',
    `amount: '-5' has a sign; ${AMOUNT_FORM}`,
  ],
  ['4: an amount that is a number', () => create({ amount: 12.5 }), 'success', undefined],
  [
    '5: too many decimals',
    () => create({ amount: '1.1234567' }),
    'The amount has too many decimals.',
    'amount: has 7 decimals; USDT on ETH_SEPOLIA has 6',
  ],
  [
    '6: an amount below the minimum',
    () => create({ amount: '0.001' }),
    'The amount is out of range.',
    "amount: '0.001' is out of range; USDT on ETH_SEPOLIA takes at least 0.01 and at most 1000000.00",
  ],
  [
    '6: an amount above the maximum of a payout',
    () => payOut({ amount: '2000000' }),
    'The amount is out of range.',
    "amount: '2000000' is out of range; USDT on ETH_SEPOLIA takes at least 0.01 and at most 1000000.00",
  ],
  [
    '7: a chain in lower case',
    () => create({ chain: 'eth_sepolia' }),
    'The chain cannot be left blank.',
    `chain: 'eth_sepolia' is unknown; ${CHAINS}`,
  ],
  [
    '8: a chain that is not enabled',
    () => create({ chain: 'ETH' }),
    'Unsupported symbol or chain',
    `chain: ETH is not enabled; ${CHAINS}`,
  ],
  [
    '8: a symbol that is not configured',
    () => payOut({ symbol: 'DAI' }),
    'Unsupported symbol or chain',
    "symbol: 'DAI' is not configured on ETH_SEPOLIA; one of USDT, USDC. GET /v1/symbol/supportSymbols lists all",
  ],
  [
    '9: no orderId',
    () => create({ orderId: undefined }),
    'The orderId cannot be left blank.',
    `orderId: is missing; ${NAME_FORM}`,
  ],
  [
    '10: an orderId that is a number',
    () => create({ orderId: 1042 }),
    'The orderId is invalid.',
    'orderId: is the number 1042; write a string',
  ],
  [
    '10: an orderId with a space',
    () => create({ orderId: 'order 1/2' }),
    'The orderId is invalid.',
    `orderId: 'order 1/2' contains ' '; ${NAME_FORM}`,
  ],
  [
    '11: an orderId that exists with another amount',
    async () => {
      const data = collectionData({ amount: '5' });
      await api.post(COLLECTION, data);
      return api.post(COLLECTION, { ...data, amount: '6' });
    },
    'Order ID already exists.',
    'orderId: exists with amount 5.00',
  ],
  [
    '11: a payout with the orderId of a collection',
    async () => {
      const data = collectionData();
      await api.post(COLLECTION, data);
      return api.post(PAYOUT, { ...data, receiveAddress: STRANGER });
    },
    'Order ID already exists.',
    'orderId: exists as a collection',
  ],
  [
    '13: a timestamp of ten minutes ago',
    () => api.post(COLLECTION, {}, { timestamp: api.nowSeconds() - 600 }),
    'Timestamp expired',
    /^timestamp: is \d+ s in the past; at most 300 s, it is now \d{10}$/,
  ],
  [
    '13: a timestamp in milliseconds',
    () => api.post(COLLECTION, {}, { timestamp: api.nowSeconds() * 1000 }),
    'Timestamp expired',
    /^timestamp: milliseconds; seconds are expected, it is now \d{10}$/,
  ],
  [
    '14: a timestamp that is a string',
    () => api.post(COLLECTION, {}, { timestamp: '1795412379' }),
    'The timestamp cannot be left blank.',
    /^timestamp: is a string; write an integer of Unix seconds without quotation marks, it is now \d{10}$/,
  ],
  [
    '15: a used nonce',
    async () => {
      await api.post(COLLECTION, {}, { nonce: 'used' });
      return api.post(COLLECTION, {}, { nonce: 'used' });
    },
    'Nonce already used',
    undefined,
  ],
  [
    '16: a nonce that is a number',
    () => api.post(COLLECTION, {}, { nonce: 123456 }),
    'The nonce cannot be left blank.',
    'nonce: is a number; write a string of 1 to 128 printable ASCII characters',
  ],
  [
    '17: no envelope',
    () => send(JSON.stringify(collectionData())),
    'The sign cannot be left blank.',
    'sign: is missing; the body has the members sign, timestamp, nonce and data, and data has the fields of the order',
  ],
  [
    '18: data as a JSON string',
    () => api.post(COLLECTION, '{"amount":"1"}'),
    'The data cannot be left blank.',
    'data: is a string; write the JSON object itself, not its text',
  ],
  [
    '19: an empty body',
    () => send(''),
    'The request body is not valid JSON.',
    'body: is empty; send a JSON object',
  ],
  [
    '19: broken JSON',
    () => send('{"sign":'),
    'The request body is not valid JSON.',
    'body: byte 8: a value was expected',
  ],
  [
    '20: a form',
    () => send('a=b', { 'content-type': 'application/x-www-form-urlencoded' }),
    'Unsupported media type',
    "Content-Type: is 'application/x-www-form-urlencoded'; send application/json",
  ],
  [
    '20: a compressed body',
    () => send('{}', { ...JSON_TYPE, 'content-encoding': 'br' }),
    'Unsupported media type',
    "Content-Encoding: is 'br'; send the body uncompressed",
  ],
  [
    '21: a returnUrl with http',
    () => create({ returnUrl: 'http://shop.example' }),
    'The returnUrl is invalid.',
    "returnUrl: the scheme is 'http'; write https",
  ],
  [
    '21: a returnUrl with an origin that is not on the list',
    () => create({ returnUrl: 'https://evil.example/thanks' }),
    'The returnUrl is invalid.',
    "returnUrl: the origin 'https://evil.example' is not on the list of this merchant: one of https://shop.example. The operator sets the list: opentill merchant set <id> --return-origin",
  ],
  [
    '22: an expiresIn that is a string',
    () => create({ expiresIn: '600' }),
    'The expiresIn is invalid.',
    'expiresIn: is a string; write an integer from 60 to 86400 seconds, without quotation marks',
  ],
  [
    '22: an expiresIn that is too short',
    () => create({ expiresIn: 30 }),
    'The expiresIn is invalid.',
    "expiresIn: '30' is not an integer from 60 to 86400 seconds",
  ],
  [
    '22: a description that is too long',
    () => create({ description: 'x'.repeat(121) }),
    'The description is invalid.',
    'description: has 121 characters; at most 120',
  ],
  [
    '23: status without a sign',
    () => api.request('GET', '/v1/order/status/x'),
    'The sign cannot be left blank.',
    'sign: is missing in the query; write the hex HMAC-SHA256 of the orderId',
  ],
  ['23: status of an unknown order', () => api.signedGet('status', 'unknown'), 'Order not found', undefined],
  [
    '23: pay without an orderId',
    () => api.request('GET', `/v1/order/pay?sign=${'a'.repeat(64)}`),
    'The orderId cannot be left blank.',
    'orderId: is missing in the query, or is there twice',
  ],
  [
    '25: an unknown chain of supportSymbols',
    () => api.request('GET', '/v1/symbol/supportSymbols?chain=eth'),
    'Unsupported chain',
    `chain: 'eth' is unknown; ${CHAINS}`,
  ],
  [
    '26: a receiver with a wrong checksum',
    () => payOut({ receiveAddress: '0x70997970C51812dc3A010C7d01b50e0d17dc79c8' }),
    'ReceiveAddress error',
    'receiveAddress: has a wrong EIP-55 checksum, so a character or its case is wrong; copy the address again',
  ],
  [
    '26: a TRON address on an EVM chain',
    () => payOut({ receiveAddress: 'TWer2Ygk5TEheHp3TPuYeqxmB6SsGZmaL6' }),
    'ReceiveAddress error',
    'receiveAddress: is an address of TRON; ETH_SEPOLIA takes 0x and 40 hex digits',
  ],
  [
    '26: the contract of a token',
    () => payOut({ receiveAddress: USDT_SEPOLIA }),
    'ReceiveAddress error',
    'receiveAddress: is the contract of a token; money sent to it is lost',
  ],
  [
    "26: the gateway's hot wallet",
    () => payOut({ receiveAddress: TEST_PUBLIC_KEYS.families.EVM.hotWallets[0] }),
    'ReceiveAddress error',
    'receiveAddress: is an address of this gateway',
  ],
  [
    '28: an unknown path',
    () => api.request('POST', '/v1/order/createColection'),
    'Not found',
    'path: is unknown; /docs lists all paths',
  ],
  [
    '28: GET instead of POST',
    () => api.request('GET', COLLECTION),
    'Method not allowed',
    'method: this path takes POST',
  ],
];

describe('details of errors', () => {
  it.each(MISTAKES)('explains mistake %s', async (_name, ask, msg, detail) => {
    const answer = await ask();
    expect(answer.msg).toBe(msg);
    if (detail instanceof RegExp) expect(answer.detail).toMatch(detail);
    else expect(answer.detail).toBe(detail);
  });

  it('answers mistake 27, too many requests, with Retry-After', async () => {
    await api.post(COLLECTION, {}, { merchant: slow });
    const answer = await api.post(COLLECTION, {}, { merchant: slow });
    expect(answer).toMatchObject({ code: 429, msg: 'Too many requests. Please slow down.' });
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
  });
});

const WRONG = 'f'.repeat(64);
const named = (merchantId: string) => ({ headers: { 'X-Merchant-Id': merchantId } });

describe('details of wrong signatures', () => {
  it('gives length and SHA-256 of the checked data on test networks', async () => {
    const data = collectionData();
    const compact = JSON.stringify(data);
    const pretty = JSON.stringify(data, null, 2);
    const envelope = { sign: WRONG, timestamp: api.nowSeconds(), nonce: 'n' };
    const head = JSON.stringify(envelope).slice(0, -1);
    const { msg, detail } = await send(`${head},"data":${pretty}}`);
    expect(msg).toBe('Sign verification failed');
    expect(detail).toBe(
      `sign: is not the HMAC-SHA256 of data with the token of this merchant. Checked: data as received, ${digest(pretty)}; ` +
        `without white space, ${digest(compact)}; ` +
        `signVersion 2: timestamp.nonce.path.data, ${digest(`${envelope.timestamp}.n.${COLLECTION}.${pretty}`)}`,
    );
    expect(detail).not.toContain(WRONG);
  });

  it('gives the same detail for known and unknown merchants and orders', async () => {
    const data = collectionData();
    await api.post(COLLECTION, data);
    const known = String(data['orderId']);
    const post = { sign: WRONG, nonce: 'n', timestamp: api.nowSeconds() };
    const details = await Promise.all(
      ['shop', 'slow', 'nobody'].map(async (merchantId) => {
        const byPost = await api.post(COLLECTION, data, { ...post, ...named(merchantId) });
        const gets = [known, 'unknown'].map(async (orderId) => {
          const path = `/v1/order/status/${orderId}?sign=${WRONG}`;
          const { msg, detail } = await api.request('GET', path, named(merchantId));
          return [msg, detail?.replace(digest(orderId), 'DIGEST')];
        });
        return [byPost.msg, byPost.detail, ...(await Promise.all(gets))];
      }),
    );
    expect(new Set(details.map((each) => JSON.stringify(each))).size).toBe(1);
    expect(details[0]?.[2]).toEqual(details[0]?.[3]);
    expect(details[0]?.[2]?.[1]).toContain('Checked: DIGEST');
  });

  it('names the sign of a payment link as the reason why status rejects it', async () => {
    const { data } = await create({});
    const sign = new URL(data.paymentUrl as string).searchParams.get('sign') ?? '';
    const answer = await api.request('GET', `/v1/order/status/${String(data.orderId)}?sign=${sign}`);
    expect(answer).toMatchObject({
      code: 401,
      detail: expect.stringMatching(/; the sign of a paymentUrl does not open status$/),
    });
  });

  it('gives no detail of checked bytes on main networks, even in the local profile', async () => {
    const main = await startTestApi(testDatabase, {
      merchant: shop,
      profile: 'local',
      unnamedFailuresMax: 1_000_000,
      networks: TEST_NETWORKS.map((network) => ({ ...network, enabled: network.chain === 'ETH' })),
    });
    const wrong = [
      await main.post(COLLECTION, collectionData(), { sign: WRONG }),
      await main.request('GET', `/v1/order/pay?orderId=x&sign=${WRONG}`),
      await main.request('GET', `/v1/order/status/x?sign=${WRONG}.shop`),
    ];
    const blank = await main.post(COLLECTION, collectionData({ amount: undefined, chain: 'ETH' }));
    await main.stop();
    for (const { text } of wrong)
      expect(text).toBe('{"code":401,"msg":"Sign verification failed","data":null}');
    expect(blank.detail).toBe(`amount: is missing; ${AMOUNT_FORM}`);
  });
});

describe('status of a repeated request', () => {
  it.each(['EXPIRED', 'SUCCESS', 'FAILED'])(
    'adds %s to the answer of an order that has ended',
    async (status) => {
      const data = collectionData();
      const first = await api.post(COLLECTION, data);
      await sql`update orders set status = ${status}, reason = 'Not paid', actual_amount = 1
      where order_id = ${String(data['orderId'])}`.execute(admin.kysely);
      const again = await api.post(COLLECTION, data);
      expect(first.data).not.toHaveProperty('status');
      expect(again.data).toEqual({ ...first.data, status });
    },
  );

  it('adds EXPIRED also when the request would be rejected today', async () => {
    const data = collectionData({ returnUrl: 'https://shop.example/x' });
    await api.post(COLLECTION, data);
    await sql`update orders set status = 'EXPIRED', reason = 'Not paid'
      where order_id = ${String(data['orderId'])}`.execute(admin.kysely);
    const again = await api.post(COLLECTION, { ...data, returnUrl: 'https://elsewhere.example/x' });
    expect(again).toMatchObject({ code: 200, data: { status: 'EXPIRED' } });
  });

  it.each(['INIT', 'PENDING', 'PENDING_CONFIRMATION'])(
    'adds no status while the order is %s',
    async (status) => {
      const data = collectionData();
      const first = await api.post(COLLECTION, data);
      await sql`update orders set status = ${status} where order_id = ${String(data['orderId'])}`.execute(
        admin.kysely,
      );
      expect((await api.post(COLLECTION, data)).text).toBe(first.text);
    },
  );
});
