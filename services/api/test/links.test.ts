import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sql } from 'kysely';
import type { MerchantSettings } from '@opentill/db/merchants';
import { aChainCursor, aMerchant, aRate } from '@opentill/testkit/scenario';
import { openTestDatabase } from '@opentill/testkit/test-database';
import { NO_LIMITS, startTestApi, type Answered, type TestApi } from './support/test-api.ts';

const { testDatabase, admin } = await openTestDatabase();
let api: TestApi;
let merchant: MerchantSettings;

beforeAll(async () => {
  merchant = await aMerchant(admin.kysely, {
    merchantId: 'shop',
    rateLimits: NO_LIMITS,
    returnOrigins: ['https://shop.example'],
  });
  await aChainCursor(admin.kysely, { chain: 'ETH_SEPOLIA' });
  await aRate(admin.kysely, { rate: '0.920500000000' });
  await aRate(admin.kysely, { symbol: 'USDC', rate: '0.919600000000' });
  api = await startTestApi(testDatabase, { merchant, trustedProxies: ['127.0.0.1'] });
});
afterAll(() => api.stop());

let count = 0;
const fields = (overrides: Record<string, unknown> = {}) => ({
  linkId: `link:${(count += 1)}`,
  amount: '25',
  symbol: 'usdt',
  chain: 'ETH_SEPOLIA',
  ...overrides,
});
const USDT = { chain: 'ETH_SEPOLIA', symbol: 'USDT' };
const USDC = { chain: 'ETH_SEPOLIA', symbol: 'USDC' };
/** The customer chooses the coin of a price. */
const OPEN_COIN = { amount: undefined, symbol: undefined, chain: undefined, price: '49.90', currency: 'EUR' };
const create = (data: object) => api.post('/v1/link/create', data);
const read = (linkId: string) => api.post('/v1/link/read', { linkId });

/** A customer with an address of their own, so that the limits of the others do not count. */
function aCustomer(): string {
  return `198.51.100.${(count += 1) % 256}, 203.0.${(count >> 8) % 256}.${count % 256}`;
}

async function visit(url: string, path = ''): Promise<Answered> {
  return api.request('GET', new URL(url).pathname + path, { headers: { 'x-forwarded-for': aCustomer() } });
}

const keyOf = (page: Answered) => /name="key" value="([^"]+)"/.exec(page.text)![1]!;

