import { describe, expect, it } from 'vitest';
import type { Page } from 'playwright-core';
import { devAccounts } from '@opentill/devnets/sui/dev-accounts';
import type { OrderAnswer } from '@opentill/contracts/http/answers';
import type { ChainUnderTest } from '../src/chain-under-test.ts';
import { examine, untilState, type CheckoutUnderTest } from '../src/checkout-under-test.ts';
import { injectSuiWallet, type InjectedSuiWallet } from '../src/injected-sui-wallet.ts';
import { injectTronWallet, type InjectedTronWallet } from '../src/injected-tron-wallet.ts';
import { injectWallet, type InjectedWallet } from '../src/injected-wallet.ts';
import { letTimeJump, sleep } from '../src/let-time-jump.ts';
import type { PageUnderTest } from '../src/open-browser.ts';

/** An account of the devnets with coin for fees but no tokens. */
const POOR_ACCOUNT = 7;
/** First account of the TRON devnet; GET /devnet.json shows its key. */
const TRON_CUSTOMER_KEY = 'ffb6b97b1763ded05630dfdcd0da1b15ddd0f0a4ac6db151d5fa0399cf63cd7f';
const SUI_CUSTOMER = devAccounts('opentill devnet', 3)[2]!;
const CHAIN_IDS: Readonly<Record<string, string>> = { BSC_TEST: '0x61', ETH_SEPOLIA: '0xaa36a7' };
const SOLID_WITHIN_MS = 90_000;

const untilNotice = async (page: Page, text: string) =>
  page.locator('[role=status]', { hasText: text }).first().waitFor({ timeout: 20_000 });
const payAgain = (page: Page) => page.getByRole('button', { name: 'Pay again' });
/** Once a wallet was asked to send, no part of the page invites another payment. */
const MEANS = '[data-wallet], .open-wallet, .payment, [role=timer]';

/** Also the shifts right after a click, which the browser's own measure excludes. */
const WATCH_SHIFTS = `{
  globalThis.shifts = [];
  new PerformanceObserver((list) => shifts.push(...list.getEntries().map(({ value }) => value)))
    .observe({ type: 'layout-shift' });
}`;
const PLACES = `['.amount', '.wallet', '.facts', '.code', '.address', '.foot'].flatMap((part) => {
  const { x, y, width } = document.querySelector(part).getBoundingClientRect();
  return [x, y, width];
})`;

