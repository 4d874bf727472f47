import { describe, expect, it } from 'vitest';
import { waitUntil } from '@opentill/testkit/wait-until';
import { examine, untilState, type CheckoutUnderTest } from '../src/checkout-under-test.ts';

export function describeCheckoutLinks(under: () => CheckoutUnderTest): void {
  describe('payment links', () => {
    it('is paid three times by three customers, and is sold out then', async () => {
      const { gateway, browser } = under();
      const { ETH_SEPOLIA: eth } = gateway.chains;
      const linkId = gateway.newOrderId();
      const { data: link } = await gateway.merchant.link('create', {
        linkId,
        amount: '12.50',
        symbol: 'USDT',
        chain: 'ETH_SEPOLIA',
        description: 'Ticket to the summer fair',
        stock: 3,
      });
      const url = link!.url;
      const orderIds: string[] = [];
      for (let customer = 1; customer <= 3; customer += 1) {
        const view = await browser.open(url, { context: { javaScriptEnabled: customer !== 2 } });
        if (customer === 1) await examine(view, 'link');
        await view.leavePage(() => view.page.getByRole('button', { name: 'Continue to payment' }).dblclick());
        await untilState(view.page, 'waiting');
        const orderId = new URL(view.page.url()).searchParams.get('orderId')!;
        orderIds.push(orderId);
        const { data: order } = await gateway.merchant.pay(orderId);
        await eth.pay({ to: order!.address!, amount: '12.50' });
        if (customer !== 2) await untilState(view.page, 'paid');
        await view.page.close();
      }
      expect(new Set(orderIds).size).toBe(3);
      await waitUntil('three orders are sold', async () => {
        const { data } = await gateway.merchant.link('read', { linkId });
        return data?.sold === 3;
      });
      for (const orderId of orderIds) {
        await waitUntil('its callback has arrived', () =>
          gateway.receiver.story(orderId).includes('ORDER_SUCCESS SUCCESS'),
        );
        const callbacks = gateway.receiver.of(orderId);
        expect(callbacks.map(({ data }) => data.linkId)).toEqual(callbacks.map(() => linkId));
        expect(callbacks.flatMap(({ problems }) => problems)).toEqual([]);
      }
      const { data: read } = await gateway.merchant.link('read', { linkId });
      expect(read).toMatchObject({ state: 'SOLD_OUT', sold: 3, reserved: 0 });
      const ended = await browser.open(url);
      expect(await ended.page.innerText('h1')).toBe('Sold out');
      await ended.keepPicture('checkout-link-sold-out');
      await ended.page.close();
    }, 300_000);

    it('takes an amount that the customer enters, in every look', async () => {
      const { gateway, browser } = under();
      const { data: link } = await gateway.merchant.link('create', {
        linkId: gateway.newOrderId(),
        minAmount: '5',
        maxAmount: '500',
        symbol: 'USDT',
        chain: 'ETH_SEPOLIA',
        description: 'Donation',
      });
      for (const [name, more] of [
        ['link-open', ''],
        ['link-open-rtl', '?lang=ar'],
      ] as const) {
        const view = await browser.open(link!.url + more);
        await examine(view, name);
        await view.page.getByRole('textbox').fill('4.99');
        await view.leavePage(() => view.page.getByRole('button').click());
        expect(await view.page.getAttribute('input[name=amount]', 'aria-invalid')).toBe('true');
        expect(await view.page.inputValue('input[name=amount]')).toBe('4.99');
        await view.keepPicture(`checkout-${name}-wrong`);
        await view.page.getByRole('textbox').fill('7,5');
        await view.leavePage(() => view.page.getByRole('button').click());
        await untilState(view.page, 'waiting');
        expect(await view.page.innerText('.amount')).toContain('7.50');
        await view.page.close();
      }
    }, 300_000);
  });
}
