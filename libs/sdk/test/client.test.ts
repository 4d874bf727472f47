import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createDataForms } from '@opentill/contracts/signing/data-forms';
import { tokenizeJson } from '@opentill/contracts/signing/tokenize-json';
import {
  verifyDataSignature,
  verifyOrderIdSignature,
  verifyRequestSignature,
} from '@opentill/contracts/signing/verify-signature';
import { createOpentill, type Opentill, type OpentillOptions } from '../src/client.ts';
import { OpentillError } from '../src/opentill-error.ts';
import {
  envelope,
  startScriptedServer,
  type Asked,
  type Reply,
  type ScriptedServer,
} from './scripted-server.ts';

const TOKEN = 'a token';
const FIELDS = { orderId: 'sdk:1', amount: '12.50', symbol: 'USDT', chain: 'ETH_SEPOLIA' } as const;
const PAYOUT = { ...FIELDS, receiveAddress: '0xa0Ee7A142d267C1f36714E4a8F75612F20a79720' };
const limited = (retryAfter?: string): Reply => ({
  status: 429,
  body: JSON.stringify({ code: 429, msg: 'Too many requests. Please slow down.', data: null }),
  ...(retryAfter === undefined ? {} : { headers: { 'retry-after': retryAfter } }),
});

let server: ScriptedServer;
beforeEach(async () => {
  server = await startScriptedServer();
});
afterEach(async () => {
  await server.close();
});

const open = (options: Partial<OpentillOptions> = {}): Opentill =>
  createOpentill({ url: server.url, token: TOKEN, firstPauseMs: 1, maxPauseMs: 20, ...options });

async function failure(call: Promise<unknown>): Promise<OpentillError> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(OpentillError);
  return error as OpentillError;
}

const first = (): Asked => server.asked[0]!;
const parts = ({ body }: Asked) =>
  JSON.parse(body) as { sign: string; timestamp: number; nonce: string; data: object };

describe('payment links', () => {
  it('calls each operation with its signed data', async () => {
    server.replies = Array.from({ length: 4 }, () => envelope(200, 'success', { linkId: 'coffee' }));
    const link = {
      linkId: 'coffee',
      minPrice: '1',
      maxPrice: '9',
      currency: 'EUR',
      symbol: 'USDT',
      chain: 'TRON',
    } as const;
    const opentill = open();
    expect(await opentill.createLink(link)).toEqual({ linkId: 'coffee' });
    await opentill.readLink('coffee');
    await opentill.listLinks({ limit: 5 });
    await opentill.closeLink('coffee');
    expect(server.asked.map((asked) => [asked.path, parts(asked).data])).toEqual([
      ['/v1/link/create', link],
      ['/v1/link/read', { linkId: 'coffee' }],
      ['/v1/link/list', { limit: 5 }],
      ['/v1/link/close', { linkId: 'coffee', closed: true }],
    ]);
  });
});

