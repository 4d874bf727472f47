import { describe, expect, test } from 'vitest';
import { A_MERCHANT, anOrder, anUnmatched } from '../../test/support/an-order.ts';
import { ALL_TEXTS } from '../texts/all-texts.ts';
import { createSay } from '../texts/create-say.ts';
import type { Language } from '../texts/languages.ts';
import { paidAmounts, urgencyOf } from './checkout-order.ts';
import { defaultPageContext } from './page-context.ts';
import { brandOf } from './render-document.ts';
import { renderOrder } from './render-order.ts';
import { PLAIN_THEME, themeOf } from './theme.ts';

const NOW = 1_800_000_000;

function draw(fields: Parameters<typeof anOrder>[0], around = {}, language: Language = 'en') {
  const say = createSay(language, ALL_TEXTS[language]);
  return renderOrder(anOrder(fields), { ...defaultPageContext(NOW), ...around }, say).html;
}

/** Text of the page as a reader sees it. */
function textOf(html: string): string {
  return html
    .replace(/<svg.*?<\/svg>/gs, '')
    .replace(/<[^>]+>/g, ' ')
    .replace(/\s+/g, ' ');
}

describe('the summary', () => {
  test('names the merchant, the price, the purpose and the test network', () => {
    const text = textOf(draw({ merchant: A_MERCHANT, description: 'Hoodie' }));
    expect(text).toMatch(/Test network: no real money Pay Acme Cloud 250\.00 USDT Hoodie/);
    expect(textOf(draw({ chain: 'ETH' }))).not.toContain('Test network');
    expect(textOf(draw({ isTestNetwork: false }))).not.toContain('Test network');
  });

  test("shows the price in the shop's currency next to the whole amount", () => {
    const priced = { amount: '1354.30', price: '1249.90', currency: 'EUR', rate: '0.9229' };
    expect(textOf(draw({ ...priced, merchant: A_MERCHANT }))).toContain(
      'Pay Acme Cloud 1,354.30 USDT 1,249.90 EUR',
    );
    expect(textOf(draw(priced, {}, 'de'))).toContain('1.249,90 EUR');
    const partly = draw({ ...priced, status: 'PENDING', receivedAmount: '1000.00' });
    expect(textOf(partly)).not.toContain('EUR');
    expect(textOf(draw({ ...priced, status: 'SUCCESS', actualAmount: '1354.30' }))).toContain(
      'Price 1,249.90 EUR',
    );
  });

  test('takes the name of the theme for a merchant without a name', () => {
    expect(draw({}, { shopName: 'Kiosk' })).toContain('<h1>Pay Kiosk</h1>');
    expect(draw({}, { shopName: '' })).toContain('<h1>Payment request</h1>');
  });

  test('stays in place in every state', () => {
    for (const fields of [
      {},
      { status: 'PENDING_CONFIRMATION' },
      { status: 'SUCCESS' },
      { status: 'EXPIRED' },
    ] as const) {
      const parts = draw(fields).match(/<(section|div|dl|p) class="(summary|wallets|step|facts|foot)"/g);
      expect(parts).toHaveLength(5);
    }
  });

  test("shows the merchant's logo from the gateway", () => {
    const brand = { name: 'Kiosk', logoUrl: '/logo.svg' };
    const given = { apiBase: 'https://pay.example', brand };
    expect(brandOf(anOrder(), given)).toBe(brand);
    expect(brandOf(anOrder({ merchant: A_MERCHANT }), given)).toEqual({
      name: 'Acme Cloud',
      logoUrl: 'https://pay.example/checkout/logo/acme.svg',
    });
  });

  test("takes the merchant's accent colour", () => {
    expect(themeOf(PLAIN_THEME, '#533afd')).toMatchObject({ accent: '#533afd', accentDark: '#533afd' });
    for (const colour of [null, undefined, 'red;}']) expect(themeOf(PLAIN_THEME, colour)).toBe(PLAIN_THEME);
  });
});

