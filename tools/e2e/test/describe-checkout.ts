import { describe, expect, it } from 'vitest';
import { findAccessibilityProblems } from '../src/find-accessibility-problems.ts';
import { injectWallet, type InjectedWallet } from '../src/injected-wallet.ts';
import type { BrowserUnderTest } from '../src/open-browser.ts';
import type { RunningGateway } from '../src/running-gateway.ts';
import type { GatewayUnderTest } from '../src/start-gateway-under-test.ts';
import { WAIT_MS } from '../src/time-limits.ts';

export function describeCheckout(
  under: () => GatewayUnderTest<RunningGateway>,
  browser: () => BrowserUnderTest,
): void {
  describe('checkout', () => {
    it('is paid once by a browser wallet, on the right chain with the exact amount', async () => {
      const { ETH_SEPOLIA: eth, BSC_TEST: bsc } = under().chains;
      const { data } = await under().merchant.createCollection({
        orderId: under().newOrderId(),
        amount: '12.345678',
        symbol: 'USDT',
        chain: eth.chain,
        returnUrl: under().gateway.shopUrl,
      });
      let wallet: InjectedWallet | undefined;
      const view = await browser().open(data!.paymentUrl!, {
        phone: true,
        async prepare(page) {
          wallet = await injectWallet(page, [
            { chainId: '0x61', rpcUrl: bsc.rpcUrl },
            { chainId: '0xaa36a7', rpcUrl: eth.rpcUrl },
          ]);
        },
      });
      const { page } = view;
      expect(await findAccessibilityProblems(page)).toEqual([]);
      await page.getByRole('button', { name: 'Pay with Test Wallet' }).click();
      await page.waitForSelector('main[data-status=SUCCESS]', { timeout: WAIT_MS });
      const sent = wallet!.calls.filter(({ method }) => method === 'eth_sendTransaction');
      expect(sent).toHaveLength(1);
      expect(await eth.balance('USDT', data!.address)).toBe(12_345_678n);
      const pay = await under().merchant.pay(data!.orderId);
      expect(pay.data).toMatchObject({ actualAmount: '12.345678', amount: '12.345678', status: 'SUCCESS' });
      expect(await page.getByRole('link', { name: 'Back to the shop' }).getAttribute('href')).toMatch(
        under().gateway.shopUrl,
      );
      expect(await findAccessibilityProblems(page)).toEqual([]);
      await view.keepPicture('checkout-wallet-paid-phone');
      expect(view.complaints).toEqual([]);
      await page.close();
    });
  });
}