describe('requests', () => {
  it('signs a request as the gateway verifies it and sends its fields', async () => {
    server.replies = [envelope(200, 'success', { orderId: 'sdk:1' })];
    expect(await open().createCollection({ ...FIELDS, description: 'Zwölf "Äpfel" / 12 €' })).toEqual({
      orderId: 'sdk:1',
    });
    const { sign, timestamp, nonce, data } = parts(first());
    const forms = createDataForms(tokenizeJson(Buffer.from(first().body)));
    expect(verifyDataSignature({ forms, token: TOKEN, sign }).ok).toBe(true);
    expect(data).toEqual({ ...FIELDS, description: 'Zwölf "Äpfel" / 12 €' });
    expect(first()).toMatchObject({ method: 'POST', path: '/v1/order/createCollection' });
    expect(first().headers['content-type']).toBe('application/json');
    expect(Math.abs(timestamp - Date.now() / 1000)).toBeLessThan(60);
    expect(nonce).toMatch(/^[!-~]{1,128}$/);
  });

  it('signs time, nonce and path in version 2, without the base URL', async () => {
    server.replies = [envelope(200, 'success', {})];
    await open({ url: `${server.url}/m/my-shop/`, signVersion: 2 }).createPayout(PAYOUT);
    expect(first().path).toBe('/m/my-shop/v1/order/createPayout');
    const { sign, timestamp, nonce } = parts(first());
    const forms = createDataForms(tokenizeJson(Buffer.from(first().body)));
    const request = { forms, token: TOKEN, sign, timestamp: String(timestamp), nonce };
    expect(verifyRequestSignature({ ...request, path: '/v1/order/createPayout' }).ok).toBe(true);
    expect(verifyRequestSignature({ ...request, path: '/v1/order/createCollection' }).ok).toBe(false);
  });

  it('signs the order id of a status request, and leaves supportSymbols unsigned', async () => {
    server.replies = [envelope(200, 'success', { status: 'SUCCESS' })];
    const opentill = open({ merchantId: 'shop-2' });
    expect(await opentill.getOrderStatus('a@b:c')).toBe('SUCCESS');
    await opentill.status('a@b:c');
    await opentill.pay('a@b:c');
    await opentill.supportSymbols({ chain: 'BSC' });
    const [byStatus, whole, page, symbols] = server.asked.map(({ path }) => new URL(path, server.url));
    expect(byStatus?.pathname).toBe('/v1/order/getOrderStatus');
    expect(page?.pathname).toBe('/v1/order/pay');
    expect(decodeURIComponent(whole?.pathname ?? '')).toBe('/v1/order/status/a@b:c');
    expect(symbols?.href).toBe(`${server.url}/v1/symbol/supportSymbols?chain=BSC`);
    for (const url of [byStatus, whole, page]) {
      const sign = url?.searchParams.get('sign') ?? '';
      expect(verifyOrderIdSignature({ token: TOKEN, orderId: 'a@b:c', sign })).toBe(true);
    }
    expect(first().headers['x-merchant-id']).toBe('shop-2');
  });
});

describe('retries', () => {
  it.each<[string, readonly Reply[]]>([
    ['429', [limited(), limited()]],
    ['503', [envelope(503, 'Service unavailable')]],
    ['500', [envelope(500, 'Internal server error.')]],
    ["a proxy's 502", [{ status: 502, body: '<h1>Bad Gateway</h1>' }]],
    ['a reset', ['reset']],
    ['silence', ['silence']],
  ])('retries after %s', async (_name, replies) => {
    server.replies = [...replies, envelope(200, 'success', { orderId: 'sdk:1' })];
    // Short for silence; the response after it has to arrive in the same time.
    const timeoutMs = replies.includes('silence') ? 3_000 : 60_000;
    const order = await open({ timeoutMs }).createPayout(PAYOUT);
    expect(order).toEqual({ orderId: 'sdk:1' });
    expect(server.asked).toHaveLength(replies.length + 1);
  });

  it('retries with the same order id and a new nonce', async () => {
    server.replies = ['reset', limited(), envelope(200, 'success', {})];
    await open().createPayout(PAYOUT);
    expect(new Set(server.asked.map((one) => parts(one).nonce)).size).toBe(3);
    expect(new Set(server.asked.map((one) => JSON.stringify(parts(one).data))).size).toBe(1);
  });

  it('waits for Retry-After, and gives up when it is too long', async () => {
    server.replies = [limited('1'), envelope(200, 'success', {})];
    const startedAt = performance.now();
    await open({ maxPauseMs: 5_000 }).status('x');
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(990);
    server.replies = [limited('60')];
    const asked = server.asked.length;
    const error = await failure(open({ maxPauseMs: 5_000 }).status('x'));
    expect(error).toMatchObject({
      code: 'RATE_LIMITED',
      retryAfterMs: 60_000,
      attempts: 1,
      isRetryable: true,
    });
    expect(server.asked).toHaveLength(asked + 1);
  });

  it('retries no more often than configured', async () => {
    server.replies = [envelope(503, 'Service unavailable')];
    const error = await failure(open({ retries: 2 }).createPayout(PAYOUT));
    expect(error).toMatchObject({ code: 'UNAVAILABLE', message: 'Service unavailable', attempts: 3 });
    expect(server.asked).toHaveLength(3);
  });
});

