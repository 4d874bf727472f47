import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OPS_OPENAPI_DOCUMENT } from '@opentill/contracts/ops/openapi';
import { newId } from '@opentill/runtime/ids';
import { aCollection, aHotWallet, aMerchant } from '@opentill/testkit/scenario';
import { openTestDatabase } from '@opentill/testkit/test-database';
import { startTestOps, type TestOps } from './support/test-ops.ts';

const { testDatabase, admin } = await openTestDatabase();
let ops: TestOps;

beforeAll(async () => {
  ops = await startTestOps(testDatabase);
});
afterAll(() => ops.stop());

const json = { 'content-type': 'application/json' };

describe('invalid requests', () => {
  it.each([
    ['an unknown path', 'GET', '/v1/nothing', {}, 404, 'NOT_FOUND'],
    ['another method', 'DELETE', '/v1/merchants', {}, 405, 'METHOD_NOT_ALLOWED'],
    ['an invalid percent encoding', 'GET', '/v1/orders/%E0%A4%A', {}, 400, 'INPUT_INVALID'],
    ['a body that is not JSON', 'POST', '/v1/halts', { headers: json, body: '{' }, 400, 'BODY_INVALID'],
    ['a body that is not an object', 'POST', '/v1/halts', { headers: json, body: '[]' }, 400, 'BODY_INVALID'],
    [
      'a body of another type',
      'POST',
      '/v1/halts',
      { headers: { 'content-type': 'text/plain' }, body: 'x' },
      415,
      'MEDIA_TYPE_UNSUPPORTED',
    ],
    [
      'an encoded body',
      'POST',
      '/v1/halts',
      { headers: { ...json, 'content-encoding': 'br' }, body: '{}' },
      415,
      'MEDIA_TYPE_UNSUPPORTED',
    ],
    [
      'a body that is too large',
      'POST',
      '/v1/halts',
      { headers: json, body: JSON.stringify({ reason: 'x'.repeat(140_000) }) },
      413,
      'BODY_TOO_LARGE',
    ],
    ['a missing body', 'POST', '/v1/halts', {}, 400, 'INPUT_INVALID'],
    ['a repeated query parameter', 'GET', '/v1/orders?limit=1&limit=2', {}, 400, 'INPUT_INVALID'],
    ['an unknown parameter', 'GET', '/v1/orders?merchant=x', {}, 400, 'INPUT_INVALID'],
    ['an invalid time', 'GET', '/v1/orders?from=2026-06-30T23:59:60Z', {}, 400, 'INPUT_INVALID'],
    [
      'half a character',
      'POST',
      '/v1/halts',
      { headers: json, body: '{"chain":"ETH_SEPOLIA","reason":"\\ud800"}' },
      400,
      'INPUT_INVALID',
    ],
    ...['\\u009b31m', '\\u202e', '\\u2028', '\\u200b'].map(
      (character) =>
        [
          `a control character, ${character}`,
          'POST',
          '/v1/halts',
          { headers: json, body: `{"chain":"ETH_SEPOLIA","reason":"x${character}"}` },
          400,
          'INPUT_INVALID',
        ] as const,
    ),
    [
      'a prototype',
      'POST',
      '/v1/halts',
      { headers: json, body: '{"__proto__":{"chain":"ETH"}}' },
      400,
      'INPUT_INVALID',
    ],
  ] as const)('rejects %s', async (_what, method, path, init, status, code) => {
    const answer = await ops.request(method, path, { ...init, token: ops.tokens.ADMIN });
    expect({ status: answer.status, error: answer.body.error }).toMatchObject({ status, error: { code } });
    expect(answer.body.error.requestId).toBe(answer.headers.get('x-request-id'));
    expect(answer.body.error.message).toMatch(/[.!?]$/);
  });

  it('audits an act with an invalid body', async () => {
    const answer = await ops.request('POST', '/v1/halts', {
      headers: json,
      body: '{',
      token: ops.tokens.FINANCE,
    });
    const entries = await admin.kysely
      .selectFrom('audit_entry')
      .selectAll()
      .where('request_id', '=', answer.body.error.requestId)
      .execute();
    expect(entries).toMatchObject([{ operator: 'fay', action: 'setHalt', outcome: 'REFUSED' }]);
  });
});

describe('GET /openapi.json', () => {
  it('returns the API document without authentication or internals', async () => {
    const { status, body, headers } = await ops.request('GET', '/openapi.json');
    expect(status).toBe(200);
    expect(body).toEqual(JSON.parse(JSON.stringify(OPS_OPENAPI_DOCUMENT)));
    expect(headers.get('x-powered-by')).toBeNull();
    expect(headers.get('content-security-policy')).toContain("default-src 'none'");
    expect((await ops.request('GET', '/metrics')).status).toBe(404);
  });
});

describe('CSV exports', () => {
  const time = () => ({
    from: new Date(Date.now() - 3_600_000).toISOString(),
    until: new Date(Date.now() + 3_600_000).toISOString(),
  });

  it('exports one quoted line per order, safe for spreadsheets', async () => {
    await aMerchant(admin.kysely, { merchantId: 'shop' });
    const order = await aCollection(admin.kysely, {
      order_pk: newId(),
      merchant_id: 'shop',
      order_id: '@cmd',
      uid: '=1+1',
      reason: 'a, "b"',
    });
    const { text, headers } = await ops.call('exportOrders', time(), 'FINANCE');
    expect(headers.get('content-type')).toContain('text/csv');
    expect(headers.get('content-disposition')).toMatch(/^attachment; filename="orders-[0-9T-]+\.csv"$/);
    const [head, line, end] = text.split('\r\n');
    expect(head).toBe(
      'order_pk,merchant_id,order_id,order_type,uid,status,reason,chain,symbol,contract_address,amount,detected_amount,actual_amount,address,source_address,created_at,expires_at,updated_at',
    );
    expect(line).toContain(`${order.order_pk},shop,'@cmd,COLLECTION,'=1+1,INIT,"a, ""b""",ETH_SEPOLIA,USDT,`);
    expect(line).toContain(',250.00,0.00,,');
    expect(end).toBe('');
  });

  it('exports one line per posting of the ledger', async () => {
    await aHotWallet(admin.kysely);
    const { text } = await ops.call('exportLedger', time(), 'FINANCE');
    const lines = text.trim().split('\r\n').slice(1);
    expect(lines.map((line) => line.split(',').slice(5))).toEqual(
      expect.arrayContaining([
        ['HOT_AVAILABLE', '', 'ETH_SEPOLIA', 'USDT', '1000000000', '1000.00'],
        ['OWNER', '', 'ETH_SEPOLIA', 'USDT', '-1000000000', '-1000.00'],
      ]),
    );
  });
});