export function describeCheckoutWallets(under: () => CheckoutUnderTest): void {
  describe('browser wallets', () => {
    const button = (page: Page) => page.getByRole('button', { name: 'Pay with Test Wallet' });
    const bsc = () => under().gateway.chains.BSC_TEST;

    async function openWith(
      collection: OrderAnswer,
      chain: ChainUnderTest,
      account?: number,
    ): Promise<PageUnderTest & { readonly wallet: InjectedWallet }> {
      let wallet: InjectedWallet | undefined;
      const view = await under().browser.open(collection.paymentUrl!, {
        async prepare(page) {
          const { rpcUrl } = chain;
          wallet = await injectWallet(page, [{ chainId: CHAIN_IDS[chain.chain]!, rpcUrl }], account);
          await letTimeJump(page);
        },
      });
      return { ...view, wallet: wallet! };
    }
    const sendings = ({ calls }: InjectedWallet) =>
      calls.filter(({ method }) => method === 'eth_sendTransaction').length;

    it('pay the missing amount once, also after a reload and in another tab', async () => {
      const collection = await under().order('BSC_TEST');
      await bsc().pay({ to: collection.address, amount: '40.5' });
      const view = await openWith(collection, bsc());
      await untilState(view.page, 'partial');
      await examine(view, 'wallet');
      await bsc().mineByHand();
      await button(view.page).click();
      await untilNotice(view.page, 'Please do not pay a second time');
      const [other] = await Promise.all([
        view.page.waitForEvent('popup'),
        view.page.evaluate('void open(location.href)'),
      ]);
      await untilNotice(other, 'Please do not pay a second time');
      expect(await other.locator(MEANS).count()).toBe(0);
      await other.close();
      await view.page.reload();
      await untilNotice(view.page, 'Please do not pay a second time');
      await untilState(view.page, 'sent');
      expect(await view.page.locator(MEANS).count()).toBe(0);
      const link = view.page.locator('.held').getByRole('link', { name: 'View it in the block explorer' });
      expect(await link.getAttribute('href')).toMatch(/^https:\/\/explorer\.example\/tx\/0x[0-9a-f]{64}$/);
      expect(await payAgain(view.page).count()).toBe(0);
      await examine(view, 'wallet-sent');
      await view.page.getByText('It was not sent').click();
      expect(await payAgain(view.page).isEnabled()).toBe(true);
      // After some minutes without the payment, the customer may confirm that the wallet did not pay.
      await sleep(view.page, 200_000);
      await untilNotice(view.page, 'Your payment has not arrived yet');
      await untilState(view.page, 'overdue');
      expect(await view.page.locator(MEANS).count()).toBe(0);
      expect(await payAgain(view.page).isEnabled()).toBe(true);
      await examine(view, 'wallet-overdue');
      await bsc().mineByTime();
      await untilState(view.page, 'paid');
      expect(await bsc().balance('USDT', collection.address)).toBe(bsc().baseUnits('USDT', '100'));
      expect(sendings(view.wallet)).toBe(1);
      await view.page.close();
    });

    it('show a rejected payment and a missing chain', async () => {
      const { ETH_SEPOLIA: eth } = under().gateway.chains;
      const collection = await under().order('ETH_SEPOLIA');
      const refused = await openWith(collection, eth);
      refused.wallet.refuse();
      await button(refused.page).click();
      await untilNotice(refused.page, 'Nothing was sent');
      expect(await button(refused.page).isEnabled()).toBe(true);
      const elsewhere = await openWith(collection, bsc());
      await button(elsewhere.page).click();
      await untilNotice(elsewhere.page, 'Please switch it to Ethereum (local devnet)');
      await examine(elsewhere, 'wallet-wrong-network');
      expect(sendings(elsewhere.wallet)).toBe(0);
      await Promise.all([refused.page.close(), elsewhere.page.close()]);
    });

    it('shift no part of the page during a request or after its rejection', async () => {
      const { ETH_SEPOLIA: eth } = under().gateway.chains;
      const view = await openWith(await under().order('ETH_SEPOLIA'), eth);
      await view.page.setViewportSize({ width: 1280, height: 800 });
      await button(view.page).waitFor();
      await view.page.evaluate(WATCH_SHIFTS);
      const placesBefore = await view.page.evaluate<number[]>(PLACES);
      const answer = view.wallet.hold();
      await button(view.page).click();
      await view.page.locator('[data-asked] .spinner').waitFor();
      expect(await view.page.evaluate<number[]>(PLACES)).toEqual(placesBefore);
      view.wallet.refuse();
      answer();
      await untilNotice(view.page, 'Nothing was sent');
      expect(await view.page.evaluate<number[]>(PLACES)).toEqual(placesBefore);
      // The label within the button, which is centred, is all that moves.
      const shifts = await view.page.evaluate<number[]>('shifts');
      expect(shifts.reduce((sum, shift) => sum + shift, 0)).toBeLessThan(0.001);
      const answerAgain = view.wallet.hold();
      await button(view.page).click();
      await view.page.locator('[data-asked] .spinner').waitFor();
      await examine(view, 'wallet-asking');
      answerAgain();
      await view.page.close();
    }, 60_000);

    it('block a second payment after an error, because the first may have been sent', async () => {
      const collection = await under().order('BSC_TEST');
      const view = await openWith(collection, bsc());
      view.wallet.failAfterSending();
      await bsc().mineByHand();
      await button(view.page).click();
      await untilNotice(view.page, 'It is not certain whether');
      expect(await view.page.locator(MEANS).count()).toBe(0);
      await examine(view, 'wallet-unsure');
      await bsc().mineByTime();
      await untilState(view.page, 'paid');
      expect(await bsc().balance('USDT', collection.address)).toBe(bsc().baseUnits('USDT', '100'));
      await view.page.close();
    });

    it('can pay again after a failed transaction, if the customer confirms', async () => {
      const collection = await under().order('BSC_TEST');
      const view = await openWith(collection, bsc(), POOR_ACCOUNT);
      await button(view.page).click();
      await untilNotice(view.page, 'has failed on the network');
      expect(await view.page.locator(MEANS).count()).toBe(0);
      await examine(view, 'wallet-reverted');
      await payAgain(view.page).click();
      expect(await button(view.page).isEnabled()).toBe(true);
      expect(await view.page.locator('.notice').textContent()).toBe('');
      expect(sendings(view.wallet)).toBe(1);
      await view.page.close();
    });
  });

  describe('TronLink', () => {
    const button = (page: Page) => page.getByRole('button', { name: 'Pay with TronLink' });

    async function openWith(collection: OrderAnswer, generation: 'today' | 'before') {
      let wallet: InjectedTronWallet | undefined;
      const view = await under().browser.open(collection.paymentUrl!, {
        async prepare(page) {
          const nodeUrl = under().gateway.tron!.url;
          wallet = await injectTronWallet(page, { nodeUrl, privateKey: TRON_CUSTOMER_KEY, generation });
        },
      });
      return { ...view, wallet: wallet! };
    }

    it.each(['today', 'before'] as const)(
      'TronLink of %s sends the exact token amount, and the page follows it until paid',
      async (generation) => {
        const collection = await under().order('TRON_TEST', { amount: '12.345678' });
        const view = await openWith(collection, generation);
        await untilState(view.page, 'waiting');
        expect(await view.page.locator('[data-wallet]').count()).toBe(1);
        expect(await view.page.locator('code.address').textContent()).toBe(collection.address);
        if (generation === 'today') await examine(view, 'tron');
        view.page.setDefaultTimeout(SOLID_WITHIN_MS);
        await button(view.page).click();
        await untilNotice(view.page, 'Please do not pay a second time');
        await untilState(view.page, 'paid', SOLID_WITHIN_MS);
        expect(await under().gateway.tron!.balance('USDT', collection.address)).toBe(12_345_678n);
        expect(view.wallet.calls).toEqual(['connect', 'sign']);
        if (generation === 'today') await examine(view, 'tron-paid');
        expect(view.complaints).toEqual([]);
        await view.page.close();
      },
      150_000,
    );

    it('opens the page in its app on a phone without a browser wallet', async () => {
      const { paymentUrl } = await under().order('TRON_TEST');
      const context = { viewport: { width: 390, height: 1_180 }, isMobile: true, hasTouch: true };
      const phone = await under().browser.open(paymentUrl!, { context });
      const link = phone.page.getByRole('link', { name: 'Open in TronLink' });
      await link.waitFor();
      const { url } = JSON.parse(
        decodeURIComponent((await link.getAttribute('href'))!.split('param=')[1]!),
      ) as { url: string };
      expect(url).toBe(paymentUrl);
      await phone.keepPicture('checkout-tron-app'); // `whole` is not possible for a phone
      const desk = await under().browser.open(paymentUrl!);
      await desk.page.waitForSelector('html.scripted');
      expect(await desk.page.locator('.open-app').isVisible()).toBe(false);
      await desk.page.setViewportSize(context.viewport);
      await desk.keepPicture('checkout-tron-narrow-window');
      expect([...phone.complaints, ...desk.complaints]).toEqual([]);
      await Promise.all([phone.page.close(), desk.page.close()]);
    });

    it('shows that no payment was sent when the payer rejects it', async () => {
      const collection = await under().order('TRON_TEST');
      const view = await openWith(collection, 'today');
      view.wallet.refuse();
      await button(view.page).click();
      await untilNotice(view.page, 'Nothing was sent');
      expect(await button(view.page).isEnabled()).toBe(true);
      await view.page.close();
    });
  });
  describe('checkout on Sui', () => {
    it('is paid with the exact amount by a Wallet Standard wallet', async () => {
      const { sui } = under().gateway;
      const collection = await under().order('SUI_TEST', { amount: '12.345678' });
      let wallet: InjectedSuiWallet | undefined;
      const view = await under().browser.open(collection.paymentUrl!, {
        async prepare(page) {
          wallet = await injectSuiWallet(page, { nodeUrl: sui!.url, secretKey: SUI_CUSTOMER.secretKey });
        },
      });
      await untilState(view.page, 'waiting');
      expect(await view.page.innerText('.network strong')).toBe('SUI (local devnet)');
      expect(await view.page.locator('.code').count()).toBe(1);
      expect(await view.page.locator('code.address').textContent()).toBe(collection.address);
      await view.page.getByRole('button', { name: 'Pay with Test Sui Wallet' }).click();
      await untilState(view.page, 'paid');
      expect(await sui!.balance('USDT', collection.address)).toBe(12_345_678n);
      expect(wallet!.calls).toEqual(['connect', 'execute sui:testnet']);
      await examine(view, 'sui-paid');
      await view.page.close();
    });
  });
}
