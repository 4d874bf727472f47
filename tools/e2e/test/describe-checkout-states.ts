import { describe, expect, it } from 'vitest';
import { waitUntil } from '@opentill/testkit/wait-until';
import {
  examine,
  examineUrl,
  EXPLORER,
  untilState,
  type CheckoutUnderTest,
} from '../src/checkout-under-test.ts';
import { runOpentill } from '../src/run-opentill.ts';

export function describeCheckoutStates(under: () => CheckoutUnderTest): void {
  const chains = () => under().gateway.chains;

  describe('checkout states', () => {
    it('follows an order from waiting to paid over the event stream', async () => {
      const { ETH_SEPOLIA: eth } = chains();
      const { browser } = under();
      const collection = await under().order('ETH_SEPOLIA');
      const url = collection.paymentUrl!;
      const requestedPaths: string[] = [];
      const view = await browser.open(url, {
        prepare: async (page) =>
          void page.on('request', (request) => requestedPaths.push(new URL(request.url()).pathname)),
      });
      await untilState(view.page, 'waiting');
      await examineUrl(browser, url, 'waiting');
      await eth.pay({ to: collection.address, amount: '40' });
      await untilState(view.page, 'partial');
      expect(await view.page.innerText('.amount')).toBe('60.00 USDT');
      await examineUrl(browser, url, 'partial');
      await eth.mineByHand();
      const txid = await eth.pay({ to: collection.address, amount: '60' });
      await eth.mine();
      await untilState(view.page, 'confirming');
      const progress = view.page.locator('progress');
      expect(await progress.getAttribute('max')).toBe('3');
      await examineUrl(browser, url, 'confirming');
      await eth.mine();
      await waitUntil(
        'the second confirmation is shown',
        async () => (await progress.getAttribute('value')) === '2',
      );
      await eth.mineByTime();
      await untilState(view.page, 'paid');
      await examineUrl(browser, url, 'paid');
      const explorer = view.page.getByRole('link', { name: 'View it in the block explorer' });
      expect(await explorer.getAttribute('href')).toBe(EXPLORER.replace('{txid}', txid));
      expect(await explorer.getAttribute('rel')).toBe('noreferrer noopener');
      const back = view.page.getByRole('link', { name: 'Back to the shop' });
      expect(await back.getAttribute('href')).toContain(under().gateway.gateway.shopUrl);
      // The page polls only until the stream is connected.
      expect(requestedPaths).toContain('/v1/order/events');
      expect(requestedPaths.filter((path) => /getOrderStatus|pay$/.test(path)).length).toBeLessThanOrEqual(2);
      expect(new Set(requestedPaths.map((path) => path.split('/')[1]))).toEqual(
        new Set(['checkout', 'm', 'v1']),
      );
      await view.page.close();
    }, 300_000);

    it("shows the price in the shop's currency, and reports it with its rate", async () => {
      const { ETH_SEPOLIA: eth } = chains();
      const { browser, gateway } = under();
      const orderId = gateway.newOrderId();
      const fields = { orderId, price: '49.90', currency: 'EUR', symbol: 'USDT', chain: 'ETH_SEPOLIA' };
      const create = async () => (await gateway.merchant.createCollection(fields)).data;
      await waitUntil('rates has stored its first rate', async () => (await create()) !== null);
      const collection = (await create())!;
      // 49.90 / 0.92 of service-environments.ts
      const pricing = { amount: '54.24', currency: 'EUR', price: '49.90', rate: '0.92' };
      expect(collection).toMatchObject(pricing);
      const view = await browser.open(collection.paymentUrl!);
      await untilState(view.page, 'waiting');
      expect(await view.page.innerText('.amount')).toBe('54.24 USDT');
      expect(await view.page.innerText('.worth')).toBe('49.90\u00a0EUR');
      await examine(view, 'priced');
      await eth.pay({ to: collection.address, amount: '54.24' });
      await untilState(view.page, 'paid');
      await examine(view, 'priced-paid');
      expect((await gateway.merchant.status(orderId)).data).toMatchObject({ status: 'SUCCESS', ...pricing });
      await view.page.close();
    }, 300_000);

    it('does not ask for a second payment after a reorganisation', async () => {
      const { ETH_SEPOLIA: eth } = chains();
      const collection = await under().order('ETH_SEPOLIA');
      const view = await under().browser.open(collection.paymentUrl!);
      await eth.mineByHand();
      const payments: string[] = [];
      for (const amount of ['40', '60']) {
        const txid = await eth.pay({ to: collection.address, amount });
        await eth.mine();
        payments.push(await eth.rawTransaction(txid));
      }
      await untilState(view.page, 'confirming');
      await eth.reorg(2);
      await eth.mine();
      await untilState(view.page, 'reorganised');
      const paymentPrompts = view.page.locator('.code, .address, .open-wallet');
      expect(await paymentPrompts.count()).toBe(0);
      await examineUrl(under().browser, collection.paymentUrl!, 'reorganised');
      const remined = payments.map((rawTransaction, blockOffset) => ({ rawTransaction, blockOffset }));
      await eth.reorg(1, remined.slice(0, 1));
      await eth.mine();
      await view.page.getByText('40.00 USDT').waitFor();
      expect(await view.page.getAttribute('main', 'data-state')).toBe('reorganised');
      expect(await paymentPrompts.count()).toBe(0);
      await eth.reorg(2, remined);
      await eth.mineByTime();
      await untilState(view.page, 'paid');
      await view.page.close();
    });

    it('warns shortly before expiry and removes the wallet buttons', async () => {
      const { paymentUrl } = await under().order('ETH_SEPOLIA', { expiresIn: 75 });
      const view = await under().browser.open(paymentUrl!);
      const wallet = view.page.locator('.open-wallet');
      await wallet.waitFor({ state: 'attached' });
      await untilState(view.page, 'tooLate', 60_000);
      expect(await view.page.locator('.open-wallet, .payment, [role=timer]').count()).toBe(0);
      expect(await view.page.locator('.step .button').allInnerTexts()).toEqual(['Start again in the shop']);
      await examine(view, 'running-out');
      await view.page.close();
    });

    it('shows expired, underpaid, late and refused orders', async () => {
      const { BSC_TEST: bsc } = chains();
      const { browser, gateway } = under();
      const expiresIn = (await bsc.secondsAhead()) + 60;
      const [unpaid, partly, refused] = await Promise.all([
        under().order('BSC_TEST', { expiresIn }),
        under().order('BSC_TEST', { expiresIn }),
        under().order('BSC_TEST'),
      ]);
      const view = await browser.open(unpaid.paymentUrl!);
      await bsc.pay({ to: partly.address, amount: '40' });
      await waitUntil('the partial payment is seen', async () => {
        const { data } = await gateway.merchant.getOrderStatus(partly.orderId);
        return data?.status === 'PENDING';
      });
      await bsc.jump(120);
      await untilState(view.page, 'expired');
      await examineUrl(browser, unpaid.paymentUrl!, 'expired');
      await examineUrl(browser, partly.paymentUrl!, 'underpaid');
      await bsc.pay({ to: unpaid.address, amount: '100' });
      await untilState(view.page, 'late');
      await examineUrl(browser, unpaid.paymentUrl!, 'late');
      const { order_pk: orderPk } = await gateway.database.kysely
        .selectFrom('orders')
        .select('order_pk')
        .where('order_id', '=', refused.orderId)
        .executeTakeFirstOrThrow();
      const decided = await runOpentill(gateway.gateway, ['orders', 'refuse', orderPk, '--reason', 'A test']);
      expect({ code: decided.code, errors: decided.errors }).toEqual({ code: 0, errors: '' });
      const failed = await browser.open(refused.paymentUrl!);
      await untilState(failed.page, 'failed');
      await examineUrl(browser, refused.paymentUrl!, 'failed');
      await Promise.all([view.page.close(), failed.page.close()]);
    }, 300_000);

    it('fits a large amount, a long description and a long order id', async () => {
      const { paymentUrl } = await under().order('ETH_SEPOLIA', {
        orderId: `order-${'x'.repeat(58)}`,
        amount: '123456.789012',
        description: `Twelve hoodies in size M, https://shop.example/${'a-very-long-path/'.repeat(4)}`,
      });
      const view = await under().browser.open(paymentUrl!);
      await untilState(view.page, 'waiting');
      await examine(view, 'long');
      await view.page.close();
    });

    it('shows payments that do not count, and the merchant, while it polls', async () => {
      const { paymentUrl } = await under().order('ETH_SEPOLIA');
      const unmatched = ['WRONG_TOKEN', 'WRONG_CHAIN', 'LATE'].map((reason) => ({
        chain: 'BSC_TEST',
        symbol: 'USDC',
        amount: '49.90',
        txid: `0x${'ab'.repeat(32)}`,
        explorerUrl: EXPLORER,
        reason,
      }));
      const merchant = {
        name: 'Acme Cloud',
        logoUrl: null,
        accentColor: '#533afd',
        supportUrl: 'https://acme.example/help',
        supportEmail: null,
        shopUrl: null,
      };
      const view = await under().browser.open(paymentUrl!, {
        async prepare(page) {
          await page.route('**/v1/order/events*', async (route) => route.abort());
          await page.route('**/v1/order/getOrderStatus*', async (route) =>
            route.fulfill({ json: { code: 200, msg: 'success', data: { status: 'INIT', unmatched } } }),
          );
          await page.route('**/v1/order/pay*', async (route) => {
            const answer = await route.fetch();
            const { data, ...rest } = (await answer.json()) as { data: object };
            await route.fulfill({
              response: answer,
              json: { ...rest, data: { ...data, merchant, unmatched } },
            });
          });
        },
      });
      await view.page.getByText('49.90 USDC has arrived. This order expects USDT.').waitFor();
      expect(await view.page.innerText('h1')).toBe('Payment to Acme Cloud');
      expect(await view.page.innerText('.brand')).toBe('Acme Cloud');
      await examine({ ...view, complaints: [] }, 'unmatched');
      const means = view.page.locator('.payment, [role=timer]');
      expect(await means.count()).toBe(0);
      await view.page.getByRole('link', { name: 'Pay 100.00 USDT on' }).click();
      expect(await means.count()).toBe(2);
      await examine({ ...view, complaints: [] }, 'unmatched-open');
      await view.page.close();
    }, 60_000);

    it("counts down by the server's clock when the browser's clock is wrong", async () => {
      const collection = await under().order('ETH_SEPOLIA');
      const view = await under().browser.open(collection.paymentUrl!, {
        async prepare(page) {
          // Blocks updates: they contain the server's real time, which does not advance with the page's fake clock.
          await page.route('**/v1/order/events*', async (route) => route.abort());
          await page.route('**/v1/order/getOrderStatus*', async (route) =>
            route.fulfill({ json: { code: 200, msg: 'success', data: { status: 'INIT' } } }),
          );
          await page.clock.install({ time: new Date('2001-01-01') });
        },
      });
      await view.page.waitForSelector('html.scripted');
      expect(await view.page.innerText('[role=timer]')).toMatch(/^(30:00|29:5\d)$/);
      await view.page.clock.runFor(65_000);
      expect(await view.page.innerText('[role=timer]')).toMatch(/^28:(5\d|4\d)$/);
      await view.page.clock.runFor(29 * 60_000);
      await untilState(view.page, 'timeOver');
      expect(await view.page.locator('.code, [data-wallet], .open-wallet').count()).toBe(0);
      await view.page.clock.resume();
      await examine({ ...view, complaints: [] }, 'timeOver');
      await view.page.close();
    });
  });
}
