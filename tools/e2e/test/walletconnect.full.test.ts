import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Page } from 'playwright-core';
import type { OrderAnswer } from '@opentill/contracts/http/answers';
import { devAccount } from '@opentill/devnets/evm/accounts';
import { sendTransaction } from '@opentill/devnets/evm/transactions';
import { startWalletConnectRelay, type WalletConnectRelay } from '@opentill/test-servers/walletconnect-relay';
import {
  startWalletConnectWallet,
  type WalletBehaviour,
  type WalletConnectWallet,
  type WalletRequest,
} from '@opentill/test-servers/walletconnect-wallet';
import { waitUntil } from '@opentill/testkit/wait-until';
import {
  examine,
  startCheckoutUnderTest,
  untilState,
  type CheckoutUnderTest,
} from '../src/checkout-under-test.ts';
import { HAS_BROWSER, type PageUnderTest } from '../src/open-browser.ts';

// The hosted page in a browser, and a wallet's app in this process. They reach each other by a relay only.

const CHAIN = 'eip155:11155111';
const CUSTOMER = devAccount(4);
const ACCOUNTS = [`${CHAIN}:${CUSTOMER.address}`];
const ORDER_CONTRACT = `JSON.parse(document.querySelector('#page-data').textContent).order.contractAddress`;
const REFUSED = { code: 5000, message: 'User rejected.' };

let relay: WalletConnectRelay;
let checkout: CheckoutUnderTest;
const wallets: WalletConnectWallet[] = [];

beforeAll(async () => {
  relay = await startWalletConnectRelay();
  const api = { WALLETCONNECT_PROJECT_ID: 'a'.repeat(32), WALLETCONNECT_RELAY_URL: relay.url };
  const services = ['api', 'scanner-evm', 'confirmation-tracker', 'webhook-sender'] as const;
  checkout = await startCheckoutUnderTest({ services, extraEnvironment: { api } });
}, 300_000);
afterAll(async () => {
  await Promise.all(wallets.map(async (wallet) => wallet.stop()));
  await checkout?.stop();
  await relay?.stop();
});

const button = (page: Page) => page.getByRole('button', { name: 'Pay with WalletConnect' });
const notice = (page: Page, text: string) => page.locator('[role=status]', { hasText: text }).first();

async function aWallet(behaviour: Partial<WalletBehaviour>): Promise<WalletConnectWallet> {
  const wallet = await startWalletConnectWallet(relay.url, { approve: () => ACCOUNTS, ...behaviour });
  wallets.push(wallet);
  return wallet;
}

/** Signs and sends what the page asks for. */
async function pay({ params }: WalletRequest): Promise<string> {
  const [{ to, data }] = params as [{ to: string; data: string }];
  const { rpcUrl } = checkout.gateway.chains.ETH_SEPOLIA;
  return sendTransaction({ rpcUrl, fromKey: CUSTOMER.privateKey, to, data });
}

/** `hosts`: origins that the page has contacted. */
async function openOrder(): Promise<PageUnderTest & { order: OrderAnswer; hosts: Set<string> }> {
  const order = await checkout.order('ETH_SEPOLIA', { amount: '12.345678' });
  const hosts = new Set<string>();
  const view = await checkout.browser.open(order.paymentUrl!, {
    async prepare(page) {
      page.on('request', (request) => hosts.add(new URL(request.url()).origin));
      page.on('websocket', (socket) => hosts.add(new URL(socket.url()).origin));
    },
  });
  return { ...view, order, hosts };
}

/** Presses the button, and returns what the code of the dialog contains. */
async function askForCode(page: Page): Promise<string> {
  await button(page).click();
  return (await page.locator('dialog a').getAttribute('href'))!;
}

describe.skipIf(!HAS_BROWSER)('WalletConnect', () => {
  it('pays exactly what the order asks for, and contacts no host but the relay', async () => {
    const { ETH_SEPOLIA: eth } = checkout.gateway.chains;
    const { order, hosts, ...view } = await openOrder();
    await button(view.page).waitFor();
    const api = new URL(checkout.gateway.gateway.apiUrl).origin;
    expect([...hosts]).toEqual([api]);
    const wallet = await aWallet({ answer: pay });
    const uri = await askForCode(view.page);
    expect(uri).toMatch(/^wc:[0-9a-f]{64}@2\?/);
    expect(await view.page.locator('dialog .code svg').count()).toBe(1);
    await examine(view, 'walletconnect');
    await wallet.pair(uri);
    await notice(view.page, 'Please do not pay a second time').waitFor();
    await untilState(view.page, 'paid');
    const contract = await view.page.evaluate<string>(ORDER_CONTRACT);
    const word = (text: string) => text.toLowerCase().padStart(64, '0');
    expect(wallet.requests).toMatchObject([
      {
        method: 'eth_sendTransaction',
        chainId: CHAIN,
        params: [
          {
            from: CUSTOMER.address,
            to: contract,
            value: '0x0',
            data: `0xa9059cbb${word(order.address!.slice(2))}${word((12_345_678).toString(16))}`,
          },
        ],
      },
    ]);
    expect(await eth.balance('USDT', order.address!)).toBe(12_345_678n);
    await waitUntil('the session has ended', () => wallet.ended.length === 1);
    expect([...hosts]).toEqual([api, relay.url]);
    expect(await view.page.evaluate('Object.keys(localStorage).join()')).not.toMatch(/wc@2|walletconnect/i);
    expect(view.complaints).toEqual([]);
    await view.page.close();
  }, 120_000);

  it('lets the payer cancel, and decline the payment in the wallet', async () => {
    const { order, ...view } = await openOrder();
    await askForCode(view.page);
    await view.page.getByRole('button', { name: 'Choose another way to pay' }).click();
    await view.page.locator('dialog').waitFor({ state: 'detached' });
    await button(view.page).waitFor();
    const unwilling = await aWallet({ answer: async () => Promise.reject(REFUSED as never) });
    await unwilling.pair(await askForCode(view.page));
    await notice(view.page, 'Not confirmed in Phone Wallet. Nothing was sent.').waitFor();
    await waitUntil('the session has ended', () => unwilling.ended.length === 1);
    expect(await button(view.page).isEnabled()).toBe(true);
    expect(unwilling.requests.length).toBe(1);
    expect(await checkout.gateway.chains.ETH_SEPOLIA.balance('USDT', order.address!)).toBe(0n);
    expect(view.complaints).toEqual([]);
    await view.page.close();
  }, 120_000);

  it('pays from a second wallet after the first one declined the connection', async () => {
    const { order, ...view } = await openOrder();
    const stranger = await aWallet({ approve: () => null });
    await stranger.pair(await askForCode(view.page));
    await notice(view.page, 'Not confirmed in WalletConnect. Nothing was sent.').waitFor();
    const wallet = await aWallet({ answer: pay });
    await wallet.pair(await askForCode(view.page));
    await untilState(view.page, 'paid');
    expect([stranger, wallet].map(({ requests }) => requests.length)).toEqual([0, 1]);
    expect(await checkout.gateway.chains.ETH_SEPOLIA.balance('USDT', order.address!)).toBe(12_345_678n);
    expect(view.complaints).toEqual([]);
    await view.page.close();
  }, 120_000);
});
