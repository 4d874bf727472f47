import type { IncomingMessage } from 'node:http';
import { readPageAssets } from '@opentill/checkout/page-assets';
import type { CheckoutOrder } from '@opentill/checkout/view/checkout-order';
import type { WalletConnectSettings } from '@opentill/checkout/view/render-document';
import { PLAIN_THEME } from '@opentill/checkout/view/theme';
import { expect, test } from 'vitest';
import { createCheckoutPage } from '../src/checkout-page.ts';

const SETTINGS = { projectId: 'abc', relayUrl: 'wss://relay.example' };
const REQUEST = { url: '/checkout', headers: {} } as IncomingMessage;
const ORDER: CheckoutOrder = {
  orderId: 'order-1',
  chain: 'ETH_SEPOLIA',
  chainName: 'Ethereum Sepolia',
  symbol: 'USDT',
  contractAddress: '0x5FbDB2315678afecb367f032d93F642f64180aa3',
  decimals: 6,
  address: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
  amount: '250.00',
  actualAmount: null,
  status: 'INIT',
  reason: null,
  receivedAmount: '0.00',
  txid: null,
  explorerUrl: null,
  explorerTxUrl: null,
  transactionTime: null,
  confirmedNum: 0,
  requiredConfirmations: 3,
  returnUrl: null,
  description: null,
  serverTime: 1_800_000_000,
  expiredTime: 1_800_001_800,
};

const assets = readPageAssets();

async function pageWith(walletConnect: WalletConnectSettings | undefined, order = ORDER) {
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
  const { policy } = await pageWith(SETTINGS, { ...ORDER, chain: 'TRON_TEST' });
  expect(policy).toContain("connect-src 'self' https://*.trongrid.io;");
});
