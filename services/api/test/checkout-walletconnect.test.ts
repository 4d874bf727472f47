import type { IncomingMessage } from 'node:http';
import { readPageAssets } from '@opentill/checkout/page-assets';
import type { WalletConnectSettings } from '@opentill/checkout/view/render-document';
import { PLAIN_THEME } from '@opentill/checkout/view/theme';
import { expect, test } from 'vitest';
import { anOrder } from '../../checkout/test/support/an-order.ts';
import { createCheckoutPage } from '../src/checkout-page.ts';

const SETTINGS = { projectId: 'abc', relayUrl: 'wss://relay.example' };
const REQUEST = { url: '/checkout', headers: {} } as IncomingMessage;

const assets = readPageAssets();

async function pageWith(walletConnect: WalletConnectSettings | undefined, order = anOrder()) {
  const design = { theme: PLAIN_THEME, logo: null, assets, walletConnect };
  const page = createCheckoutPage(design, 'https://pay.example/checkout');
  const { headers, body } = await page.order(REQUEST, new URLSearchParams(), order);
  const served = assets.walletConnect.map(({ name }) => page.asset(REQUEST, name)?.status);
  const notice = page.notice(REQUEST, 404, 'notFound');
  const policyOf = (given: typeof headers) => String(given?.['Content-Security-Policy']);
  const [policy, noticePolicy] = [policyOf(headers), policyOf(notice.headers)];
  return { policy, noticePolicy, html: String(body), served: new Set(served) };
}

test('a page without WalletConnect has no trace of it', async () => {
  const { policy, html, served } = await pageWith(undefined);
  expect(policy).toContain("connect-src 'self';");
  expect(html).not.toMatch(/walletconnect/i);
  expect(served).toEqual(new Set([undefined]));
});

test('a page with WalletConnect may contact the relay, and serves its code', async () => {
  const { policy, noticePolicy, html, served } = await pageWith(SETTINGS);
  expect(policy).toContain("connect-src 'self' wss://relay.example;");
  expect(noticePolicy).not.toContain('relay');
  expect(html).toContain('"walletConnect":{"projectId":"abc","relayUrl":"wss://relay.example"}');
  expect(served).toEqual(new Set([200]));
});

test('an order on TRON may not contact the relay', async () => {
  const { policy } = await pageWith(SETTINGS, anOrder({ chain: 'TRON_TEST' }));
  expect(policy).toContain("connect-src 'self' https://*.trongrid.io;");
});