describe('amounts', () => {
  test.each([
    [{}, { received: '0.00', tooMuch: null, missing: null }],
    [
      { status: 'PENDING', receivedAmount: '40.50' },
      { received: '40.50', tooMuch: null, missing: '209.50' },
    ],
    [
      { status: 'SUCCESS', actualAmount: '260.10' },
      { received: '260.10', tooMuch: '10.10', missing: null },
    ],
    [
      { status: 'EXPIRED', receivedAmount: '0.00', actualAmount: '1.00' },
      { received: '1.00', tooMuch: null, missing: '249.00' },
    ],
  ] as const)('compares the price and what arrived: %j', (fields, expected) => {
    expect(paidAmounts(anOrder(fields))).toEqual(expected);
  });

  test('an overpayment shows price, received and what is too much', () => {
    const text = textOf(draw({ status: 'SUCCESS', receivedAmount: '260.10', actualAmount: '260.10' }));
    expect(text).toContain('10.10 USDT more than the price has arrived');
    expect(text).toMatch(/Price 250\.00 USDT .*Received 260\.10 USDT .*Too much 10\.10 USDT/);
  });

  test('an exact payment shows its amount as price and on the receipt only', () => {
    const text = textOf(draw({ status: 'SUCCESS', receivedAmount: '250.00', actualAmount: '250.00' }));
    expect(text.match(/250\.00/g)).toHaveLength(2);
    expect(text).not.toMatch(/Price|Received/);
    expect(textOf(draw({ status: 'EXPIRED' }))).not.toContain('Received');
  });

  test('an underpaid order shows what arrived as the largest figure', () => {
    const html = draw({ status: 'EXPIRED', reason: 'Underpaid', actualAmount: '10.00' });
    expect(textOf(html)).toMatch(
      /Received 10\.00 of 250\.00 10\.00 USDT .*Price 250\.00 USDT Missing 240\.00 USDT/,
    );
  });

  test.each([
    ['en', '1,234,567.890001'],
    ['de', '1.234.567,890001'],
    ['fr', '1\u202f234\u202f567,890001'],
    ['ar', '1,234,567.890001'],
  ] as const)('groups thousands as in %s, and copies the plain figure', (language, shown) => {
    const html = draw({ amount: '1234567.890001' }, {}, language);
    expect(html).toContain(`<bdi dir="ltr">${shown} <span>USDT</span></bdi>`);
    expect(html).toContain(`class="whole">${shown}\u00a0USDT</bdi>`);
    expect(html).toContain('data-copy="1234567.890001"');
  });
});

