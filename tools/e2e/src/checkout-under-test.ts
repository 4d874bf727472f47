import type { OrderAnswer } from '@opentill/contracts/http/answers';
import { expect } from 'vitest';
import type { Page } from 'playwright-core';
import { findAccessibilityProblems } from './find-accessibility-problems.ts';
import { openBrowser, type BrowserUnderTest, type PageUnderTest } from './open-browser.ts';
import { startGatewayUnderTest, type GatewayUnderTest } from './start-gateway-under-test.ts';

export interface CheckoutUnderTest {
  readonly gateway: GatewayUnderTest;
  readonly browser: BrowserUnderTest;
  /** Creates an order of 100 USDT, unless `fields` override it. */
  order(chain: string, fields?: Readonly<Record<string, string | number>>): Promise<OrderAnswer>;
  stop(): Promise<void>;
}

/** Explorer URL of the test networks. No server answers there. */
export const EXPLORER = 'https://explorer.example/tx/{txid}';
const STATE_DEADLINE_MS = 30_000;

export async function startCheckoutUnderTest(
  options: Parameters<typeof startGatewayUnderTest>[0] = {},
): Promise<CheckoutUnderTest> {
  const [gateway, browser] = await Promise.all([
    startGatewayUnderTest({ networkChanges: { explorerTxUrl: EXPLORER }, ...options }),
    openBrowser(),
  ]);
  return {
    gateway,
    browser,
    async order(chain, fields = {}) {
      const { data, ...refusal } = await gateway.merchant.createCollection({
        orderId: gateway.newOrderId(),
        amount: '100',
        symbol: 'USDT',
        chain,
        description: 'Hoodie, size M',
        returnUrl: gateway.gateway.shopUrl,
        ...fields,
      });
      if (data === null || data === undefined) throw new Error(`no order: ${JSON.stringify(refusal)}`);
      return data;
    },
    async stop() {
      await browser.close();
      await gateway.stop();
    },
  };
}

export async function untilState(page: Page, state: string, timeout = STATE_DEADLINE_MS): Promise<void> {
  await page.waitForSelector(`main[data-state=${state}]`, { timeout });
}

/** Pixels by which the page is wider than its window. */
export async function overflow(page: Page): Promise<number> {
  return page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth');
}

const LOOKS = [
  { look: 'phone', size: { width: 390, height: 844 }, colorScheme: 'light' },
  { look: 'phone-dark', size: { width: 390, height: 844 }, colorScheme: 'dark' },
  { look: 'narrow', size: { width: 320, height: 640 }, colorScheme: 'light' },
  { look: 'wide-dark', size: { width: 1100, height: 850 }, colorScheme: 'dark' },
  { look: 'wide', size: { width: 1100, height: 850 }, colorScheme: 'light' },
] as const;

/**
 * Checks a page in all sizes and both colour schemes: no overflow, no accessibility problem, no complaint. Keeps a
 * picture of each as `checkout-<name>-<look>.png`.
 */
export async function examine(view: PageUnderTest, name: string): Promise<void> {
  const found: object[] = [];
  for (const { look, size, colorScheme } of LOOKS) {
    await view.page.setViewportSize(size);
    await view.page.emulateMedia({ colorScheme });
    const problems = await findAccessibilityProblems(view.page);
    await view.keepPicture(`checkout-${name}-${look}`, { whole: true });
    found.push({ look, overflow: await overflow(view.page), problems });
  }
  expect(found).toEqual(LOOKS.map(({ look }) => ({ look, overflow: 0, problems: [] })));
  expect(view.complaints).toEqual([]);
}

export async function examineUrl(browser: BrowserUnderTest, url: string, state: string): Promise<void> {
  for (const [name, address] of [
    [state, url],
    [`${state}-rtl`, `${url}&lang=ar`],
  ] as const) {
    const view = await browser.open(address);
    await untilState(view.page, state);
    await examine(view, name);
    await view.page.close();
  }
}
