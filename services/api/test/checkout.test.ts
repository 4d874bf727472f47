import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sql } from 'kysely';
import { evmAddressCodec } from '@opentill/chain-evm/address';
import { LANGUAGE_VALUES } from '@opentill/checkout/texts/languages';
import { signOrderId } from '@opentill/contracts/signing/verify-signature';
import { aChainCursor, aCollection, aMerchant, aTransfer, type OrderRow } from '@opentill/testkit/scenario';
import { openTestDatabase } from '@opentill/testkit/test-database';
import {
  anOrderId,
  COLLECTION,
  collectionData,
  NO_LIMITS,
  PAYOUT,
  payoutData,
  startTestApi,
  TEST_NETWORKS,
  USDT_SEPOLIA,
  type TestApi,
} from './support/test-api.ts';

const merchant = { token: 'token-of-shop-0123456789-0123456789' };
const { testDatabase, admin } = await openTestDatabase();
let api: TestApi;

beforeAll(async () => {
  await aMerchant(admin.kysely, {
    merchantId: 'shop',
    ...merchant,
    rateLimits: NO_LIMITS,
    returnOrigins: ['https://shop.example'],
  });
  await aChainCursor(admin.kysely, { chain: 'ETH_SEPOLIA', head_height: 100 });
  api = await startTestApi(testDatabase, { merchant });
});
afterAll(() => api.stop());

const shown = (address: string) => evmAddressCodec.format(address as never);

function collection(overrides: Parameters<typeof aCollection>[1] = {}): Promise<OrderRow> {
  return aCollection(admin.kysely, { merchant_id: 'shop', contract_address: USDT_SEPOLIA, ...overrides });
}

/** Removes the data of the script. */
const withoutData = (text: string) => text.replace(/<script type="application\/json"[\s\S]*/, '');

const open = (
  orderId: string,
  { sign = signOrderId(merchant.token, orderId), more = '', headers = {} } = {},
) => api.request('GET', `/checkout?orderId=${encodeURIComponent(orderId)}&sign=${sign}${more}`, { headers });