describe('permanent errors', () => {
  it.each([
    [400, 'The amount is out of range.', 'INVALID_REQUEST'],
    [401, 'Sign verification failed', 'UNAUTHORIZED'],
    [404, 'Order not found', 'NOT_FOUND'],
    [405, 'Method not allowed', 'INVALID_REQUEST'],
    [409, 'Order ID already exists.', 'CONFLICT'],
    [413, 'The request body is too large.', 'INVALID_REQUEST'],
    [415, 'Unsupported media type', 'INVALID_REQUEST'],
    [422, 'Insufficient balance', 'UNPROCESSABLE'],
  ])('throws at once after %i %s', async (httpStatus, message, code) => {
    const reply = envelope(httpStatus, message) as Exclude<Reply, string>;
    server.replies = [{ ...reply, headers: { 'x-request-id': 'r-1' } }];
    const error = await failure(open().createPayout(PAYOUT));
    expect(error).toMatchObject({
      code,
      message,
      msg: message,
      detail: undefined,
      httpStatus,
      requestId: 'r-1',
      attempts: 1,
      isRetryable: false,
    });
    expect(server.asked).toHaveLength(1);
  });

  it('gives the detail of the gateway apart from its text', async () => {
    const msg = 'The amount cannot be left blank.';
    const detail = "amount: '12,50' is not a decimal number; write 12.50";
    server.replies = [envelope(400, msg, null, detail)];
    const error = await failure(open().createPayout(PAYOUT));
    expect(error).toMatchObject({ code: 'INVALID_REQUEST', message: msg, msg, detail });
    expect(String(error)).toBe(`OpentillError: ${msg} (${detail})`);
    expect(inspect(error)).toContain(JSON.stringify(detail));
  });

  it('ignores a detail that is not a string', async () => {
    server.replies = [envelope(404, 'Order not found', null, { a: 1 })];
    const error = await failure(open().status('x'));
    expect(error).toMatchObject({ message: 'Order not found', detail: undefined });
    expect(String(error)).toBe('OpentillError: Order not found');
  });

  it.each<[string, Reply]>([
    ['an HTML page', { status: 200, body: '<html>' }],
    ['other JSON', { status: 200, body: '{"ok":true}' }],
    ['an empty body', { status: 404, body: '' }],
    [
      'a body above the limit',
      { status: 200, body: `{"code":200,"msg":"${'x'.repeat(1_100_000)}","data":1}` },
    ],
  ])('throws when the response is %s instead of the envelope', async (_name, reply) => {
    server.replies = [reply];
    expect(await failure(open().status('x'))).toMatchObject({ code: 'UNREADABLE_ANSWER', attempts: 1 });
  });

  it('does not follow a redirect with a signed request', async () => {
    server.replies = [{ status: 307, body: '', headers: { location: `${server.url}/elsewhere` } }];
    expect(await failure(open({ retries: 0 }).createPayout(PAYOUT))).toMatchObject({ code: 'NO_ANSWER' });
    expect(server.asked.map(({ path }) => path)).toEqual(['/v1/order/createPayout']);
  });

  it('aborts during a request and during a pause', async () => {
    server.replies = ['silence'];
    const inRequest = new AbortController();
    const call = failure(open().status('x', { signal: inRequest.signal }));
    while (server.asked.length === 0) await new Promise(setImmediate);
    inRequest.abort();
    expect(await call).toMatchObject({ code: 'ABORTED', attempts: 1 });
    const inPause = new AbortController();
    server.replies = [limited('5')];
    const paused = failure(open({ maxPauseMs: 10_000 }).status('x', { signal: inPause.signal }));
    while (server.asked.length < 2) await new Promise(setImmediate);
    inPause.abort();
    expect(await paused).toMatchObject({ code: 'ABORTED' });
    const before = failure(open().status('x', { signal: AbortSignal.abort() }));
    expect(await before).toMatchObject({ code: 'ABORTED', attempts: 0 });
  });

  it('rejects invalid settings', () => {
    expect(() => createOpentill({ url: 'pay.example.com', token: 'x' })).toThrow(/url/i);
    expect(() => createOpentill({ url: 'ftp://pay.example.com', token: 'x' })).toThrow(/not http/);
    expect(() => createOpentill({ url: 'https://pay.example.com', token: '' })).toThrow(/token/);
  });
});
