import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { get } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OPENAPI_DOCUMENT } from '@opentill/contracts/http/openapi';
import { signText } from '@opentill/contracts/signing/verify-signature';
import { aChainCursor, aMerchant } from '@opentill/testkit/scenario';
import { openTestDatabase } from '@opentill/testkit/test-database';
import {
  anOrderId,
  COLLECTION,
  collectionData,
  NO_LIMITS,
  PAYOUT,
  startTestApi,
  type TestApi,
} from './support/test-api.ts';

const { testDatabase, admin } = await openTestDatabase();
let api: TestApi;
const merchant = { token: 'token-of-shop-0123456789-0123456789' };

beforeAll(async () => {
  await aMerchant(admin.kysely, { merchantId: 'shop', ...merchant, rateLimits: NO_LIMITS });
  await aChainCursor(admin.kysely, { chain: 'ETH_SEPOLIA' });
  api = await startTestApi(testDatabase, { merchant });
});
afterAll(() => api.stop());

const post = (
  body: NonNullable<RequestInit['body']>,
  headers: Record<string, string> = { 'content-type': 'application/json' },
) => api.request('POST', COLLECTION, { headers, body });

/** Sends raw bytes and returns everything that the server answers until it closes. */
async function raw(bytes: string): Promise<string> {
  const socket = connect(api.port, '127.0.0.1');
  let answer = '';
  socket.setEncoding('utf8').on('data', (text: string) => (answer += text));
  socket.write(bytes);
  await once(socket, 'close');
  return answer;
}

function bodyOf(answer: string): unknown {
  return JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4));
}

describe('paths and methods', () => {
  it.each(['/v1', '/v1/order', '/v1/order/createcollectionX', '/metrics', '/livez', '/v2/order/pay'])(
    'answers 404 for the path %s',
    async (path) => {
      for (const method of ['GET', 'POST', 'DELETE']) {
        expect(await api.request(method, path)).toMatchObject({ code: 404, msg: 'Not found' });
      }
    },
  );

  it.each([
    ['POST', [COLLECTION, PAYOUT]],
    ['GET, HEAD', ['/v1/order/status/x', '/', '/docs', '/docs/guides/a', '/openapi.json']],
    ['GET, HEAD, POST', ['/checkout']],
    ['GET, HEAD, OPTIONS', ['/v1/order/pay', '/v1/order/getOrderStatus', '/v1/symbol/supportSymbols']],
  ])('answers 405 for methods other than %s', async (allowed, paths) => {
    for (const path of paths) {
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
        if (allowed.includes(method)) continue;
        const response = await fetch(api.url + path, { method });
        expect([path, method, response.status]).toEqual([path, method, 405]);
        expect(response.headers.get('allow')).toBe(allowed);
        const detail = `method: this path takes ${allowed}`;
        expect(await response.json()).toEqual({ code: 405, msg: 'Method not allowed', data: null, detail });
      }
    }
  });

  it('answers HEAD without a body', async () => {
    const response = await fetch(`${api.url}/v1/symbol/supportSymbols`, { method: 'HEAD' });
    expect([response.status, await response.text()]).toEqual([200, '']);
  });

  it('answers 400 for a path that cannot be decoded', async () => {
    expect(await api.request('GET', '/v1/order/status/%E0%A4%A?sign=x')).toMatchObject({
      code: 400,
      msg: 'Bad request',
    });
  });
});

