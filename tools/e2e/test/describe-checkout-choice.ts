import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import type { Page } from 'playwright-core';
import { waitUntil } from '@opentill/testkit/wait-until';
import { examine, examineUrl, untilState, type CheckoutUnderTest } from '../src/checkout-under-test.ts';
import { CONFIRMING, CREATED, PAID, untilStory } from '../src/stories.ts';

const PRICE = { price: '49.90', currency: 'EUR' };

export function describeCheckoutChoice(under: () => CheckoutUnderTest): void {
  describe('the choice of a coin', () => {
    /** Of 49.90 EUR. Two coins share a chain, and two a contract address. */
    async function anOpenOrder(): Promise<{ readonly orderId: string; readonly url: string }> {
      const { gateway } = under();
      const accept = [
        { chain: 'TRON_TEST', symbol: 'USDT' },
        { chain: 'BSC_TEST', symbol: 'USDC' },
        { chain: 'ETH_SEPOLIA', symbol: 'USDT' },
        { chain: 'ETH_SEPOLIA', symbol: 'USDC' },
      ];
      let made: { readonly orderId: string; readonly url: string } | undefined;
      await waitUntil('there are rates, and all chains are ready', async () => {
        const orderId = gateway.newOrderId();
        const { data } = await gateway.merchant.createCollection({ orderId, ...PRICE, accept });
        const { options } = (data ?? {}) as { readonly options?: readonly object[] };
        if (options?.length === accept.length) made = { orderId, url: data!.paymentUrl! };
        return made !== undefined;
      });
      return made!;
    }
    /** What the ledger credits the merchant for the order. */
    async function creditsOf(orderId: string) {
      const { rows } = await sql<{ chain: string; symbol: string; amount: bigint }>`
        select a.chain, a.symbol, -p.amount as amount from orders o join ledger_transaction t using (order_pk)
          join ledger_posting p using (ledger_tx_id) join ledger_account a using (account_id)
        where o.order_id = ${orderId} and a.kind = 'MERCHANT'`.execute(under().gateway.database.kysely);
      return rows;
    }
    const option = (page: Page, chain: string, symbol: string) =>
      page.locator(`button[value="${chain} ${symbol}"]`);

    it('is made by keyboard, changed, followed by another tab, and paid', async () => {
      const { browser, gateway } = under();
      const { ETH_SEPOLIA: eth } = gateway.chains;
      const { orderId, url } = await anOpenOrder();
      const view = await browser.open(url);
      const { page } = view;
      await untilState(page, 'choose');
      await page.waitForSelector('html.scripted');
      expect(await page.innerText('.amount')).toBe('49.90 EUR');
      await examineUrl(browser, url, 'choose');
      const other = await browser.open(url);

      await option(page, 'TRON_TEST', 'USDT').focus();
      await page.keyboard.press('Enter');
      await untilState(page, 'waiting');
      expect(await page.getAttribute('main', 'data-chain')).toBe('TRON_TEST');
      expect(await page.evaluate('document.activeElement.id')).toBe('pay');
      await untilState(other.page, 'waiting');
      expect(await other.page.innerText('.network')).toContain('TRON');

      await page.getByRole('link', { name: 'Choose another way to pay' }).focus();
      await page.keyboard.press('Enter');
      await untilState(page, 'choose');
      expect(await page.evaluate('document.activeElement.id')).toBe('choose');
      expect(await page.locator('.option[aria-current]').innerText()).toContain('TRON');
      await examine(view, 'choose-again');
      await option(page, 'ETH_SEPOLIA', 'USDC').focus();
      await page.keyboard.press('Enter');
      await untilState(page, 'waiting');
      expect(await page.innerText('.amount')).toMatch(/USDC$/);
      expect(await page.innerText('.step')).toContain('What you have sent to an address shown before');
      await examine(view, 'chosen');
      await other.page.waitForSelector('main[data-chain=ETH_SEPOLIA]');

      const { data } = await gateway.merchant.pay(orderId);
      await eth.pay({ to: data!.address!, amount: data!.amount, symbol: 'USDC' });
      await untilState(page, 'paid');
      await untilState(other.page, 'paid');
      const { amount, rate } = data!;
      const paid = { chain: 'ETH_SEPOLIA', symbol: 'USDC', amount, actualAmount: amount, rate, ...PRICE };
      expect((await gateway.merchant.status(orderId)).data).toMatchObject({ status: 'SUCCESS', ...paid });
      await untilStory(gateway.receiver, { orderId }, [CREATED, CONFIRMING, PAID]);
      expect(gateway.receiver.of(orderId).at(-1)?.data).toMatchObject(paid);
      expect(await creditsOf(orderId)).toEqual([
        { chain: 'ETH_SEPOLIA', symbol: 'USDC', amount: eth.baseUnits('USDC', amount) },
      ]);
      expect(await gateway.findProblems()).toEqual([]);
      expect([view.complaints, other.complaints]).toEqual([[], []]);
      await other.page.close();

      const { url: next } = await anOpenOrder();
      await page.goto(next);
      await page.getByText('Chosen last time').waitFor();
      expect(await option(page, 'ETH_SEPOLIA', 'USDC').innerText()).toContain('Chosen last time');
      await page.close();
    }, 300_000);

    it('needs no script', async () => {
      const { url } = await anOpenOrder();
      const view = await under().browser.open(url, { context: { javaScriptEnabled: false } });
      await option(view.page, 'TRON_TEST', 'USDT').click();
      await untilState(view.page, 'waiting');
      expect(await view.page.innerText('.network')).toContain('TRON');
      await view.page.getByRole('link', { name: 'Choose another way to pay' }).click();
      await untilState(view.page, 'choose');
      await option(view.page, 'ETH_SEPOLIA', 'USDC').click();
      await untilState(view.page, 'waiting');
      expect(await view.page.innerText('.amount')).toMatch(/USDC$/);
      expect(view.page.url()).toBe(url);
      expect(view.complaints).toEqual([]);
      await view.page.close();
    });
  });
}
