import { expect, it } from 'vitest';
import { findAccessibilityProblems } from '../src/find-accessibility-problems.ts';
import type { BrowserUnderTest } from '../src/open-browser.ts';
import type { RunningGateway } from '../src/running-gateway.ts';
import type { GatewayUnderTest } from '../src/start-gateway-under-test.ts';
import { WAIT_MS } from '../src/time-limits.ts';

export function describeDemoShop(
  under: () => GatewayUnderTest<RunningGateway>,
  browser: () => BrowserUnderTest,
): void {
  it('the demo shop sells a product that its test customer pays', async () => {
    const view = await browser().open(under().gateway.shopUrl);
    const { page } = view;
    await view.keepPicture('shop-1-window');
    expect(await findAccessibilityProblems(page)).toEqual([]);
    await view.leavePage(async () => page.getByRole('link', { name: 'Buy Mug' }).click());
    await page.locator('select').selectOption('BSC_TEST/USDC');
    await view.keepPicture('shop-2-cart');
    await view.leavePage(async () => page.getByRole('button', { name: 'Check out' }).click());
    expect(await page.innerText('main')).toContain('12.90 USDC');
    const paymentUrl = await page.getByRole('link', { name: 'Open the payment page' }).getAttribute('href');
    const checkout = await browser().open(paymentUrl!);
    await checkout.page.waitForSelector('main[data-status=INIT]');
    expect(await checkout.page.innerText('main')).toContain('12.90 USDC');
    await view.leavePage(async () =>
      page.getByRole('button', { name: 'Demo: pay as a test customer' }).click(),
    );
    await view.keepPicture('shop-3-paid');
    await page.waitForSelector('[data-status=ORDER_SUCCESS]', { timeout: WAIT_MS });
    await view.keepPicture('shop-4-success');
    expect(await findAccessibilityProblems(page)).toEqual([]);
    await checkout.page.waitForSelector('main[data-status=SUCCESS]', { timeout: WAIT_MS });
    await page.goto(`${under().gateway.shopUrl}/callbacks`);
    await page.locator('main summary').first().click();
    await view.keepPicture('shop-5-callbacks');
    expect(await page.innerText('main')).toContain('ORDER_SUCCESS');
    expect(await findAccessibilityProblems(page)).toEqual([]);
    expect([...view.complaints, ...checkout.complaints]).toEqual([]);
    await Promise.all([page.close(), checkout.page.close()]);
  });

  it('the demo shop pays out on a page of its own, and shows the devnet as a page', async () => {
    const view = await browser().open(`${under().gateway.shopUrl}/pay-out`);
    const { page } = view;
    await view.leavePage(async () => page.getByRole('button', { name: 'Send' }).click());
    await page.waitForSelector('[data-status=ORDER_SUCCESS]', { timeout: WAIT_MS });
    await view.keepPicture('shop-6-pay-out');
    expect(await findAccessibilityProblems(page)).toEqual([]);
    await page.goto(`${under().gateway.shopUrl}/devnet`);
    await view.keepPicture('shop-7-devnet');
    expect(await page.locator('details[open]').count()).toBe(0);
    expect(await findAccessibilityProblems(page)).toEqual([]);
    expect(view.complaints).toEqual([]);
    await page.close();
  });
}
