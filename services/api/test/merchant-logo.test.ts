import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aChainCursor, aCollection, aMerchant } from '@opentill/testkit/scenario';
import { openTestDatabase } from '@opentill/testkit/test-database';
import { NO_LIMITS, startTestApi, USDT_SEPOLIA, type TestApi } from './support/test-api.ts';

const SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><path d="M0 0h8v8z"/></svg>';
const merchant = { token: 'token-of-shop-0123456789-0123456789' };
const { testDatabase, admin } = await openTestDatabase();
let api: TestApi;

beforeAll(async () => {
  await aMerchant(admin.kysely, { merchantId: 'shop', ...merchant, rateLimits: NO_LIMITS });
  await aMerchant(admin.kysely, { merchantId: 'plain' });
  await aChainCursor(admin.kysely, { chain: 'ETH_SEPOLIA' });
  await setProfile({ logo: Buffer.from(SVG), logo_type: 'image/svg+xml' });
  api = await startTestApi(testDatabase, { merchant });
});
afterAll(() => api.stop());

type Profile = Partial<
  Record<'accent_color' | 'support_url' | 'support_email' | 'shop_url' | 'name', string>
> & { readonly logo?: Buffer | null; readonly logo_type?: 'image/svg+xml' | 'image/png' | null };

async function setProfile(profile: Profile): Promise<void> {
  await admin.kysely.updateTable('merchant').set(profile).where('merchant_id', '=', 'shop').execute();
}

async function shownMerchant() {
  const order = await aCollection(admin.kysely, { merchant_id: 'shop', contract_address: USDT_SEPOLIA });
  const { data } = await api.signedGet('pay', order.order_id);
  return data.merchant as Record<string, string | null> & { readonly logoUrl: string };
}

const ask = async (path: string, init?: RequestInit) =>
  fetch(api.url + path, { redirect: 'manual', ...init });

describe('the merchant of GET pay', () => {
  it('has name, logo, colour, support and shop', async () => {
    await setProfile({
      name: 'Acme Cloud',
      accent_color: '#1f6feb',
      support_url: 'https://acme.example/help',
      support_email: 'help@acme.example',
      shop_url: 'https://acme.example',
    });
    expect(await shownMerchant()).toEqual({
      name: 'Acme Cloud',
      logoUrl: expect.stringMatching(/^\/m\/shop\/logo\?v=[0-9a-f]{16}$/),
      accentColor: '#1f6feb',
      supportUrl: 'https://acme.example/help',
      supportEmail: 'help@acme.example',
      shopUrl: 'https://acme.example',
    });
  });

  it('has no name when only the id was given', async () => {
    await setProfile({ name: 'shop' });
    expect((await shownMerchant())['name']).toBeNull();
  });
});

describe('the logo of a merchant', () => {
  it('is served so that it cannot run or load anything', async () => {
    const { logoUrl } = await shownMerchant();
    const answer = await ask(logoUrl);
    expect(answer.status).toBe(200);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'image/svg+xml',
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
      'x-content-type-options': 'nosniff',
      'cross-origin-resource-policy': 'cross-origin',
      'cache-control': 'public, max-age=31536000, immutable',
    });
    expect(await answer.text()).toBe(SVG);
  });

  it('is kept for 5 minutes without its version, and then asked for by its tag', async () => {
    const first = await ask('/m/shop/logo');
    expect(first.headers.get('cache-control')).toBe('public, max-age=300');
    const etag = first.headers.get('etag') ?? '';
    const again = await ask('/m/shop/logo?v=0000', { headers: { 'if-none-match': `"x", W/${etag}` } });
    expect([again.status, again.headers.get('etag'), await again.text()]).toEqual([304, etag, '']);
    expect(again.headers.get('cache-control')).toBe('public, max-age=300');
  });

  it('has another URL and tag after a change', async () => {
    const before = await shownMerchant();
    await setProfile({ logo: Buffer.from(SVG.replace('h8', 'h7')) });
    const after = await shownMerchant();
    expect(after.logoUrl).not.toBe(before.logoUrl);
    const old = await ask(before.logoUrl);
    expect(old.headers.get('cache-control')).toBe('public, max-age=300');
    expect(await old.text()).toContain('h7');
  });

  it('answers 404 without a logo, for an unknown and for a disabled merchant', async () => {
    expect((await ask('/m/plain/logo')).status).toBe(404);
    expect((await ask('/m/ghost/logo')).status).toBe(404);
    await admin.kysely
      .updateTable('merchant')
      .set({ enabled: false })
      .where('merchant_id', '=', 'shop')
      .execute();
    expect((await ask('/m/shop/logo')).status).toBe(404);
    await admin.kysely
      .updateTable('merchant')
      .set({ enabled: true })
      .where('merchant_id', '=', 'shop')
      .execute();
    expect((await ask('/m/shop/logo', { method: 'POST' })).status).toBe(405);
  });
});
