import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import type { OrderAnswer } from '@opentill/contracts/http/answers';
import { waitUntil } from '@opentill/testkit/wait-until';
import type { ChainUnderTest } from '../src/chain-under-test.ts';
import { findAccessibilityProblems } from '../src/find-accessibility-problems.ts';
import { injectWallet, type InjectedWallet } from '../src/injected-wallet.ts';
import { measureFirstPaint } from '../src/measure-first-paint.ts';
import { openBrowser, type BrowserUnderTest, type PageUnderTest } from '../src/open-browser.ts';
import { CHECKOUT } from '../src/read-markdown.ts';
import { runOpentill } from '../src/run-opentill.ts';
import { startGatewayUnderTest, type GatewayUnderTest } from '../src/start-gateway-under-test.ts';

/* The hosted page in a browser, from real orders of a whole gateway: states, languages, widths, wallets, outages. */

const LANGUAGES = ['en', 'ar', 'de', 'es', 'fa', 'fr', 'id', 'pt', 'ru', 'tr', 'vi', 'zh'];
const STATE_DEADLINE_MS = 30_000;

let test: GatewayUnderTest;
let eth: ChainUnderTest;
let bsc: ChainUnderTest;
let browser: BrowserUnderTest;

beforeAll(async () => {
  [test, browser] = await Promise.all([startGatewayUnderTest(), openBrowser()]);
  eth = test.chains.ETH_SEPOLIA;
  bsc = test.chains.BSC_TEST;
}, 300_000);
afterAll(async () => {
  await browser?.close();
  await test?.stop();
}, 60_000);

async function order(
  chain: ChainUnderTest,
  fields: Record<string, string | number> = {},
): Promise<OrderAnswer> {
  const { data } = await test.merchant.createCollection({
    orderId: test.newOrderId(),
    amount: '100',
    symbol: 'USDT',
    chain: chain.chain,
    description: 'Hoodie, size M',
    returnUrl: test.gateway.shopUrl,
    ...fields,
  });
  return data!;
}

const untilState = async (page: Page, state: string) =>
  page.waitForSelector(`main[data-state=${state}]`, { timeout: STATE_DEADLINE_MS });

/** Nothing is wider than the window, axe finds nothing, and a picture of it is kept, in both sizes and lights. */
async function examine(url: string, state: string): Promise<void> {
  for (const [name, options] of [
    ['phone', { phone: true }],
    ['phone-dark', { phone: true, dark: true }],
    ['wide', {}],
    ['narrow', { context: { viewport: { width: 320, height: 640 } } }],
  ] as const) {
    const view = await browser.open(url, options);
    await untilState(view.page, state);
    expect(await overflow(view.page)).toBe(0);
    expect({ name, problems: await findAccessibilityProblems(view.page) }).toEqual({ name, problems: [] });
    await view.keepPicture(`checkout-${state}-${name}`);
    expect(view.complaints).toEqual([]);
    await view.page.close();
  }
}

const overflow = async (page: Page) =>
  page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth');