describe('request bodies', () => {
  it.each([
    ['an empty body', ''],
    ['no JSON', '{"a":'],
    ['a list', '[]'],
    ['a text', '"x"'],
    ['null', 'null'],
    ['a byte order mark', '\ufeff{}'],
    ['data after the end', '{}{}'],
    ['a trailing comma', '{"a":1,}'],
    ['a duplicate key', '{"sign":"a","sign":"b"}'],
    ['a duplicate key spelled otherwise', '{"sign":"a","\\u0073ign":"b"}'],
    ['a duplicate key deep inside', '{"data":{"x":[{"a":1,"a":1}]}}'],
    ['__proto__', '{"data":{"__proto__":{}}}'],
    ['a lone surrogate', '{"a":"\\ud800"}'],
    ['too deep', '['.repeat(40_000)],
    ['NaN', '{"a":NaN}'],
  ])('answers 400 for a body that is not a JSON object: %s', async (_name, body) => {
    expect(await post(body)).toMatchObject({
      code: 400,
      msg: 'The request body is not valid JSON.',
      data: null,
    });
  });

  it('answers 400 for a body that is not UTF-8', async () => {
    expect(await post(new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]))).toMatchObject({
      code: 400,
    });
  });

  it('accepts 64 KiB and no more, announced or in chunks', async () => {
    const data = JSON.stringify(collectionData());
    const envelope = (note: string) =>
      `{"sign":"${signText(merchant.token, data)}","timestamp":${api.nowSeconds()},"nonce":"${anOrderId()}","note":"${note}","data":${data}}`;
    const fits = envelope('x'.repeat(65_536 - envelope('').length));
    expect(Buffer.byteLength(fits)).toBe(65_536);
    expect((await post(fits)).code).toBe(200);
    const tooLarge = envelope('x'.repeat(65_537 - envelope('').length));
    expect(await post(tooLarge)).toMatchObject({ code: 413, msg: 'The request body is too large.' });
    const chunks = new ReadableStream({
      start(controller) {
        for (let i = 0; i < 9; i += 1) controller.enqueue(Buffer.alloc(8_192, ' '));
        controller.close();
      },
    });
    const answer = await api.request('POST', COLLECTION, {
      headers: { 'content-type': 'application/json' },
      body: chunks,
      duplex: 'half',
    } as RequestInit);
    expect(answer.code).toBe(413);
    expect((await post(JSON.stringify({}))).code).toBe(401);
  });

  it.each([
    [{}],
    [{ 'content-type': 'text/plain' }],
    [{ 'content-type': 'application/x-www-form-urlencoded' }],
    [{ 'content-type': 'application/jsonp' }],
    [{ 'content-type': 'multipart/form-data; boundary=x' }],
    [{ 'content-type': 'application/json', 'content-encoding': 'gzip' }],
  ])('answers 415 for the headers %j', async (headers) => {
    const body = 'content-encoding' in headers ? gzipSync('{}') : Buffer.from('{}');
    expect(await post(new Uint8Array(body), headers as Record<string, string>)).toMatchObject({
      code: 415,
      msg: 'Unsupported media type',
    });
  });

  it.each([
    'application/json',
    'application/json; charset=utf-8',
    'Application/JSON;charset=UTF-8',
    'application/json ;x',
  ])('accepts the content type %s', async (type) => {
    expect((await post('{}', { 'content-type': type })).msg).toBe('The sign cannot be left blank.');
  });
});

