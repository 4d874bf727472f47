import { describe, expect, it } from 'vitest';
import { ALL_TEXTS } from '@opentill/checkout/texts/all-texts';
import { LANGUAGE_VALUES, LANGUAGES } from '@opentill/checkout/texts/languages';
import { overflow, type CheckoutUnderTest } from '../src/checkout-under-test.ts';
import { findAccessibilityProblems } from '../src/find-accessibility-problems.ts';

export function describeCheckoutLanguages(under: () => CheckoutUnderTest): void {
  describe('checkout languages', () => {
    let url: string | undefined;

    it.each(LANGUAGE_VALUES)(
      'shows %s in its direction, without overflow on a small phone',
      async (language) => {
        url ??= (await under().order('ETH_SEPOLIA')).paymentUrl!;
        const view = await under().browser.open(url, {
          context: { locale: language, viewport: { width: 320, height: 640 } },
        });
        await view.page.waitForSelector('html.scripted');
        const html = view.page.locator('html');
        expect(await html.getAttribute('lang')).toBe(language);
        expect(await html.getAttribute('dir')).toBe(LANGUAGES[language].direction);
        expect(await view.page.innerText('h2')).toBe(ALL_TEXTS[language].waiting);
        expect(await overflow(view.page)).toBe(0);
        expect(await findAccessibilityProblems(view.page)).toEqual([]);
        await view.keepPicture(`checkout-language-${language}`, { whole: true });
        expect(view.complaints).toEqual([]);
        await view.page.close();
      },
    );

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