describe('unmatched payments', () => {
  test('a wrong token is shown with what was expected and what to do', () => {
    const text = textOf(draw({ unmatched: [anUnmatched()], merchant: A_MERCHANT }));
    expect(text).toContain('You sent a different coin 49.90 USDC has arrived. This order expects USDT.');
    expect(text).toMatch(
      /It is recorded\. Please contact the shop and give the order number\. Order order-1 Copy Contact the shop Pay the order in USDT instead \(250\.00.USDT\) Back to the shop/,
    );
  });

  test.each([
    [{ status: 'EXPIRED' }, 'This payment request has expired'],
    [{ expiredTime: NOW + 9 }, 'Too late to pay now'],
  ] as const)('leads the payer of %j to the shop, and does not ask to start again', (fields, heading) => {
    const order = { ...fields, merchant: A_MERCHANT };
    expect(textOf(draw(order))).toContain('Start again');
    const html = draw({ ...order, unmatched: [anUnmatched()] });
    const text = textOf(html);
    expect(text).toContain(`${heading} You sent a different coin 49.90 USDC has arrived.`);
    expect(text).not.toMatch(/ start|Start|wait here|already paid/);
    expect(html).toMatch(
      /<a class="button" href="https:\/\/acme.example\/help"[^>]*>Contact the shop<.*<a class="button plain"[^>]*>Back/s,
    );
  });

  test.each(['INIT', 'SUCCESS', 'FAILED', 'EXPIRED', 'PENDING_CONFIRMATION'] as const)(
    'has one link to the help of the shop, and one order number, with the status %s',
    (status) => {
      for (const unmatched of [[], [anUnmatched()]]) {
        const html = draw({ status, merchant: A_MERCHANT, unmatched });
        expect(html.match(/href="https:\/\/acme.example\/help"/g)).toHaveLength(1);
        expect(html.match(/data-copy="order-1"/g)).toHaveLength(1);
      }
    },
  );

  test.each([
    [['WRONG_TOKEN'], 'You sent a different coin', 'Pay the order in USDT instead (250.00 USDT)'],
    [['WRONG_CHAIN'], 'You sent it on a different network', 'Pay 250.00 USDT on Ethereum Sepolia instead'],
    [
      ['WRONG_TOKEN', 'WRONG_CHAIN'],
      'A payment has arrived that does not count',
      'Pay 250.00 USDT on Ethereum Sepolia instead',
    ],
  ] as const)('names after %j what differs', (reasons, heading, link) => {
    const text = textOf(draw({ unmatched: reasons.map((reason) => anUnmatched({ reason })) }));
    expect(text).toContain(link);
    expect(text).toContain(heading);
  });

  test('asks for the amount that is still due', () => {
    const order = { status: 'PENDING', receivedAmount: '40.00', unmatched: [anUnmatched()] } as const;
    expect(textOf(draw(order))).toContain('Pay the order in USDT instead (210.00 USDT)');
  });

  test.each([{}, { status: 'PENDING', receivedAmount: '40.00' }] as const)(
    'folds the means to pay of %j away, and leads to the shop first',
    (fields) => {
      const wallets = [{ id: 'a', name: 'Wallet', icon: null }];
      const order = { ...fields, unmatched: [anUnmatched()], merchant: A_MERCHANT };
      const pageUrl = 'https://pay.example/checkout?orderId=a&sign=b';
      const html = draw(order, { wallets, pageUrl });
      expect(html).toContain('<h2>You sent a different coin</h2>');
      expect(html).toContain('<h1>Payment to Acme Cloud</h1>');
      expect(html).toMatch(/<a class="button" href="https:\/\/acme.example\/help"[^>]*>Contact the shop/);
      expect(html).toMatch(
        /href="\?orderId=a&amp;sign=b&amp;open=anyway"[^>]*>Pay the order in USDT instead/,
      );
      expect(html).not.toMatch(/data-wallet|role="timer"|role="img"|data-copy="0x7/);
      const opened = draw(order, { wallets, pageUrl, opened: new Set(['anyway']) });
      expect(opened).toMatch(/role="timer".*data-wallet="a".*role="img".*data-copy="0x7/s);
      expect(opened).not.toContain('Pay the order in USDT');
    },
  );

  test('leads to the shop where it has no contact', () => {
    const merchant = { ...A_MERCHANT, supportUrl: null, supportEmail: null };
    const html = draw({ unmatched: [anUnmatched()], merchant });
    expect(html).toMatch(/<a class="quiet" href="https:\/\/acme.example"[^>]*>Back to the shop/);
  });

  test.each(['SUCCESS', 'INIT'] as const)('shows a few of many (%s), and how many more', (status) => {
    const unmatched = Array.from({ length: 20 }, () => anUnmatched());
    const html = draw({ status, unmatched, unmatchedCount: 423 });
    expect(html.match(/<span class="transaction">/g)).toHaveLength(3);
    expect(html).toContain('<li>And 420 more</li>');
    expect(draw({ status, unmatched: unmatched.slice(0, 3) })).not.toContain('more</li>');
  });

  test.each([
    ['WRONG_CHAIN', {}, 'on BNB Testnet. This order expects USDT on Ethereum Sepolia.'],
    ['LATE', { status: 'EXPIRED' }, 'after the time to pay'],
    ['AFTER_SUCCESS', { status: 'SUCCESS' }, 'although the order was already paid'],
    ['ORDER_FAILED', { status: 'SUCCESS' }, 'The order was refused'],
    ['UNDERPAID', {}, 'less than the price'],
  ] as const)('explains a payment of reason %s', (reason, fields, sentence) => {
    const unmatched = [anUnmatched({ reason, chain: 'BSC_TEST', chainName: 'BNB Testnet' })];
    expect(textOf(draw({ ...fields, unmatched }))).toContain(sentence);
  });

  test('the state underpaid does not repeat its own reason', () => {
    const unmatched = [anUnmatched({ reason: 'UNDERPAID' })];
    expect(draw({ status: 'EXPIRED', reason: 'Underpaid', unmatched })).not.toContain('unmatched');
  });

  test('each of two short payments is shown, although the heading has their sum', () => {
    const unmatched = ['5.00', '7.00'].map((amount) => anUnmatched({ reason: 'UNDERPAID', amount }));
    const text = textOf(draw({ status: 'EXPIRED', reason: 'Underpaid', unmatched }));
    expect(text).toMatch(/5\.00 USDC.*7\.00 USDC/);
  });
});

describe('the end of an order', () => {
  test.each([
    [{ status: 'EXPIRED' }, ['Start again in the shop', 'Contact the shop']],
    [{ expiredTime: NOW + 9 }, ['Start again in the shop']],
    [
      { status: 'EXPIRED', reason: 'Underpaid', actualAmount: '1.00' },
      ['Contact the shop', 'Back to the shop'],
    ],
    [{ status: 'EXPIRED', txid: '0x1' }, ['Contact the shop', 'Back to the shop']],
    [{ status: 'FAILED' }, ['Contact the shop', 'Back to the shop']],
    [{ status: 'SUCCESS' }, ['Back to the shop']],
    [{ status: 'SUCCESS', actualAmount: '251.00' }, ['Contact the shop', 'Back to the shop']],
    [{ expiredTime: NOW }, ['Back to the shop']],
  ] as const)('leads on from %j', (fields, texts) => {
    const html = draw({ ...fields, merchant: A_MERCHANT });
    expect([...html.matchAll(/<a class="button[^>]*>([^<]+)</g)].map((match) => match[1])).toEqual(texts);
    expect(html).toContain('data-copy="order-1"');
  });

  test('an expired order without a payment says what to do after a payment', () => {
    const merchant = { ...A_MERCHANT, supportUrl: null, supportEmail: null };
    const text = textOf(draw({ status: 'EXPIRED', merchant }));
    expect(text).toContain(
      'If you have already paid, contact the shop and give the order number. Order order-1 Copy',
    );
    expect(text).not.toContain('Contact the shop');
    expect(textOf(draw({ status: 'EXPIRED', txid: '0x1' }))).not.toContain('already paid');
  });

  test('a payment that would arrive too late has the button between its two cases', () => {
    expect(draw({ expiredTime: NOW + 9, merchant: A_MERCHANT })).toMatch(
      /<h2>Too late to pay now<\/h2><p class="advice">Not paid yet\? .*>Start again in the shop<.*<p class="advice">Already paid\? Please wait here: this page is watching/s,
    );
  });

  test('copies the whole transaction number', () => {
    const txid = `0x${'ab'.repeat(32)}`;
    expect(draw({ status: 'SUCCESS', txid })).toContain(`data-copy="${txid}"`);
  });

  test('writes a mail where the shop has no help page', () => {
    const merchant = { ...A_MERCHANT, supportUrl: null };
    expect(draw({ status: 'FAILED', merchant })).toContain('href="mailto:help@acme.example?subject=order-1"');
  });

  test('links to web pages only', () => {
    const merchant = {
      ...A_MERCHANT,
      supportUrl: 'javascript:alert(1)',
      shopUrl: 'data:text/html,x',
      supportEmail: null,
    };
    expect(draw({ status: 'FAILED', merchant })).not.toMatch(/javascript:|data:text/);
  });
});

test.each([
  [301, 'calm'],
  [299, 'soon'],
  [59, 'last'],
] as const)('marks %d remaining seconds as %s', (seconds, urgency) => {
  expect(urgencyOf(anOrder({ expiredTime: NOW + seconds }), NOW)).toBe(urgency);
  expect(draw({ chain: 'BSC', expiredTime: NOW + seconds })).toContain(`data-urgency="${urgency}"`);
});
