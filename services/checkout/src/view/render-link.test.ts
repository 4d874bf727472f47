import { describe, expect, test } from 'vitest';
import { A_MERCHANT } from '../../test/support/an-order.ts';
import { ALL_TEXTS } from '../texts/all-texts.ts';
import { createSay } from '../texts/create-say.ts';
import { LANGUAGE_VALUES } from '../texts/languages.ts';
import { renderLinkMain, type LinkForm, type LinkView } from './render-link.ts';

const LINK: LinkView = {
  merchant: A_MERCHANT,
  description: null,
  currency: null,
  amount: '25.00',
  minAmount: null,
  maxAmount: null,
  coins: [{ symbol: 'USDT', chain: 'TRON', chainName: 'TRON' }],
  isTestNetwork: false,
  url: 'https://pay.example/checkout/link/AAAAAAAAAAAAAAAAAAAAAA',
};
const OPEN = { amount: null, minAmount: '5.00', maxAmount: '5000.00' } as const;
const render = (
  link: Partial<LinkView>,
  form: Partial<LinkForm> = {},
  language: keyof typeof ALL_TEXTS = 'en',
) =>
  renderLinkMain(
    { ...LINK, ...link },
    { key: 'a-key', ...form },
    { shopName: '', host: 'pay.example' },
    createSay(language, ALL_TEXTS[language]),
  ).html;

describe('the page of a payment link', () => {
  test.each([
    ['an amount in the coin', {}, '25.00 <span>USDT</span>'],
    ['a price in a currency', { currency: 'EUR' }, '25.00 <span>EUR</span>'],
  ])('shows %s, the coin and the network', (_, link, figure) => {
    const html = render(link);
    expect(html).toContain(figure);
    expect(html).toContain('USDT · TRON');
    expect(html).toMatch(/role="img" aria-label="Scan to open this page on your phone"/);
    expect(html).not.toContain('name="amount"');
  });

  test('lists the coins of a price that the customer may choose', () => {
    const coins = [...LINK.coins, { symbol: 'USDC', chain: 'BASE', chainName: 'Base' } as const];
    const html = render({ currency: 'EUR', coins });
    expect(html).toContain('25.00 <span>EUR</span>');
    expect(html.match(/<dd>.*?<bdi dir="ltr">[^<]+/g)).toHaveLength(2);
    expect(html).toContain('USDC · Base');
  });

  test.each([
    [{}, 'Enter an amount from 5.00\u00a0USDT to 5,000.00\u00a0USDT.'],
    [{ currency: 'JPY' }, 'Enter an amount from 5.00\u00a0JPY to 5,000.00\u00a0JPY.'],
  ])('asks for an open amount %j, with its range', (link, range) => {
    const html = render({ ...OPEN, ...link });
    expect(html).toContain(range);
    expect(html).toMatch(
      /<label for="amount" class="label">.*<input id="amount"[^>]* required [^>]*aria-describedby="range"/s,
    );
    expect(html).not.toContain('aria-invalid');
  });

  test('keeps a wrong amount, and announces the range', () => {
    const html = render(OPEN, { entered: '"><b>' });
    expect(html).toContain('value="&quot;&gt;&lt;b&gt;"');
    expect(html).toContain('aria-invalid="true"');
    expect(html).toContain('role="alert"');
  });

  test('names the shop, else the gateway, else only the request', () => {
    const nameless = { ...A_MERCHANT, name: null };
    expect(render({})).toContain(`<h1>Pay ${A_MERCHANT.name!}</h1>`);
    expect(render({ merchant: nameless })).toContain('<h1>Payment request</h1>');
  });

  test.each(LANGUAGE_VALUES)('has one button in %s, and leaves no placeholder open', (language) => {
    const html = render(OPEN, {}, language);
    expect(html.match(/<button/g)).toHaveLength(1);
    expect(html).not.toMatch(/\{\w+\}/);
  });
});