describe('every state, from real orders', () => {
  it('waiting, partial, confirming, paid: followed by an open page, by the stream', async () => {
    const collection = await order(eth);
    const url = collection.paymentUrl!;
    const asked: string[] = [];
    const view = await browser.open(url, {
      prepare: async (page) =>
        void page.on('request', (request) => asked.push(new URL(request.url()).pathname)),
    });
    await untilState(view.page, 'waiting');
    await examine(url, 'waiting');
    await eth.pay({ to: collection.address, amount: '40' });
    await untilState(view.page, 'partial');
    expect(await view.page.innerText('.amount')).toBe('60.00 USDT');
    await examine(url, 'partial');
    await eth.mineByHand();
    await eth.pay({ to: collection.address, amount: '60' });
    await eth.mine();
    await untilState(view.page, 'confirming');
    const progress = view.page.locator('progress');
    expect(await progress.getAttribute('max')).toBe('3');
    await examine(url, 'confirming');
    await eth.mine();
    await waitUntil('a confirmation is shown', async () => (await progress.getAttribute('value')) === '2');
    await eth.mineByTime();
    await untilState(view.page, 'paid');
    await examine(url, 'paid');
    // All of it came by the stream: at most what was asked while it connected.
    expect(asked).toContain('/v1/order/events');
    expect(asked.filter((path) => /getOrderStatus|pay$/.test(path)).length).toBeLessThanOrEqual(2);
    expect(new Set(asked.map((path) => path.split('/')[1]))).toEqual(new Set(['checkout', 'v1']));
    await view.page.close();
  }, 240_000);

  it('expired, underpaid, late, and refused by an operator', async () => {
    const expiresIn = (await bsc.secondsAhead()) + 60;
    const [unpaid, partly, refused] = await Promise.all([
      order(bsc, { expiresIn }),
      order(bsc, { expiresIn }),
      order(bsc),
    ]);
    const view = await browser.open(unpaid.paymentUrl!);
    await bsc.pay({ to: partly.address, amount: '40' });
    await waitUntil('the part is seen', async () => {
      const { data } = await test.merchant.getOrderStatus(partly.orderId);
      return data?.status === 'PENDING';
    });
    await bsc.jump(120);
    await untilState(view.page, 'expired');
    await examine(unpaid.paymentUrl!, 'expired');
    await examine(partly.paymentUrl!, 'underpaid');
    await bsc.pay({ to: unpaid.address, amount: '100' });
    await untilState(view.page, 'late');
    await examine(unpaid.paymentUrl!, 'late');
    const { order_pk: orderPk } = await test.database.kysely
      .selectFrom('orders')
      .select('order_pk')
      .where('order_id', '=', refused.orderId)
      .executeTakeFirstOrThrow();
    const decided = await runOpentill(test.gateway, ['orders', 'refuse', orderPk, '--reason', 'A test']);
    expect({ code: decided.code, errors: decided.errors }).toEqual({ code: 0, errors: '' });
    const failed = await browser.open(refused.paymentUrl!);
    await untilState(failed.page, 'failed');
    await examine(refused.paymentUrl!, 'failed');
  }, 240_000);

  it('the end of the time, by the server’s clock whatever the browser’s says', async () => {
    const collection = await order(eth);
    const view = await browser.open(collection.paymentUrl!, {
      async prepare(page) {
        // A stream would tell the server's time, which does not pass with the page's.
        await page.route('**/v1/order/events*', async (route) => route.abort());
        await page.clock.install({ time: new Date('2001-01-01') });
      },
    });
    await view.page.waitForSelector('html.scripted');
    expect(await view.page.innerText('[role=timer]')).toMatch(/^(30:00|29:5\d)$/);
    await view.page.clock.runFor(65_000);
    expect(await view.page.innerText('[role=timer]')).toMatch(/^28:(5\d|4\d)$/);
    await view.page.clock.fastForward(30 * 60_000);
    await untilState(view.page, 'timeOver');
    expect(await view.page.locator('.code').count()).toBe(0);
    await view.keepPicture('checkout-timeOver');
    await view.page.close();
  }, 60_000);

  it('a link that is wrong, and one that names nothing', async () => {
    const { paymentUrl } = await order(eth);
    const view = await browser.open(paymentUrl!.replace(/sign=..../, 'sign=beef'), { phone: true });
    expect(await view.page.innerText('main')).toContain('This payment link is not valid');
    expect(await findAccessibilityProblems(view.page)).toEqual([]);
    await view.page.close();
  }, 60_000);
});

describe('languages', () => {
  it('twelve, right to left where they are written so, without anything too wide for a small phone', async () => {
    const { paymentUrl } = await order(eth);
    const headings = new Set<string>();
    for (const language of LANGUAGES) {
      const view = await browser.open(paymentUrl!, {
        context: { locale: language, viewport: { width: 320, height: 900 } },
      });
      await view.page.waitForSelector('html.scripted');
      const html = view.page.locator('html');
      expect(await html.getAttribute('lang')).toBe(language);
      expect(await html.getAttribute('dir')).toBe(['ar', 'fa'].includes(language) ? 'rtl' : 'ltr');
      headings.add(await view.page.innerText('h1'));
      expect({ language, overflow: await overflow(view.page) }).toEqual({ language, overflow: 0 });
      expect({ language, problems: await findAccessibilityProblems(view.page) }).toEqual({
        language,
        problems: [],
      });
      await view.keepPicture(`checkout-language-${language}`);
      expect(view.complaints).toEqual([]);
      await view.page.close();
    }
    expect(headings.size).toBe(12);
  }, 240_000);

  it('chosen by hand, with the keyboard', async () => {
    const { paymentUrl } = await order(eth);
    const { page } = await browser.open(paymentUrl!);
    await page.waitForSelector('html.scripted');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'Français' }).focus();
    await page.keyboard.press('Enter');
    await page.waitForSelector('html[lang=fr]');
    expect(await page.innerText('h1')).toBe('En attente de votre paiement');
    await page.close();
  }, 60_000);
});

