import { describe, expect, it } from 'vitest';
import { sql } from 'kysely';
import type { Page } from 'playwright-core';
import { signOrderId } from '@opentill/contracts/signing/verify-signature';
import { waitUntil } from '@opentill/testkit/wait-until';
import { examine, examineUrl, untilState, type CheckoutUnderTest } from '../src/checkout-under-test.ts';
import { findAccessibilityProblems } from '../src/find-accessibility-problems.ts';
import { injectWallet } from '../src/injected-wallet.ts';
import { letTimeJump, sleep } from '../src/let-time-jump.ts';

const TO_PAY = '.code, .address, [data-wallet], .open-wallet, [role=timer]';
const HOUR_MS = 3_600_000;
/** More than the limit of a window. */
const REQUESTS_MAX = 1_000;

/** The focused element and its outline. For the radio buttons of the two QR codes, the outline is on the label. */
const FOCUSED = `(() => {
  const focused = document.activeElement;
  const shown = focused.matches('.codes input') ? focused.nextElementSibling : focused;
  const { outlineStyle, outlineWidth } = getComputedStyle(shown);
  return { name: focused.classList[0] ?? focused.tagName, style: outlineStyle, width: parseFloat(outlineWidth) };
})()`;

export function describeCheckoutTrouble(under: () => CheckoutUnderTest): void {
  const eth = () => under().gateway.chains.ETH_SEPOLIA;

  describe('checkout usage', () => {
    it('copies the exact amount and address', async () => {
      const collection = await under().order('ETH_SEPOLIA', { amount: '12.345678' });
      const view = await under().browser.open(collection.paymentUrl!, {
        context: { permissions: ['clipboard-read', 'clipboard-write'] },
      });
      const copied = async (name: string) => {
        await view.page.getByRole('button', { name }).click();
        await view.page.locator('.copy[data-copied]').first().waitFor();
        return view.page.evaluate<string>('navigator.clipboard.readText()');
      };
      expect(await copied('Copy amount')).toBe('12.345678');
      expect(await copied('Copy address')).toBe(collection.address);
      await view.keepPicture('checkout-copied');
      await view.page.close();
    });

    it('shows the keyboard focus, from top to bottom', async () => {
      const { paymentUrl } = await under().order('ETH_SEPOLIA');
      const view = await under().browser.open(paymentUrl!, {
        phone: true,
        prepare: async (page) =>
          void (await injectWallet(page, [{ chainId: '0xaa36a7', rpcUrl: eth().rpcUrl }])),
      });
      await view.page.locator('[data-wallet]').waitFor();
      const seen: { name: string; style: string; width: number }[] = [];
      for (let step = 0; step < 7; step += 1) {
        await view.page.keyboard.press('Tab');
        seen.push(await view.page.evaluate(FOCUSED));
        await view.keepPicture(`checkout-focus-${step}`);
      }
      const names = ['SUMMARY', 'button', 'unseen', 'copy', 'copy', 'quiet', 'copy'];
      expect(seen).toEqual(names.map((name) => ({ name, style: 'solid', width: 3 })));
      await view.page.close();
    });

    it('works without scripts until the order is paid', async () => {
      const collection = await under().order('ETH_SEPOLIA');
      const view = await under().browser.open(collection.paymentUrl!, {
        context: { javaScriptEnabled: false },
        phone: true,
      });
      expect(await view.page.locator('code.address').textContent()).toBe(collection.address);
      await view.keepPicture('checkout-without-scripts', { whole: true });
      const [bare, full] = [view.page.locator('.code.bare'), view.page.locator('.code.qr')];
      // The page reloads itself, and then shows the address again.
      await waitUntil(
        'only the code of the address is shown',
        async () => (await bare.isVisible()) && !(await full.isVisible()),
      );
      await waitUntil('only the code with the amount is shown', async () => {
        await view.page.getByText('With amount').click();
        return (await full.isVisible()) && !(await bare.isVisible());
      });
      const [label, address] = await Promise.all(
        ['.label', 'code'].map(async (part) => view.page.locator(`.address-box ${part}`).boundingBox()),
      );
      expect(label!.y + label!.height).toBeLessThanOrEqual(address!.y);
      await eth().pay({ to: collection.address, amount: '100' });
      await untilState(view.page, 'paid');
      await view.page.close();
    });
  });

  describe('checkout on a phone', () => {
    it('shows the wallet app, amount, address and network first, and the code on request', async () => {
      const { paymentUrl } = await under().order('ETH_SEPOLIA');
      const viewport = { width: 390, height: 664 };
      const { page, ...view } = await under().browser.open(paymentUrl!, {
        context: { viewport, isMobile: true, hasTouch: true },
      });
      await page.waitForSelector('html.scripted');
      const parts = ['.amount', '.open-wallet', '[role=timer]', '.send', '.sum', '.address-box', '.network'];
      let end = 0;
      for (const part of parts) {
        const box = (await page.locator(part).boundingBox())!;
        expect([part, box.y >= end || part === '[role=timer]']).toEqual([part, true]);
        end = box.y + box.height;
      }
      expect(end).toBeLessThan(viewport.height);
      const code = page.locator('.code.bare');
      expect(await code.isVisible()).toBe(false);
      await view.keepPicture('checkout-phone');
      await page.getByText('Show QR code').tap();
      expect(await code.isVisible()).toBe(true);
      expect(await findAccessibilityProblems(page)).toEqual([]);
      await page.close();
    });

    it('keeps the code open when a page without scripts reloads', async () => {
      const { paymentUrl } = await under().order('ETH_SEPOLIA');
      const viewport = { width: 390, height: 664 };
      const { page } = await under().browser.open(paymentUrl!, {
        context: { viewport, isMobile: true, hasTouch: true, javaScriptEnabled: false },
      });
      const code = page.locator('.code.bare');
      expect(await code.isVisible()).toBe(false);
      await page.getByText('Show QR code').tap();
      await page.waitForURL('**open=code**');
      await code.waitFor();
      await page.waitForEvent('load');
      await code.waitFor();
      await page.close();
    });
  });

  describe('checkout during an outage', () => {
    it('shows an outage of the API and continues after it', async () => {
      const collection = await under().order('ETH_SEPOLIA');
      const view = await under().browser.open(collection.paymentUrl!);
      await view.page.waitForSelector('html.scripted');
      const { gateway } = under().gateway;
      await gateway.stopService('api', 'SIGKILL');
      await view.page.locator('.offline', { hasText: 'No connection' }).waitFor({ timeout: 15_000 });
      await examine({ ...view, complaints: [] }, 'offline');
      expect(await view.page.locator('.payment[inert]').count()).toBe(1);
      expect(await view.page.locator('[data-wallet], .open-wallet').count()).toBe(0);
      await eth().pay({ to: collection.address, amount: '100' });
      await gateway.startService('api');
      await untilState(view.page, 'paid');
      expect(await view.page.locator('.offline', { hasText: 'No connection' }).count()).toBe(0);
      await view.page.close();
    });
  });

  describe('checkout on a machine that slept', () => {
    it('hides all means to pay until the server answers, then shows the time left', async () => {
      const { paymentUrl } = await under().order('ETH_SEPOLIA');
      const view = await under().browser.open(paymentUrl!, {
        async prepare(page) {
          await letTimeJump(page);
          await injectWallet(page, [{ chainId: '0xaa36a7', rpcUrl: eth().rpcUrl }]);
        },
      });
      await view.page.locator('[data-wallet]').waitFor();
      expect(await view.page.locator(TO_PAY).count()).toBeGreaterThan(4);
      await view.page.context().setOffline(true);
      await sleep(view.page, HOUR_MS);
      await untilState(view.page, 'checking');
      expect(await view.page.locator(TO_PAY).count()).toBe(0);
      await examine({ ...view, complaints: [] }, 'checking');
      await view.page.context().setOffline(false);
      await untilState(view.page, 'waiting');
      expect(await view.page.innerText('[role=timer]')).toMatch(/^2\d:\d\d$/);
      await view.page.close();
    });

    it('does not offer to pay an order that expired during the sleep', async () => {
      const { BSC_TEST: bsc } = under().gateway.chains;
      const expiresIn = (await bsc.secondsAhead()) + 60;
      const collection = await under().order('BSC_TEST', { expiresIn });
      const view = await under().browser.open(collection.paymentUrl!, {
        async prepare(page) {
          await letTimeJump(page);
          // An open stream stays connected although the browser is offline.
          await page.route('**/v1/order/events*', async (route) => route.abort());
        },
      });
      await untilState(view.page, 'waiting');
      await view.page.context().setOffline(true);
      await bsc.jump(120);
      await waitUntil('the order has expired', async () => {
        const { data } = await under().gateway.merchant.getOrderStatus(collection.orderId);
        return data?.status === 'EXPIRED';
      });
      await sleep(view.page, HOUR_MS);
      await untilState(view.page, 'checking');
      const states = await watchStates(view.page);
      await view.page.context().setOffline(false);
      await untilState(view.page, 'expired');
      expect(await states()).toEqual(['expired']);
      await view.page.close();
    });
  });

  describe('checkout without an order', () => {
    it('answers a mistyped path with a page', async () => {
      const { paymentUrl } = await under().order('ETH_SEPOLIA');
      const view = await under().browser.open(paymentUrl!.replace(/checkout\?.*/, 'checkouts'));
      expect(await view.page.innerText('h1')).toBe('Page not found');
      await examine({ ...view, complaints: [] }, 'no-page');
      await view.page.close();
    }, 60_000);

    it('explains an invalid link and an unknown order', async () => {
      const { paymentUrl } = await under().order('ETH_SEPOLIA');
      const wrong = paymentUrl!.replace(/sign=..../, 'sign=beef');
      const sign = signOrderId(under().gateway.merchantToken, 'nobody');
      const unknown = paymentUrl!.replace(/\?.*/, `?orderId=nobody&sign=${sign}`);
      for (const [name, url, heading] of [
        ['wrong-link', wrong, 'Link not valid'],
        ['unknown', unknown, 'Order not found'],
      ] as const) {
        const view = await under().browser.open(url);
        expect(await view.page.innerText('h1')).toBe(heading);
        expect(await view.page.getByRole('link', { name: 'Try again' }).count()).toBe(0);
        await examine({ ...view, complaints: [] }, name);
        await view.page.close();
      }
    });

    it('shows "Too many requests", and the page after another try', async () => {
      const { paymentUrl } = await under().order('ETH_SEPOLIA');
      const view = await under().browser.open(paymentUrl!);
      // The limit's window may end before a slow browser has sent its request.
      await waitUntil('the browser is rejected', async () => {
        let requests = 0;
        while ((await fetch(paymentUrl!)).status !== 429 && requests < REQUESTS_MAX) requests += 1;
        await view.page.goto(paymentUrl!);
        return (await view.page.innerText('h1')) === 'Too many requests';
      });
      await examine({ ...view, complaints: [] }, 'too-many-requests');
      await waitUntil('the page comes again', async () => {
        await view.leavePage(async () => view.page.getByRole('link', { name: 'Try again' }).click());
        return (await view.page.locator('main[data-state=waiting]').count()) === 1;
      });
      await view.page.close();
    });

    it('shows "Not available" while the database rejects connections', async () => {
      const { paymentUrl } = await under().order('ETH_SEPOLIA');
      const db = under().gateway.database.kysely;
      const { rows } = await sql<{ usename: string }>`
        select distinct usename from pg_stat_activity
        where datname = current_database() and application_name like 'api %'`.execute(db);
      const role = sql.id(rows[0]!.usename);
      try {
        await sql`alter role ${role} connection limit 0`.execute(db);
        await sql`select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and application_name like 'api %'`.execute(db);
        const view = await under().browser.open(paymentUrl!);
        expect(await view.page.innerText('h1')).toBe('Not available');
        await examine({ ...view, complaints: [] }, 'not-available');
        await view.page.close();
      } finally {
        await sql`alter role ${role} connection limit -1`.execute(db);
      }
      await waitUntil('the page is back', async () => (await fetch(paymentUrl!)).ok);
      await examineUrl(under().browser, paymentUrl!, 'waiting');
    });
  });
}

async function watchStates(page: Page): Promise<() => Promise<string[]>> {
  await page.evaluate(`{
    globalThis.statesShown = [];
    const main = document.querySelector('main');
    new MutationObserver(() => statesShown.push(main.dataset.state)).observe(main, { attributeFilter: ['data-state'] });
  }`);
  return async () => page.evaluate<string[]>('statesShown');
}
