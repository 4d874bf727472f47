import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { signPaymentLink } from '@opentill/contracts/signing/verify-signature';
import type { MerchantSettings } from '@opentill/db/merchants';
import { aChainCursor, aMerchant, aRate } from '@opentill/testkit/scenario';
import { openTestDatabase } from '@opentill/testkit/test-database';
import { anOrderId, COLLECTION, NO_LIMITS, startTestApi, type TestApi } from './support/test-api.ts';

const { testDatabase, admin } = await openTestDatabase();
let api: TestApi;
let merchant: MerchantSettings;

beforeAll(async () => {
  merchant = await aMerchant(admin.kysely, { merchantId: 'shop', rateLimits: NO_LIMITS, markupBps: 0 });
  for (const chain of ['ETH_SEPOLIA', 'BSC_TEST'] as const) await aChainCursor(admin.kysely, { chain });
  api = await startTestApi(testDatabase, { merchant });
});
afterAll(() => api.stop());
beforeEach(async () => {
  for (const symbol of ['USDT', 'USDC']) await aRate(admin.kysely, { symbol, rate: '0.920500000000' });
});

/** Path and query of the page of a new order in three coins. */
async function aPage(more = ''): Promise<{ readonly orderId: string; readonly path: string }> {
  const orderId = anOrderId();
  const answer = await api.post(COLLECTION, { price: '49.90', currency: 'EUR', orderId }, { merchant });
  expect(answer).toMatchObject({ code: 200, data: { chosen: false } });
  const sign = signPaymentLink(merchant.token, orderId);
  return { orderId, path: `/checkout?orderId=${orderId}&sign=${sign}.shop${more}` };
}

const send = (path: string, body: string, type = 'application/x-www-form-urlencoded') =>
  api.request('POST', path, { headers: { 'content-type': type }, body });
const optionsOf = (text: string) =>
  [...text.matchAll(/class="button plain option"[^>]*value="(?<key>[^"]*)"(?<rest>[^>]*)>/g)].map(
    ({ groups }) => `${groups!['key']}${groups!['rest']}`,
  );
const hasAddress = (text: string) => /class="address"/.test(text);

test('chooses, shows the payment, and chooses again, without scripts', async () => {
  const { orderId, path } = await aPage('&lang=de');
  const list = await api.request('GET', path);
  expect(list.status).toBe(200);
  // BSC is cheaper than Ethereum; equal ones keep the order of the networks file.
  expect(optionsOf(list.text)).toEqual(['BSC_TEST USDT', 'ETH_SEPOLIA USDT', 'ETH_SEPOLIA USDC']);
  expect(hasAddress(list.text)).toBe(false);
  expect(list.headers.get('content-security-policy')).toContain("form-action 'self'");
  expect(list.text).not.toContain('http-equiv="refresh"');

  const chosen = await send(path, 'option=BSC_TEST+USDT');
  const query = path.slice('/checkout'.length);
  expect([chosen.status, chosen.headers.get('location')]).toEqual([303, query]);
  const payment = await api.request('GET', path);
  expect(hasAddress(payment.text)).toBe(true);
  expect(payment.text).toContain('data-chain="BSC_TEST"');
  expect(payment.text).toContain('http-equiv="refresh"');

  const reopened = await api.request('GET', `${path}&open=choose`);
  expect(optionsOf(reopened.text)[0]).toBe('BSC_TEST USDT aria-current="true"');
  const again = await send(`${path}&open=choose`, 'option=ETH_SEPOLIA+USDC');
  expect(again.headers.get('location')).toBe(query);
  expect((await api.request('GET', path)).text).toContain('54,21\u00a0USDC');
  expect((await api.signedGet('pay', orderId, merchant)).data).toMatchObject({
    symbol: 'USDC',
    chosen: true,
  });
});

test.each([
  ['a coin that the order does not offer', 'option=TRON+USDT', undefined],
  ['no coin', '', undefined],
  ['another media type', '{"option":"BSC_TEST USDT"}', 'application/json'],
] as const)('leads back to the list for %s', async (_, body, type) => {
  const { path } = await aPage();
  expect((await send(path, body, type)).status).toBe(303);
  expect(optionsOf((await api.request('GET', path)).text)).toHaveLength(3);
});

test('leads back to the page of an order that was closed meanwhile', async () => {
  const { orderId, path } = await aPage();
  await admin.kysely
    .updateTable('orders')
    .set({ status: 'EXPIRED' })
    .where('order_id', '=', orderId)
    .execute();
  expect((await send(path, 'option=BSC_TEST+USDT')).status).toBe(303);
  const { text } = await api.request('GET', path);
  expect(text).toContain('data-state="expired"');
  expect([optionsOf(text), hasAddress(text)]).toEqual([[], false]);
});

test('shows a notice for a wrong signature and for too many choices', async () => {
  const { path } = await aPage();
  const forged = await send(path.replace(/sign=./, 'sign=_'), 'option=BSC_TEST+USDT');
  expect([forged.status, forged.text.includes('Link not valid')]).toEqual([401, true]);
  const statuses: number[] = [];
  while (statuses.at(-1) !== 429 && statuses.length < 20)
    statuses.push((await send(path, 'option=BSC_TEST+USDT')).status);
  expect(statuses.at(-1)).toBe(429);
  const refused = await send(path, 'option=BSC_TEST+USDT');
  expect(refused.text).toContain('Too many requests');
  expect(refused.headers.get('retry-after')).toMatch(/^\d+$/);
});

test('sends no form from the page of an order in one coin', async () => {
  const data = { amount: '10', symbol: 'USDT', chain: 'ETH_SEPOLIA', orderId: anOrderId() };
  const { data: order } = await api.post(COLLECTION, data, { merchant });
  const page = await api.request('GET', `/checkout${new URL(order.paymentUrl as string).search}`);
  expect(page.headers.get('content-security-policy')).toContain("form-action 'none'");
});