describe('checkout page', () => {
  it('shows address, QR code, amount, chain and time left, and escapes texts', async () => {
    const orderId = anOrderId();
    const created = await api.post(
      COLLECTION,
      collectionData({
        orderId,
        description: `<script>alert("x")</script> & 'more'`,
        returnUrl: 'https://shop.example/?a=1&b="',
      }),
    );
    // A URL cannot contain quotation marks; the other characters are escaped.
    expect(created.code).toBe(200);
    const url = new URL(created.data.paymentUrl as string);
    const page = await api.request('GET', `/checkout${url.search}`);
    expect(page.status).toBe(200);
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    const address = created.data.address as string;
    expect(page.text).toContain(`data-copy="${address}"`);
    expect(page.text.replaceAll(/<\/?b>/g, '')).toContain(`>${address}</code>`);
    expect(page.text).toContain('250.00\u00a0USDT');
    expect(page.text).toContain('data-chain="ETH_SEPOLIA"');
    expect(page.text).toContain('Send only USDT\u00a0(ERC-\u206020) on ETH_SEPOLIA: '); // in one line
    expect(page.text).toMatch(/class="code qr"><svg/);
    expect(page.text).toMatch(/data-seconds-left="1(79\d|800)"/);
    expect(page.text).toContain('&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt; &amp; &#39;more&#39;');
    expect(page.text).not.toContain('<script>alert');
    expect(page.text).toContain('href="https://shop.example/?a=1&amp;b=%22"');
    expect(page.text).toContain('<noscript><meta http-equiv="refresh"');
    const token = shown(USDT_SEPOLIA);
    expect(page.text).toContain(
      `href="ethereum:${token}@11155111/transfer?address=${address}&amp;uint256=250000000"`,
    );
  });

  it('loads and runs only its own files', async () => {
    const order = await collection();
    const page = await open(order.order_id);
    const csp = page.headers.get('content-security-policy') ?? '';
    const styles = [...page.text.matchAll(/<style>([\s\S]*?)<\/style>/g)];
    expect(styles).toHaveLength(1);
    const hash = createHash('sha256').update(styles[0]![1]!).digest('base64');
    expect(csp).toBe(
      `default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'sha256-${hash}'; img-src 'self' data:; ` +
        `base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    );
    expect(page.headers.get('referrer-policy')).toBe('no-referrer');
    expect(page.headers.get('cache-control')).toBe('no-store');

    const scripts = [...page.text.matchAll(/<script(?<attributes>[^>]*)>(?<text>[\s\S]*?)<\/script>/g)];
    expect(scripts.map(({ groups }) => groups!['attributes']!.split(' src=')[0])).toEqual([
      ' type="module"',
      ' type="application/json" id="page-data"',
    ]);
    expect(page.text).not.toMatch(/ on\w+=| style=/);
    const loaded = [...page.text.matchAll(/(?:src|rel="modulepreload" href)="(?<url>[^"]+)"/g)];
    expect(loaded).toHaveLength(2);
    for (const { groups } of loaded) {
      expect(groups!['url']).toMatch(/^\/checkout\/assets\/[\w-]+\.js$/);
      const asset = await api.request('GET', groups!['url']!);
      expect([asset.status, asset.headers.get('content-type')]).toEqual([
        200,
        'text/javascript; charset=utf-8',
      ]);
      expect(asset.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
      expect(asset.headers.get('content-encoding')).toBe('gzip');
    }
    const plain = await api.request('GET', loaded[0]!.groups!['url']!, {
      headers: { 'accept-encoding': 'identity' },
    });
    expect(plain.headers.get('content-encoding')).toBeNull();
    for (const name of ['none.js', '..%2f..%2fpackage.json', 'manifest.json', '__proto__']) {
      expect((await api.request('GET', `/checkout/assets/${name}`)).status).toBe(404);
    }
  });

  it.each([
    ['PENDING', 'Part of the payment has arrived', true],
    ['PENDING_CONFIRMATION', 'Payment seen, waiting for confirmations', true],
    ['SUCCESS', 'Paid. Thank you!', false],
    ['EXPIRED', 'This payment request has expired', false],
    ['FAILED', 'This payment has failed', false],
  ] as const)('shows %s with "%s", reloading: %s', async (status, text, refreshes) => {
    const order = await collection({ status });
    const page = await open(order.order_id);
    expect(page.text).toContain(`<h2>${text}</h2>`);
    expect(page.text.includes('http-equiv="refresh"')).toBe(refreshes);
    // A settled order must not invite a payment.
    expect(page.text.includes('class="code')).toBe(status === 'PENDING');
    expect(page.text.includes('ethereum:')).toBe(status === 'PENDING');
  });

  it('asks for the missing rest of a partial payment, also in the QR code', async () => {
    const order = await collection({ status: 'PENDING', detected_amount: 40_500_000n });
    const { text } = await open(order.order_id);
    expect(text).toContain('40.50\u00a0USDT of 250.00\u00a0USDT has arrived.');
    expect(text).toContain('data-copy="209.50"');
    expect(text).toContain('&amp;uint256=209500000"');
  });

  it.each([
    ['Underpaid', { actual_amount: 40_000_000n, reason: 'Underpaid' }, 'Expired: too little has arrived'],
    [
      'Paid after expiry',
      { actual_amount: 250_000_000n, reason: 'Paid after expiry' },
      'Expired: your payment came too late',
    ],
  ])('tells a customer who paid too little or too late what happens: %s', async (_name, fields, heading) => {
    const order = await collection({ status: 'EXPIRED', ...fields });
    const { text } = await open(order.order_id);
    expect(text).toContain(`<h2>${heading}</h2>`);
    expect(text).toMatch(/recorded/);
    expect(withoutData(text)).not.toContain(shown(order.address));
  });

  it("hides an operator's reason from the customer and shows it to the merchant", async () => {
    const order = await collection({ status: 'FAILED', reason: 'fraud, known from shop 7' });
    expect((await open(order.order_id)).text).not.toContain('fraud');
    const { data } = await api.signedGet('pay', order.order_id);
    expect(data).toMatchObject({ status: 'FAILED', reason: 'Refused by operator' });
    const { data: shownToMerchant } = await api.signedGet('status', order.order_id);
    expect(shownToMerchant.reason).toBe('fraud, known from shop 7');
  });

  it('does not invite a payment after the deadline', async () => {
    for (const status of ['INIT', 'PENDING'] as const) {
      const order = await collection({ status, expires_at: new Date(Date.now() - 1_000) });
      const page = await open(order.order_id);
      expect(page.text).toContain('<h2>The time to pay is over</h2>');
      expect(page.text).not.toContain('class="code');
      expect(withoutData(page.text)).not.toContain(shown(order.address));
      expect(page.text).not.toMatch(/Send only/i);
      expect(page.text).toContain('http-equiv="refresh"');
    }
  });

  it('links to the explorer of its chain', async () => {
    const networks = TEST_NETWORKS.map((network) => ({
      ...network,
      explorerTxUrl: 'https://explorer.example/tx/{txid}?a&b',
    }));
    const other = await startTestApi(testDatabase, { merchant, networks });
    const order = await collection({ status: 'PENDING_CONFIRMATION', detected_amount: 250_000_000n });
    const { tx_hash } = await aTransfer(admin.kysely, order, {});
    const sign = signOrderId(merchant.token, order.order_id);
    const { text } = await other.request('GET', `/checkout?orderId=${order.order_id}&sign=${sign}`);
    expect(text).toContain(`href="https://explorer.example/tx/${tx_hash}?a&amp;b"`);
    await other.stop();
  });

  it('isolates the text direction of a description', async () => {
    const order = await collection({ description: 'قهوة' });
    expect((await open(order.order_id)).text).toContain('<bdi>قهوة</bdi>');
  });

  it("uses the browser's or the chosen language", async () => {
    const order = await collection();
    const arabic = await open(order.order_id, {
      headers: { 'accept-language': 'xx, ar-EG;q=0.8, de;q=0.5' },
    });
    expect(arabic.text).toContain('<html lang="ar" dir="rtl">');
    expect(arabic.text).toContain('<h2>في انتظار دفعتك</h2>');
    const chosen = await open(order.order_id, { more: '&lang=de', headers: { 'accept-language': 'ar' } });
    expect(chosen.text).toContain('<html lang="de" dir="ltr">');
    expect(chosen.text).toContain('<h2>Warten auf Ihre Zahlung</h2>');
    const unknown = await open(order.order_id, { more: '&lang=tlh' });
    expect(unknown.text).toContain('<html lang="en" dir="ltr">');
    const links = [...chosen.text.matchAll(/href="\?(?<query>[^"]+)"/g)].map(
      ({ groups }) => new URLSearchParams(groups!['query']!.replaceAll('&amp;', '&')),
    );
    expect(new Set(links.map((link) => link.get('lang')))).toEqual(new Set(LANGUAGE_VALUES));
    for (const link of links) expect(link.get('orderId')).toBe(order.order_id);
  });

  it("uses the operator's theme and logo", async () => {
    const logo = { name: 'logo-12345678.svg', body: Buffer.from('<svg/>'), contentType: 'image/svg+xml' };
    const theme = { name: 'Tea <&> Co', accent: '#123456', accentDark: '#fedcba' };
    const themed = await startTestApi(testDatabase, {
      merchant,
      checkoutBaseUrl: 'https://pay.example/shop/checkout',
      checkout: { theme, logo },
    });
    const order = await collection();
    await admin.kysely.updateTable('merchant').set({ name: 'shop' }).execute(); // as setup does without a name
    const sign = signOrderId(merchant.token, order.order_id);
    const { text } = await themed.request('GET', `/checkout?orderId=${order.order_id}&sign=${sign}`);
    expect(text).toContain('<bdi>Tea &lt;&amp;&gt; Co</bdi>');
    expect(text).toContain('--accent:#123456;--on-accent:#fff');
    expect(text).toContain('--accent:#fedcba;--on-accent:#000');
    expect(text).toContain('src="/shop/checkout/assets/logo-12345678.svg"');
    expect(text).toContain('"apiBase":"/shop"');
    const picture = await themed.request('GET', '/checkout/assets/logo-12345678.svg');
    expect(picture.text).toBe('<svg/>');
    expect(picture.headers.get('content-security-policy')).toContain("default-src 'none'");
    await themed.stop();
  });

  it('answers errors with a page', async () => {
    const orderId = anOrderId();
    await api.post(COLLECTION, collectionData({ orderId }));
    for (const [page, status, text] of [
      [await open(orderId, { sign: 'f'.repeat(64) }), 401, 'Link not valid'],
      [await open(orderId, { sign: '' }), 401, 'Link not valid'],
      [await api.request('GET', '/checkout'), 401, 'Link not valid'],
      [await open('unknown'), 404, 'Order not found'],
      [await open('unknown', { headers: { 'accept-language': 'fr' } }), 404, 'Commande introuvable'],
    ] as const) {
      expect(page.status).toBe(status);
      expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(page.headers.get('content-security-policy')).toMatch(/^default-src 'none'; (?!.*trongrid)/);
      expect(page.text).toContain(text);
    }
    expect((await open('unknown')).text).toContain('open the link again from the shop');
    const nameless = await api.request('GET', '/checkout');
    expect(nameless.headers.get('content-security-policy')).not.toContain('script-src');
  });

  it('leads from an invalid link to the shop that it names', async () => {
    const help = 'https://shop.example/help';
    await admin.kysely
      .updateTable('merchant')
      .set({ shop_url: 'https://shop.example/start', support_url: help })
      .where('merchant_id', '=', 'shop')
      .execute();
    for (const sign of [`${'f'.repeat(64)}.shop`, 'cut.shop']) {
      const { status, text } = await open('order-42', { sign });
      expect([status, /<script type="module"/.test(text)]).toEqual([401, true]);
      expect(text).toMatch(/<a class="button" href="https:\/\/shop.example\/start"[^>]*>Back to the shop</);
      expect(text).toContain(`href="${help}"`);
    }
    expect((await open('unknown')).text).toContain(`href="${help}"`);
    for (const sign of ['f'.repeat(64), `${'f'.repeat(64)}.stranger`])
      expect((await open('order-42', { sign })).text).not.toContain('shop.example');
  });

  it('shows the order number of an invalid link, and only an order number', async () => {
    const { text } = await open('order-42', { sign: 'f'.repeat(64), more: '&lang=de' });
    expect(text).toContain('>order-42</code>');
    expect(text).toContain('<h1>Link ungültig</h1>');
    expect(text).toContain('href="?orderId=order-42');
    const allowed = 'Shop_1:order~7@web.example-2';
    const bad = await open(allowed, { sign: 'f'.repeat(64) });
    expect([bad.status, bad.headers.get('content-type')]).toEqual([401, 'text/html; charset=utf-8']);
    expect(bad.text).toContain(`>${allowed}</code>`);
    const evil = await open('Send money to 0x1', { sign: 'f'.repeat(64) });
    expect(evil.text).not.toContain('>Send money');
  });

  it('answers an unknown path with a page to browsers, and with JSON to others', async () => {
    const accept = 'text/html,application/xhtml+xml,*/*;q=0.8';
    const page = await api.request('GET', '/checkouts', { headers: { accept, 'accept-language': 'de' } });
    expect([page.status, page.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8']);
    expect(page.text).toContain('<html lang="de" dir="ltr">');
    expect(page.text).toContain('<title>Seite nicht gefunden</title>');
    for (const [path, headers] of [
      ['/checkouts', {}],
      ['/v1/order/none', { accept }],
      ['/m/shop/none', { accept }],
    ] as const) {
      const answer = await api.request('GET', path, { headers });
      expect([answer.status, JSON.parse(answer.text)]).toEqual([
        404,
        { code: 404, msg: 'Not found', data: null, detail: 'path: is unknown; /docs lists all paths' },
      ]);
    }
  });

  it('answers 404 for payouts', async () => {
    const { data } = await api.post(PAYOUT, payoutData());
    expect(data).toBeNull();
    const payout = await collection();
    await sql`update orders set order_type = 'PAYOUT' where order_pk = ${payout.order_pk}`.execute(
      admin.kysely,
    );
    expect((await open(payout.order_id)).status).toBe(404);
  });
});