describe('wallets in the browser', () => {
  const openWith = async (
    collection: OrderAnswer,
    chains: readonly { chainId: string; rpcUrl: string }[],
  ): Promise<PageUnderTest & { wallet: InjectedWallet }> => {
    let wallet: InjectedWallet | undefined;
    const view = await browser.open(collection.paymentUrl!, {
      async prepare(page) {
        wallet = await injectWallet(page, chains);
      },
    });
    return { ...view, wallet: wallet! };
  };
  const onBsc = () => ({ chainId: '0x61', rpcUrl: bsc.rpcUrl });
  const button = (page: Page) => page.getByRole('button', { name: 'Pay with Test Wallet' });
  const untilNotice = async (page: Page, text: string) =>
    page.locator('.notice', { hasText: text }).waitFor({ timeout: 10_000 });

  it('pay what is missing, and no second time after a reload', async () => {
    const collection = await order(bsc);
    await bsc.pay({ to: collection.address, amount: '40.5' });
    const view = await openWith(collection, [onBsc()]);
    await untilState(view.page, 'partial');
    await bsc.mineByHand();
    await button(view.page).click();
    await untilNotice(view.page, 'Please do not pay a second time');
    await view.page.reload();
    await untilNotice(view.page, 'Please do not pay a second time');
    expect(await button(view.page).isDisabled()).toBe(true);
    await view.keepPicture('checkout-wallet-sent');
    await bsc.mineByTime();
    await untilState(view.page, 'paid');
    expect(await bsc.balance('USDT', collection.address)).toBe(bsc.baseUnits('USDT', '100'));
    await view.page.close();
  }, 60_000);

  it('say when their owner refuses, and when they do not know the chain', async () => {
    const collection = await order(eth);
    const refused = await openWith(collection, [{ chainId: '0xaa36a7', rpcUrl: eth.rpcUrl }]);
    refused.wallet.refuse();
    await button(refused.page).click();
    await untilNotice(refused.page, 'Nothing was sent');
    expect(await button(refused.page).isEnabled()).toBe(true);
    const elsewhere = await openWith(collection, [onBsc()]);
    await button(elsewhere.page).click();
    await untilNotice(elsewhere.page, 'Please switch it to Ethereum Sepolia');
    await elsewhere.keepPicture('checkout-wallet-wrong-network');
    expect(elsewhere.wallet.calls.some(({ method }) => method === 'eth_sendTransaction')).toBe(false);
    await Promise.all([refused.page.close(), elsewhere.page.close()]);
  }, 60_000);
});

describe('what can go wrong round it', () => {
  it('copies the exact amount and address', async () => {
    const collection = await order(eth, { amount: '12.345678' });
    const view = await browser.open(collection.paymentUrl!, {
      context: { permissions: ['clipboard-read', 'clipboard-write'] },
    });
    const copied = async (name: string) => {
      await view.page.getByRole('button', { name }).click();
      await view.page.locator('.copy[data-said]').first().waitFor();
      return view.page.evaluate<string>('navigator.clipboard.readText()');
    };
    expect(await copied('Copy amount')).toBe('12.345678');
    expect(await copied('Copy address')).toBe(collection.address);
    await view.page.close();
  }, 60_000);

  it('works without scripts, to the end', async () => {
    const collection = await order(eth);
    const view = await browser.open(collection.paymentUrl!, {
      context: { javaScriptEnabled: false },
      phone: true,
    });
    expect(await view.page.locator('code.address').textContent()).toBe(collection.address);
    await view.keepPicture('checkout-without-scripts');
    await view.page.getByText('Address only').click();
    expect(await view.page.locator('.code.bare').isVisible()).toBe(true);
    expect(await view.page.locator('.code.qr').isVisible()).toBe(false);
    await eth.pay({ to: collection.address, amount: '100' });
    await untilState(view.page, 'paid');
    await view.page.close();
  }, 60_000);

  it('outlives an outage of the API, and says so', async () => {
    const collection = await order(eth);
    const view = await browser.open(collection.paymentUrl!);
    await view.page.waitForSelector('html.scripted');
    await test.gateway.stopService('api', 'SIGKILL');
    await view.page.locator('.offline', { hasText: 'No connection' }).waitFor({ timeout: 15_000 });
    expect(await findAccessibilityProblems(view.page)).toEqual([]);
    await view.keepPicture('checkout-offline');
    await eth.pay({ to: collection.address, amount: '100' });
    await test.gateway.startService('api');
    await untilState(view.page, 'paid');
    expect(await view.page.locator('.offline', { hasText: 'No connection' }).count()).toBe(0);
    await view.page.close();
  }, 120_000);
});