async function send(
  url: string,
  form: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<Answered> {
  return api.request('POST', new URL(url).pathname + new URL(url).search, {
    headers: {
      'x-forwarded-for': aCustomer(),
      'content-type': 'application/x-www-form-urlencoded',
      ...headers,
    },
    body: new URLSearchParams(form).toString(),
  });
}

async function pay(url: string, form: Record<string, string> = {}): Promise<Answered> {
  return send(url, { key: keyOf(await visit(url)), ...form });
}

const orderIdOf = ({ headers }: Answered) =>
  new URL(headers.get('location')!, 'http://pay.example').searchParams.get('orderId');

async function ordersOf(linkId: string) {
  return admin.kysely
    .selectFrom('orders')
    .selectAll()
    .where('link_id', '=', linkId)
    .orderBy('created_at')
    .execute();
}

describe('operations', () => {
  test('creates, reads, lists and closes links', async () => {
    const asked = fields({
      uid: 7,
      description: 'Coffee',
      stock: 3,
      returnUrl: 'https://shop.example/thanks',
    });
    const { data: link } = await create(asked);
    expect(link).toMatchObject({
      linkId: asked.linkId,
      state: 'OPEN',
      amount: '25.00',
      symbol: 'USDT',
      chain: 'ETH_SEPOLIA',
      uid: '7',
      stock: 3,
      sold: 0,
      reserved: 0,
      closedAt: null,
    });
    expect(link.url).toMatch(/^http:\/\/pay\.example\/checkout\/link\/[A-Za-z0-9_-]{22}$/);
    expect((await read(asked.linkId)).data).toEqual(link);
    const { data: newest } = await api.post('/v1/link/list', { limit: 1 });
    expect(newest.links).toEqual([link]);
    const closed = await api.post('/v1/link/close', { linkId: asked.linkId, closed: true });
    expect(closed.data).toMatchObject({ ...link, state: 'CLOSED', closedAt: expect.any(Number) as number });
    const again = await api.post('/v1/link/close', { linkId: asked.linkId, closed: true });
    expect(again.data).toEqual(closed.data);
  });

  test('lists all links in pages, newest first, each once', async () => {
    const made: string[] = [];
    for (let i = 0; i < 5; i += 1) made.unshift((await create(fields())).data.linkId as string);
    const listed: string[] = [];
    let before: string | null = null;
    do {
      const { data } = await api.post('/v1/link/list', { limit: 2, before });
      listed.push(...(data.links as { linkId: string }[]).map(({ linkId }) => linkId));
      before = data.next as string | null;
    } while (before !== null);
    expect(listed.slice(0, 5)).toEqual(made);
    expect(new Set(listed).size).toBe(listed.length);
  });

  test('rejects a page before an unknown link; before the oldest it is empty', async () => {
    const owner = await aMerchant(admin.kysely, { merchantId: 'pages', rateLimits: NO_LIMITS });
    await api.knows(owner);
    const other = await create(fields());
    const { linkId } = (await api.post('/v1/link/create', fields(), { merchant: owner })).data;
    const page = async (before: string) =>
      api.post('/v1/link/list', { limit: 5, before }, { merchant: owner });
    for (const unknown of ['unknown', other.data.linkId as string])
      expect(await page(unknown)).toMatchObject({
        code: 400,
        msg: 'The link is invalid.',
        detail: 'before: no link has this id; write `next` of the page before',
      });
    expect((await page(linkId)).data).toEqual({ links: [], next: null });
  });

  test('returns the link for an equal request, also when it would be rejected today', async () => {
    const asked = fields({ expiresAt: api.nowSeconds() + 60 });
    const first = await create(asked);
    expect((await create({ ...asked, amount: 25.0, symbol: 'USDT' })).data).toEqual(first.data);
    await api.atOneMoment(async () => {
      api.advance(100);
      expect(await create(asked)).toMatchObject({ code: 200, data: { linkId: asked.linkId } });
      api.advance(-100);
    });
    expect(await create({ ...asked, amount: '26', stock: 1 })).toMatchObject({
      code: 409,
      msg: 'Link ID already exists.',
      detail: 'linkId: exists with another amount, stock',
    });
  });

  test('takes null as absent in every optional member', async () => {
    const names = ['amount', 'minAmount', 'maxAmount', 'minPrice', 'maxPrice', 'symbol', 'chain', 'accept'];
    const more = ['uid', 'description', 'returnUrl', 'stock', 'expiresAt'];
    const nulls = Object.fromEntries([...names, ...more].map((name) => [name, null]));
    const asked = fields(OPEN_COIN);
    const { data: link } = await create({ ...asked, ...nulls });
    expect(link).toMatchObject({ price: '49.90', symbol: null, chain: null, accept: null, stock: null });
    expect((await create(asked)).data).toEqual(link);
    const ofCoin = fields({ price: null, currency: null, minPrice: null, maxPrice: null, accept: null });
    expect((await create(ofCoin)).data).toMatchObject({ amount: '25.00', symbol: 'USDT' });
  });

  test('makes one link of equal requests sent at once', async () => {
    const asked = fields();
    const answers = await Promise.all(Array.from({ length: 8 }, () => create(asked)));
    expect(new Set(answers.map(({ data }) => (data as { url: string }).url)).size).toBe(1);
  });

  test.each([
    [{ linkId: 'a b' }, 'The linkId is invalid.', undefined],
    [{ amount: undefined }, 'The amount cannot be left blank.', undefined],
    [{ amount: '0' }, 'The amount must be greater than zero.', undefined],
    [{ amount: '1.1234567' }, 'The amount has too many decimals.', undefined],
    [{ amount: '0.001' }, 'The amount is out of range.', undefined],
    [{ price: '5', currency: 'EUR' }, 'The link is invalid.', /^amount, price: give only one of/],
    [{ currency: 'EUR' }, 'The link is invalid.', /^currency: /],
    [{ amount: undefined, minAmount: '5' }, 'The amount cannot be left blank.', /^maxAmount: /],
    [{ amount: undefined, minAmount: '5', maxAmount: '4' }, 'The link is invalid.', /^minAmount: /],
    [{ amount: undefined, price: '5' }, 'The currency is invalid.', undefined],
    [
      { amount: undefined, minPrice: '1', maxPrice: '5.001', currency: 'EUR' },
      'The price is invalid.',
      /^maxPrice/,
    ],
    [{ symbol: 'XYZ' }, 'Unsupported symbol or chain', undefined],
    [{ accept: [USDT] }, 'The link is invalid.', /^accept: belongs to a price without symbol/],
    [{ ...OPEN_COIN, accept: [USDT], symbol: 'USDT' }, 'The link is invalid.', /^accept: /],
    [{ ...OPEN_COIN, amount: '5' }, 'The link is invalid.', /^amount, price: /],
    [{ symbol: undefined, chain: undefined }, 'The symbol cannot be left blank.', undefined],
    [{ symbol: null, chain: null }, 'The symbol cannot be left blank.', undefined],
    [{ ...OPEN_COIN, chain: null, symbol: 'USDT' }, 'The chain cannot be left blank.', undefined],
    [{ ...OPEN_COIN, symbol: '', chain: '' }, 'The symbol cannot be left blank.', undefined],
    [{ linkId: null }, 'The linkId is invalid.', undefined],
    [{ ...OPEN_COIN, accept: [] }, 'The accept is invalid.', /^accept: /],
    [{ ...OPEN_COIN, accept: [{ ...USDT, symbol: 'XYZ' }] }, 'Unsupported symbol or chain', undefined],
    [{ ...OPEN_COIN, accept: [{ chain: 'ETH', symbol: 'USDT' }] }, 'Unsupported symbol or chain', undefined],
    [{ stock: 0 }, 'The link is invalid.', /^stock: /],
    [{ stock: '3' }, 'The link is invalid.', /^stock: /],
    [{ expiresAt: 1 }, 'The link is invalid.', /^expiresAt: is in the past/],
    [{ expiresAt: 1_795_000_000_000 }, 'The link is invalid.', /^expiresAt: /],
    [{ description: 'x'.repeat(121) }, 'The description is invalid.', undefined],
    [{ returnUrl: 'https://other.example' }, 'The returnUrl is invalid.', undefined],
    [{ uid: '0' }, 'The uid cannot be zero.', undefined],
  ])('rejects %j: %s', async (change, msg, detail) => {
    const answer = await create(fields(change));
    expect(answer).toMatchObject({ code: 400, msg });
    if (detail !== undefined) expect(answer.detail).toMatch(detail);
  });

  test('does not close by the data of a read, and knows no link of another merchant', async () => {
    const { linkId } = (await create(fields())).data as { linkId: string };
    expect(await api.post('/v1/link/close', { linkId })).toMatchObject({
      code: 400,
      msg: 'The link is invalid.',
    });
    const other = await aMerchant(admin.kysely, { merchantId: 'other', rateLimits: NO_LIMITS });
    await api.knows(other);
    for (const path of ['/v1/link/read', '/v1/link/close'])
      expect(await api.post(path, { linkId, closed: true }, { merchant: other })).toMatchObject({
        code: 404,
        msg: 'Link not found',
      });
    expect((await api.post('/v1/link/list', { limit: 20 }, { merchant: other })).data).toEqual({
      links: [],
      next: null,
    });
    expect((await read(linkId)).data.state).toBe('OPEN');
  });

  test('lists no links for the data of another operation', async () => {
    for (const data of [{}, { linkId: 'any' }, fields({}), { ...fields({}), orderId: 'any' }])
      expect(await api.post('/v1/link/list', data)).toMatchObject({ code: 400, msg: 'The link is invalid.' });
  });

  test('spends the nonce of each operation', async () => {
    const asked = fields();
    for (const [path, data] of [
      ['create', asked],
      ['read', { linkId: asked.linkId }],
      ['list', { limit: 1 }],
      ['close', { linkId: asked.linkId, closed: true }],
    ] as const) {
      const nonce = `nonce of ${path} ${asked.linkId}`;
      expect((await api.post(`/v1/link/${path}`, data, { nonce })).code).toBe(200);
      expect(await api.post(`/v1/link/${path}`, data, { nonce })).toMatchObject({
        msg: 'Nonce already used',
      });
    }
  });
});

describe('the page', () => {
  test('opens no order by GET or HEAD, and one order per form', async () => {
    const { linkId, url } = (await create(fields({ uid: 'u-1', description: '<b>Coffee</b>' }))).data;
    const page = await visit(url);
    expect(page.status).toBe(200);
    expect(page.text).toContain('&lt;b&gt;Coffee&lt;/b&gt;');
    expect(page.text).not.toContain('<script');
    expect(page.headers.get('content-security-policy')).toContain("form-action 'self' http://pay.example");
    expect(page.headers.get('cache-control')).toBe('no-store');
    await api.request('HEAD', new URL(url).pathname);
    expect(await ordersOf(linkId)).toHaveLength(0);

    const form = { key: keyOf(page) };
    const answers = await Promise.all([send(url, form), send(url, form), send(url, form)]);
    expect(answers.map(({ status }) => status)).toEqual([303, 303, 303]);
    const [order, ...more] = await ordersOf(linkId);
    expect(more).toEqual([]);
    expect(answers.map(orderIdOf)).toEqual(Array(3).fill(order!.order_id));
    expect(order).toMatchObject({
      status: 'INIT',
      amount: 25_000_000n,
      uid: 'u-1',
      description: '<b>Coffee</b>',
    });
    const checkout = await api.request(
      'GET',
      `/checkout${new URL(answers[0]!.headers.get('location')!).search}`,
    );
    expect(checkout.status).toBe(200);
  });

  test('makes an order that names its link in status and callbacks', async () => {
    const { linkId, url } = (await create(fields())).data;
    const orderId = orderIdOf(await pay(url))!;
    const { data: state } = await api.signedGet('status', orderId);
    expect(state).toMatchObject({ linkId, amount: '25.00' });
    const { rows } = await sql<{ data: string }>`
      select data from notification n join orders o on o.order_pk = n.subject_id where o.order_id = ${orderId}`.execute(
      admin.kysely,
    );
    expect(rows.map(({ data }) => (JSON.parse(data) as { linkId: string }).linkId)).toEqual([linkId]);
    expect((await read(linkId)).data).toMatchObject({ sold: 0, reserved: 1 });
  });

  test('computes the amount of a price by the current rate', async () => {
    const priced = fields({ amount: undefined, price: '49.90', currency: 'EUR' });
    const { linkId, url } = (await create(priced)).data;
    await pay(url);
    expect(await ordersOf(linkId)).toMatchObject([{ amount: 54_210_000n, price: '49.90', currency: 'EUR' }]);
  });

  test('takes an open amount within its bounds, also in Arabic digits', async () => {
    const asked = fields({ amount: undefined, minAmount: '5', maxAmount: '500' });
    const { linkId, url } = (await create(asked)).data;
    for (const amount of ['4.99', '500.01', '', 'abc', '1,000', '12.345', '-6']) {
      const answer = await pay(url, { amount });
      expect([amount, answer.status]).toEqual([amount, 422]);
      expect(answer.text).toContain(`value="${amount}"`);
      expect(answer.text).toContain('aria-invalid="true"');
    }
    for (const amount of ['5', '500', ' 12,50 ', '٧٫٥', '۸'])
      expect((await pay(url, { amount })).status).toBe(303);
    const amounts = (await ordersOf(linkId)).map(({ amount }) => Number(amount) / 1e6);
    expect(amounts.toSorted((a, b) => a - b)).toEqual([5, 7.5, 8, 12.5, 500]);
  });

  test('takes an open amount with the decimals of its bounds, and with groups', async () => {
    const asked = fields({ amount: undefined, minAmount: '1.005', maxAmount: '5000' });
    const { linkId, url } = (await create(asked)).data;
    for (const amount of ['1.0061', '1,000']) expect((await pay(url, { amount })).status).toBe(422);
    for (const amount of ['1.006', '1,000.50']) expect((await pay(url, { amount })).status).toBe(303);
    const amounts = (await ordersOf(linkId)).map(({ amount }) => Number(amount));
    expect(amounts.toSorted((a, b) => a - b)).toEqual([1_006_000, 1_000_500_000]);
  });

  test('is not available when the currency of its price is not known', async () => {
    const { linkId, url } = (await create(fields({ amount: undefined, price: '49.90', currency: 'EUR' })))
      .data;
    await sql`update payment_link set currency = 'ZZZ' where link_id = ${linkId}`.execute(admin.kysely);
    expect((await pay(url)).status).toBe(503);
    expect(await ordersOf(linkId)).toEqual([]);
  });

  test('is sold out while the stock is taken, and open again when an order expires', async () => {
    const { linkId, url } = (await create(fields({ stock: 1 }))).data;
    const form = { key: keyOf(await visit(url)) };
    const late = { key: keyOf(await visit(url)) };
    const first = await send(url, form);
    expect((await send(url, late)).status).toBe(409);
    expect((await visit(url)).text).toContain('Sold out');
    expect((await read(linkId)).data).toMatchObject({ state: 'SOLD_OUT', reserved: 1 });
    expect(orderIdOf(await send(url, form))).toBe(orderIdOf(first));
    await sql`update orders set status = 'EXPIRED' where link_id = ${linkId}`.execute(admin.kysely);
    expect((await visit(url)).status).toBe(200);
    expect((await send(url, late)).status).toBe(303);
  });

  test('takes no order once closed or expired, but leads to one that exists', async () => {
    const { linkId, url } = (await create(fields())).data;
    const [form, other] = [{ key: keyOf(await visit(url)) }, { key: keyOf(await visit(url)) }];
    await send(url, form);
    await api.post('/v1/link/close', { linkId, closed: true });
    expect((await visit(url)).status).toBe(410);
    expect((await send(url, other)).status).toBe(410);
    expect((await send(url, form)).status).toBe(303);
    const ending = (await create(fields({ expiresAt: api.nowSeconds() + 600 }))).data;
    await sql`update payment_link set expires_at = now() where link_id = ${ending.linkId}`.execute(
      admin.kysely,
    );
    expect([(await visit(ending.url)).status, (await read(ending.linkId)).data.state]).toEqual([
      410,
      'EXPIRED',
    ]);
  });

  test('opens no order for a form of another site, or without a key', async () => {
    const { linkId, url } = (await create(fields())).data;
    const key = keyOf(await visit(url));
    for (const site of ['cross-site', 'same-site', 'none'])
      expect((await send(url, { key }, { 'sec-fetch-site': site })).headers.get('location')).toBe('?');
    for (const form of [{}, { key: 'x' }]) expect((await send(url, form as never)).status).toBe(303);
    const json = { 'content-type': 'application/json' };
    expect((await send(url, { key }, json)).headers.get('location')).toBe('?');
    expect(await ordersOf(linkId)).toEqual([]);
    expect((await send(url, { key }, { 'sec-fetch-site': 'same-origin' })).status).toBe(303);
    expect(await ordersOf(linkId)).toHaveLength(1);
  });

  test('answers 404 for an unknown code and for a link of a disabled merchant', async () => {
    const unknown = 'http://pay.example/checkout/link/AAAAAAAAAAAAAAAAAAAAAA';
    expect((await visit(unknown)).status).toBe(404);
    expect((await send(unknown, { key: 'x' })).status).toBe(404);
    expect((await visit('http://pay.example/checkout/link/short')).status).toBe(404);
    const other = await aMerchant(admin.kysely, { merchantId: 'to-disable', rateLimits: NO_LIMITS });
    await api.knows(other);
    const { url } = (await api.post('/v1/link/create', fields(), { merchant: other })).data;
    await sql`update merchant set enabled = false where merchant_id = 'to-disable'`.execute(admin.kysely);
    expect((await visit(url)).status).toBe(404);
  });

  test('returns 503 without a rate, and redirects to an order that exists', async () => {
    const { url } = (await create(fields({ amount: undefined, price: '5', currency: 'USD' }))).data;
    const form = { key: keyOf(await visit(url)) };
    expect((await send(url, form)).status).toBe(503);
    await aRate(admin.kysely, { currency: 'USD', rate: '1.000000000000' });
    const first = await send(url, form);
    await sql`update current_rate set rate_id = null, refusal = 'DEPEGGED' where currency = 'USD'`.execute(
      admin.kysely,
    );
    expect(orderIdOf(await send(url, form))).toBe(orderIdOf(first));
  });

  test('opens orders whose customers choose the coin', async () => {
    const asked = fields({ ...OPEN_COIN, accept: [{ ...USDC, symbol: 'usdc' }, USDT], stock: 1 });
    const { data: link } = await create(asked);
    expect(link).toMatchObject({ symbol: null, chain: null, accept: [USDC, USDT], price: '49.90' });
    expect((await create({ ...asked, accept: [USDT, USDC] })).data).toEqual(link);
    const disabled = { chain: 'ETH', symbol: 'usdt' };
    const spelled = (await create(fields({ ...OPEN_COIN, accept: [USDT, disabled] }))).data;
    expect(spelled).toMatchObject({ accept: [USDT, { ...disabled, symbol: 'USDT' }] });
    expect(await create({ ...asked, accept: [USDT] })).toMatchObject({
      code: 409,
      detail: 'linkId: exists with another accept',
    });
    expect((await visit(link.url)).text).toMatch(/USDC · [^]*USDT · /);

    const opened = await pay(link.url);
    const [order] = await ordersOf(link.linkId);
    expect(order).toMatchObject({ choices: 0, address: null, price: '49.90' });
    const { search } = new URL(opened.headers.get('location')!);
    expect((await api.request('GET', `/checkout${search}`)).text).toContain('Choose how to pay');
    expect((await read(link.linkId)).data).toMatchObject({ state: 'SOLD_OUT', reserved: 1 });
    const chosen = await api.request('POST', `/v1/order/choose${search}`, {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(USDT),
    });
    expect(chosen.data).toMatchObject({ symbol: 'USDT', amount: '54.21', address: /^0x/ });
    const { data: state } = await api.signedGet('status', order!.order_id);
    expect(state.linkId).toBe(link.linkId);
  });

  test('offers all coins without accept, and asks for an open price', async () => {
    const asked = fields({ ...OPEN_COIN, price: undefined, minPrice: '5', maxPrice: '500' });
    const { linkId, url, accept } = (await create(asked)).data;
    expect(accept).toBeNull();
    expect((await pay(url, { amount: '4' })).status).toBe(422);
    const orderId = orderIdOf(await pay(url, { amount: '92.05' }))!;
    const [order] = await ordersOf(linkId);
    expect(order).toMatchObject({ order_id: orderId, choices: 0, price: '92.05', amount: 100_000_000n });
    const options = await admin.kysely
      .selectFrom('order_option')
      .select(['chain', 'symbol'])
      .where('order_pk', '=', order!.order_pk)
      .execute();
    expect(options).toEqual([USDT, USDC]);
  });

  test('leaves out a coin that the networks file no longer contains', async () => {
    const { linkId, url } = (await create(fields({ ...OPEN_COIN, accept: [USDT, USDC] }))).data;
    const keep = async (coins: object[]) =>
      sql`update payment_link set accept = ${JSON.stringify(coins)} where link_id = ${linkId}`.execute(
        admin.kysely,
      );
    await keep([{ chain: 'ETH_SEPOLIA', symbol: 'GONE' }, USDT]);
    expect((await pay(url)).status).toBe(303);
    expect(await ordersOf(linkId)).toMatchObject([{ symbol: 'USDT', choices: null }]);
    await keep([{ chain: 'ETH_SEPOLIA', symbol: 'GONE' }]);
    expect((await visit(url)).status).toBe(200);
    expect((await pay(url)).status).toBe(503);
  });

  test('keeps the language on the way to the payment', async () => {
    const { url } = (await create(fields())).data;
    const page = await visit(url, '?lang=ar');
    expect(page.text).toContain('dir="rtl"');
    const { headers } = await send(`${url}?lang=ar`, { key: keyOf(page) });
    expect(new URL(headers.get('location')!).searchParams.get('lang')).toBe('ar');
  });

  test('has its QR code as a file', async () => {
    const { url } = (await create(fields())).data;
    const file = await visit(url, '/qr.svg');
    expect(file.headers.get('content-type')).toBe('image/svg+xml; charset=utf-8');
    expect(file.text).toMatch(/^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" viewBox/);
  });

  test('limits the orders of a client address, and counts no visits', async () => {
    const { linkId, url } = (await create(fields())).data;
    const headers = { 'x-forwarded-for': '192.0.2.9' };
    const path = new URL(url).pathname;
    const statuses: number[] = [];
    for (let i = 0; i < 21; i += 1) {
      const page = await api.request('GET', path, { headers });
      expect(page.status).toBe(200);
      statuses.push((await send(url, { key: keyOf(page) }, headers)).status);
    }
    expect(statuses).toEqual([...Array<number>(20).fill(303), 429]);
    expect(await ordersOf(linkId)).toHaveLength(20);
  });
});
