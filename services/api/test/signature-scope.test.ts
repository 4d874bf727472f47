import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { signOrderId, signText } from '@opentill/contracts/signing/verify-signature';
import { aChainCursor, aMerchant } from '@opentill/testkit/scenario';
import { openTestDatabase } from '@opentill/testkit/test-database';
import {
  anOrderId,
  COLLECTION,
  collectionData,
  NO_LIMITS,
  PAYOUT,
  payoutData,
  startTestApi,
  STRANGER,
  type Answered,
  type TestApi,
} from './support/test-api.ts';

const { testDatabase, admin } = await openTestDatabase();
let api: TestApi;
const tokens = { 1: 'token-of-shop'.padEnd(32, '-'), 2: 'token-of-careful'.padEnd(32, '-') } as const;

beforeAll(async () => {
  const settings = { rateLimits: NO_LIMITS };
  await aMerchant(admin.kysely, { merchantId: 'shop', token: tokens[1], ...settings });
  await aMerchant(admin.kysely, { merchantId: 'careful', token: tokens[2], signVersion: 2, ...settings });
  await aChainCursor(admin.kysely, { chain: 'ETH_SEPOLIA' });
  api = await startTestApi(testDatabase, { merchant: { token: tokens[1] }, unnamedFailuresMax: 1_000_000 });
});
afterAll(() => api.stop());

/** Everything that an eavesdropper of the request or link sees. */
interface Captured {
  readonly sign: string;
  /** For a link, the order id in it. */
  readonly message: string;
  readonly dataText: string;
  readonly timestamp: number;
  readonly nonce: string;
}

function capturePost(version: 1 | 2, path: string, data: object): Captured {
  const dataText = JSON.stringify(data);
  const [timestamp, nonce] = [api.nowSeconds(), anOrderId()];
  const message = version === 1 ? dataText : `${timestamp}.${nonce}.${path}.${dataText}`;
  const sign = signText(tokens[version], message);
  // Version 1 does not sign the nonce: an attacker uses a new one.
  return { sign, message, dataText, timestamp, nonce: version === 1 ? anOrderId() : nonce };
}

async function captureLink(): Promise<Captured> {
  const { data } = await api.post(COLLECTION, collectionData());
  const query = new URL(data.paymentUrl as string).searchParams;
  return captureGet(query.get('orderId') ?? '', query.get('sign') ?? '');
}

async function captureOrderId(): Promise<Captured> {
  const orderId = anOrderId();
  await api.post(COLLECTION, collectionData({ orderId }));
  return captureGet(orderId, signOrderId(tokens[1], orderId));
}

function captureGet(orderId: string, sign: string): Captured {
  const dataText = JSON.stringify({ orderId });
  return { sign, message: orderId, dataText, timestamp: api.nowSeconds(), nonce: anOrderId() };
}

const SIGNATURES: Readonly<Record<string, () => Captured | Promise<Captured>>> = {
  'collection, version 1': () => capturePost(1, COLLECTION, collectionData()),
  'payout, version 1': () => capturePost(1, PAYOUT, payoutData()),
  'collection, version 2': () => capturePost(2, COLLECTION, collectionData()),
  'payout, version 2': () => capturePost(2, PAYOUT, payoutData()),
  'order id': captureOrderId,
  'payment link': captureLink,
};

const replayPost = (path: string) => (captured: Captured) => {
  const { sign, timestamp, nonce, dataText } = captured;
  return api.request('POST', path, {
    headers: { 'content-type': 'application/json' },
    body: `{"sign":"${sign}","timestamp":${timestamp},"nonce":"${nonce}","data":${dataText}}`,
  });
};
const replayGet = (path: string) => (captured: Captured) => {
  const query = new URLSearchParams({ orderId: captured.message, sign: captured.sign });
  return api.request('HEAD', `${path}?${query.toString()}`);
};
const ENDPOINTS: Readonly<Record<string, (captured: Captured) => Promise<Answered>>> = {
  createCollection: replayPost(COLLECTION),
  createPayout: replayPost(PAYOUT),
  status: ({ message, sign }) =>
    api.request('GET', `/v1/order/status/${encodeURIComponent(message)}?sign=${sign}`),
  pay: replayGet('/v1/order/pay'),
  getOrderStatus: replayGet('/v1/order/getOrderStatus'),
  events: replayGet('/v1/order/events'),
  checkout: replayGet('/checkout'),
};

describe('scope of signatures', () => {
  it('accepts each kind of signature only at its own endpoints', async () => {
    const opened: Record<string, readonly string[]> = {};
    for (const [name, capture] of Object.entries(SIGNATURES)) {
      const opens: string[] = [];
      for (const [endpoint, replay] of Object.entries(ENDPOINTS)) {
        const { status } = await replay(await capture());
        // 404 and 422 come after the signature check: it was accepted.
        if (status !== 400 && status !== 401) opens.push(endpoint);
      }
      opened[name] = opens;
    }
    const customer = ['pay', 'getOrderStatus', 'events', 'checkout'];
    expect(opened).toEqual({
      'collection, version 1': ['createCollection'],
      'payout, version 1': ['createPayout'],
      'collection, version 2': ['createCollection'],
      'payout, version 2': ['createPayout'],
      'order id': ['status', ...customer], // published clients sign the same message for all GETs
      'payment link': customer,
    });
  });

  it('rejects version 1 data with a receiver as a collection', async () => {
    // Otherwise a collection's signed data could be replayed as a payout.
    for (const receiveAddress of [STRANGER, 'x', 7]) {
      expect(await api.post(COLLECTION, collectionData({ receiveAddress }))).toMatchObject({
        code: 400,
        msg: 'ReceiveAddress error',
      });
    }
    for (const receiveAddress of [null, '', ' ']) {
      expect((await api.post(COLLECTION, collectionData({ receiveAddress }))).code).toBe(200);
      expect((await api.post(PAYOUT, payoutData({ receiveAddress }))).code).toBe(400);
    }
  });

  it('binds version 2 signatures to the path and so to the method', async () => {
    for (const method of ['PUT', 'PATCH', 'DELETE']) {
      const { sign, timestamp, nonce, dataText } = capturePost(2, PAYOUT, payoutData());
      const answer = await api.request(method, PAYOUT, {
        headers: { 'content-type': 'application/json' },
        body: `{"sign":"${sign}","timestamp":${timestamp},"nonce":"${nonce}","data":${dataText}}`,
      });
      expect(answer.code).toBe(405);
    }
  });

  it('rejects a nonce at one endpoint that the other has spent', async () => {
    for (const [first, second] of [
      [COLLECTION, PAYOUT],
      [PAYOUT, COLLECTION],
    ] as const) {
      const nonce = anOrderId();
      const dataOf = (path: string) => (path === COLLECTION ? collectionData() : payoutData());
      expect([200, 422]).toContain((await api.post(first, dataOf(first), { nonce })).code);
      expect((await api.post(second, dataOf(second), { nonce })).msg).toBe('Nonce already used');
    }
  });
});