describe('on a static host', () => {
  let folder: string;
  let host: Server;
  let hostUrl: string;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'opentill-page-'));
    const main = join(CHECKOUT, 'services/checkout/dist/main.js');
    await promisify(execFile)(process.execPath, [main, '--api', test.gateway.apiUrl, '--out', folder]);
    const types: Record<string, string> = { '.html': 'text/html', '.js': 'text/javascript' };
    host = createServer((request, response) => {
      const { pathname } = new URL(request.url ?? '/', 'http://host');
      const file = pathname === '/' ? 'index.html' : pathname.slice(1);
      try {
        const body = readFileSync(join(folder, file));
        response.setHeader('content-type', types[extname(file)] ?? 'application/octet-stream').end(body);
      } catch {
        response.writeHead(404).end();
      }
    }).listen(0, '127.0.0.1');
    await waitUntil('the host listens', () => host.listening);
    hostUrl = `http://localhost:${(host.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    host.closeAllConnections();
    host.close();
    rmSync(folder, { recursive: true });
  });
  const at = ({ paymentUrl }: OrderAnswer, more = '') => `${hostUrl}/${new URL(paymentUrl!).search}${more}`;

  it('the same page follows an order by the public API, in the browser’s language', async () => {
    const collection = await order(eth);
    const view = await browser.open(at(collection), { phone: true, context: { locale: 'fa-IR' } });
    await untilState(view.page, 'waiting');
    expect(await view.page.locator('html').getAttribute('dir')).toBe('rtl');
    expect(await view.page.locator('code.address').textContent()).toBe(collection.address);
    await eth.pay({ to: collection.address, amount: '100' });
    await untilState(view.page, 'paid');
    await view.keepPicture('checkout-static-paid');
    expect(view.complaints).toEqual([]);
    await view.page.close();
    const wrong = await browser.open(at(collection).replace(/sign=..../, 'sign=beef'));
    await wrong.page.locator('h1', { hasText: 'Link not valid' }).waitFor();
    await wrong.page.close();
  }, 60_000);

  it.each(['TRON', 'SUI'])(
    'draws an order of %s',
    async (chain) => {
      const collection = await order(eth);
      const view = await browser.open(at(collection), {
        phone: true,
        async prepare(page) {
          await page.route('**/v1/order/events*', (route) => route.abort());
          await page.route('**/v1/order/{pay,getOrderStatus}*', async (route) => {
            const answer = await route.fetch();
            const { data, ...rest } = (await answer.json()) as { data: object };
            await route.fulfill({ response: answer, json: { ...rest, data: { ...data, chain } } });
          });
        },
      });
      await untilState(view.page, 'waiting');
      expect(await view.page.locator('.code').count()).toBe(1);
      expect(await findAccessibilityProblems(view.page)).toEqual([]);
      await view.keepPicture(`checkout-${chain.toLowerCase()}`);
      await view.page.close();
    },
    60_000,
  );
});

it('is painted within a second on a slow phone, and nothing moves afterwards', async () => {
  const collection = await order(eth);
  const { firstPaintMs, layoutShift, bytes, requests } = await measureFirstPaint(collection.paymentUrl!);
  process.stderr.write(
    `checkout on a slow phone: first paint ${Math.round(firstPaintMs)} ms, layout shift ${layoutShift}, ` +
      `${bytes} bytes in ${requests} requests\n`,
  );
  expect(firstPaintMs).toBeLessThan(1_000);
  expect(layoutShift).toBeLessThan(0.01);
  expect(bytes).toBeLessThan(60_000);
}, 60_000);