describe('invalid HTTP', () => {
  it.each([
    ['an invalid request line', 'nonsense\r\n\r\n', 400, 'Bad request'],
    [
      'endless headers',
      `GET / HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(40_000)}\r\n\r\n`,
      431,
      'Request header fields too large',
    ],
    [
      'two lengths',
      'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nx',
      400,
      'Bad request',
    ],
    [
      'length and chunks',
      'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
      'Bad request',
    ],
    ['no host', 'GET /docs HTTP/1.1\r\n\r\n', 400, 'Bad request'],
    ['an expectation', 'GET / HTTP/1.1\r\nhost: x\r\nexpect: wonders\r\n\r\n', 417, 'Expectation failed'],
  ])('answers invalid HTTP with an envelope: %s', async (_name, bytes, code, msg) => {
    const answer = await raw(bytes);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${code} `));
    expect(answer.toLowerCase()).toContain('x-request-id: ');
    expect(bodyOf(answer)).toEqual({ code, msg, data: null });
    const requestId = /^x-request-id: (\S+)/im.exec(answer)?.[1];
    const logged = api.logLines().find((line) => line['requestId'] === requestId);
    expect(logged).toMatchObject({ level: 'info', message: 'connection refused' });
  });

  it('survives a client that disconnects in the middle of its body', async () => {
    const socket = connect(api.port, '127.0.0.1');
    socket.write(
      `POST ${COLLECTION} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"sign"`,
    );
    await once(socket, 'connect');
    socket.destroy();
    expect((await api.post(COLLECTION, collectionData())).code).toBe(200);
  });
});

describe('cross-origin requests', () => {
  const paths = [
    '/v1/order/pay?orderId=x&sign=y',
    '/v1/order/getOrderStatus?orderId=x&sign=y',
    '/v1/symbol/supportSymbols',
  ];
  const origin = 'https://shop.example';

  it('lets other origins read pay, getOrderStatus and supportSymbols', async () => {
    for (const path of paths) {
      const answer = await api.request('GET', path, { headers: { origin } });
      expect(answer.headers.get('access-control-allow-origin')).toBe('*');
      expect(answer.headers.get('access-control-expose-headers')).toContain('X-Request-Id');
      const preflight = await api.request('OPTIONS', path, {
        headers: {
          origin,
          'access-control-request-method': 'GET',
          'access-control-request-headers': 'content-type',
        },
      });
      expect(preflight).toMatchObject({ code: 200, data: null });
      expect(preflight.headers.get('access-control-allow-methods')).toBe('GET');
      expect(preflight.headers.get('access-control-allow-headers')).toContain('Content-Type');
      expect(preflight.headers.get('access-control-allow-credentials')).toBeNull();
    }
  });

  it('does not let other origins call POST endpoints or status', async () => {
    for (const [method, path] of [
      ['OPTIONS', COLLECTION],
      ['OPTIONS', PAYOUT],
      ['POST', COLLECTION],
      ['GET', '/v1/order/status/x?sign=y'],
      ['OPTIONS', '/v1/order/status/x'],
    ] as const) {
      const answer = await api.request(method, path, {
        headers: { origin, 'content-type': 'application/json', 'access-control-request-method': 'POST' },
        ...(method === 'POST' ? { body: '{}' } : {}),
      });
      expect(answer.headers.get('access-control-allow-origin')).toBeNull();
      if (method === 'OPTIONS') expect(answer.code).toBe(405);
    }
  });

  it('allows only configured origins', async () => {
    const strict = await startTestApi(testDatabase, { corsOrigins: [origin] });
    const ask = (from: string) =>
      strict.request('GET', '/v1/symbol/supportSymbols', { headers: { origin: from } });
    const [known, other] = [await ask(origin), await ask('https://evil.example')];
    await strict.stop();
    expect(known.headers.get('access-control-allow-origin')).toBe(origin);
    expect(other.headers.get('access-control-allow-origin')).toBeNull();
    for (const answer of [known, other]) expect(answer.headers.get('vary')).toBe('Origin');
  });
});

/** fetch does not set the header Host. */
function textFor(host: string, url: string): Promise<string> {
  return new Promise((resolve, reject) => {
    get(url, { headers: { host } }, (response) => resolve(text(response))).on('error', reject);
  });
}

describe('API documents', () => {
  it('serves its OpenAPI document', async () => {
    const answer = await api.request('GET', '/openapi.json');
    expect(JSON.parse(answer.text)).toEqual(JSON.parse(JSON.stringify(OPENAPI_DOCUMENT)));
  });

  it('shows every operation and error on a page without third-party requests', async () => {
    const answer = await api.request('GET', '/docs');
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
    const policy = answer.headers.get('content-security-policy')!;
    expect(policy).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; script-src 'sha256-[^']+'; img-src 'self';/,
    );
    const script = /<script>(?<code>[^]*)<\/script>/.exec(answer.text)!.groups!['code']!;
    expect(policy).toContain(createHash('sha256').update(script).digest('base64'));
    for (const path of Object.keys(OPENAPI_DOCUMENT.paths)) expect(answer.text).toContain(path);
    expect(answer.text).toContain('The receiveAddress cannot be left blank.');
    expect(answer.text).not.toMatch(/<img|href="(?!#|favicon.svg"|openapi.json"|docs\/guides)/);
    expect(answer.text).not.toContain(merchant.token);
  });

  it('serves the guides that the page links to, under the same policy', async () => {
    const { text: html, headers } = await api.request('GET', '/docs');
    const paths = [...html.matchAll(/href="(docs\/guides[^"#]*)"/g)].map(([, path]) => `/${path}`);
    expect(paths.length).toBeGreaterThan(6);
    for (const path of paths) {
      const answer = await fetch(api.url + path);
      expect([path, answer.status, answer.headers.get('content-security-policy')]).toEqual([
        path,
        200,
        headers.get('content-security-policy'),
      ]);
      const text = await answer.text();
      expect(text).toMatch(/<main id="top" class="guide"><h1 /);
      expect(text).not.toMatch(/<th\b[^>]*><\/th>/);
    }
  });

  it.each(['/docs/guides/nowhere.md', '/docs/guides/__proto__', '/docs/guides/..%2f..%2fpackage.json'])(
    'answers 404 for the guide %s',
    async (path) => {
      expect((await api.request('GET', path)).status).toBe(404);
    },
  );

  it.each([
    ['/docs/', '/docs'],
    ['/docs/guides/', '/docs/guides/docs/README.md'],
    ['/docs/guides/docs/api.md/', '/docs/guides/docs/api.md'],
  ])('leads from %s to the address whose links work', async (path, leadsTo) => {
    const answer = await fetch(api.url + path);
    expect([answer.status, new URL(answer.url).pathname]).toEqual([200, leadsTo]);
  });

  it('leads from / to the documents, with an icon', async () => {
    const root = await fetch(`${api.url}/`, { redirect: 'manual' });
    expect([root.status, root.headers.get('location')]).toEqual([302, 'docs']);
    expect(await (await fetch(`${api.url}/`)).text()).toContain('<main');
    for (const name of ['favicon.svg', 'favicon.ico'])
      expect((await fetch(`${api.url}/${name}`)).headers.get('content-type')).toBe('image/svg+xml');
  });

  it('fills in the token of the merchant default in the local profile', async () => {
    const token = 'token-of-default-0123456789-0123456789';
    const returnOrigins = ['http://localhost:3011'];
    await aMerchant(admin.kysely, { merchantId: 'default', token, returnOrigins });
    const checkoutBaseUrl = 'http://localhost:3010/checkout';
    const local = await startTestApi(testDatabase, { profile: 'local', checkoutBaseUrl });
    const { text: html } = await local.request('GET', '/docs');
    const rebound = await textFor('rebound.example', `${local.url}/docs`);
    await local.stop();
    expect(rebound).toContain('createCollection');
    expect(rebound).not.toContain(token);
    expect(rebound).toContain('<a href="http://localhost:3010/docs">');
    expect(html).not.toContain('<a href="http://localhost:3010/docs">');
    expect(html).toContain(token);
    expect(html).toContain('http://localhost:3011/devnet/pay');
    expect((await api.request('GET', '/docs')).text).not.toContain(token);
  });
});

describe('response headers', () => {
  it('sets strict security headers and a unique request id', async () => {
    const [one, two] = [await api.request('GET', '/nowhere'), await api.request('GET', '/nowhere')];
    expect(one.headers.get('x-request-id')).not.toBe(two.headers.get('x-request-id'));
    expect(one.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(one.headers.get('x-content-type-options')).toBe('nosniff');
    expect(one.headers.get('cache-control')).toBe('no-store');
    expect(one.headers.get('strict-transport-security')).toContain('max-age=');
    expect(one.headers.get('x-powered-by')).toBeNull();
    expect(one.headers.get('etag')).toBeNull();
  });
});
