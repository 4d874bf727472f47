import { describe, expect, it } from 'vitest';
import { overflow, type CheckoutUnderTest } from '../src/checkout-under-test.ts';
import { findAccessibilityProblems } from '../src/find-accessibility-problems.ts';

const LANGUAGES = ['en', 'ar', 'de', 'es', 'fa', 'fr', 'id', 'pt', 'ru', 'tr', 'vi', 'zh'];

export function describeCheckoutLanguages(under: () => CheckoutUnderTest): void {
  describe('checkout languages', () => {
    it('shows twelve languages in their direction, without overflow on a small phone', async () => {
      const { paymentUrl } = await under().order('ETH_SEPOLIA');
      const headings = new Set<string>();
      for (const language of LANGUAGES) {
        const view = await under().browser.open(paymentUrl!, {
          context: { locale: language, viewport: { width: 320, height: 640 } },
        });
        await view.page.waitForSelector('html.scripted');
        const html = view.page.locator('html');
        expect(await html.getAttribute('lang')).toBe(language);
        expect(await html.getAttribute('dir')).toBe(['ar', 'fa'].includes(language) ? 'rtl' : 'ltr');
        headings.add(await view.page.innerText('h2'));
        expect({ language, overflow: await overflow(view.page) }).toEqual({ language, overflow: 0 });
        const problems = await findAccessibilityProblems(view.page);
        expect({ language, problems }).toEqual({ language, problems: [] });
        await view.keepPicture(`checkout-language-${language}`, { whole: true });
        expect(view.complaints).toEqual([]);
        await view.page.close();
      }
      expect(headings.size).toBe(12);
    });

    it('changes the language with the keyboard', async () => {
      const { paymentUrl } = await under().order('ETH_SEPOLIA');
      const { page } = await under().browser.open(paymentUrl!);
      await page.waitForSelector('html.scripted');
      await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      await page.getByRole('link', { name: 'Français' }).focus();
      await page.keyboard.press('Enter');
      await page.waitForSelector('html[lang=fr]');
      expect(await page.innerText('h2')).toBe('En attente de votre paiement');
      await page.close();
    });
  });
}
