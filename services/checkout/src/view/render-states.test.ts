import { describe, expect, test } from 'vitest';
import { A_MERCHANT, anOrder } from '../../test/support/an-order.ts';
import { ALL_TEXTS } from '../texts/all-texts.ts';
import { createSay } from '../texts/create-say.ts';
import { LANGUAGE_VALUES } from '../texts/languages.ts';
import type { CheckoutState } from './checkout-order.ts';
import { foldsIn } from './folds.ts';
import { defaultPageContext, stateShown, type HeldView, type PageContext } from './page-context.ts';
import { renderNotice } from './render-document.ts';
import { renderOrder } from './render-order.ts';
import { PLAIN_THEME } from './theme.ts';

const NOW = 1_800_000_000;
const say = createSay('en', ALL_TEXTS.en);

const draw = (fields: Parameters<typeof anOrder>[0], around: Partial<PageContext> = {}, speak = say) =>
  renderOrder(anOrder(fields), { ...defaultPageContext(NOW), ...around }, speak).html;
const held = (state: HeldView['state'], transaction: string | null = '0xabc') =>
  ({
    state,
    wallet: 'MetaMask',
    transaction,
    explorerTxUrl: 'https://explorer.example/tx/{txid}',
  }) satisfies HeldView;
const titleIn = (html: string) => /<h1>(.*?)<\/h1>/.exec(html)?.[1];

/** One order for each state, with the title of its page: of a merchant, and of one without a name. */
const STATES = [
  ['waiting', {}, {}, 'Pay Acme Cloud', 'Payment request'],
  ['partial', { status: 'PENDING', receivedAmount: '1.00' }, {}, 'Pay Acme Cloud', 'Payment request'],
  ['checking', {}, { doubtful: true }, 'Payment to Acme Cloud', 'Payment request'],
  ['tooLate', { expiredTime: NOW + 9 }, {}, 'Payment to Acme Cloud', 'Payment request'],
  ['sent', {}, { held: held('sent') }, 'Payment to Acme Cloud', 'Payment request'],
  ['overdue', {}, { held: held('overdue') }, 'Payment to Acme Cloud', 'Payment request'],
  ['unsure', {}, { held: held('unsure') }, 'Payment to Acme Cloud', 'Payment request'],
  ['reverted', {}, { held: held('reverted') }, 'Payment to Acme Cloud', 'Payment request'],
  ['timeOver', { expiredTime: NOW }, {}, 'Payment to Acme Cloud', 'Payment request'],
  ['reorganised', { reason: 'Reorganised' }, {}, 'Payment to Acme Cloud', 'Payment request'],
  ['confirming', { status: 'PENDING_CONFIRMATION' }, {}, 'Payment to Acme Cloud', 'Payment request'],
  ['paid', { status: 'SUCCESS' }, {}, 'Paid to Acme Cloud', 'Paid'],
  ['expired', { status: 'EXPIRED' }, {}, 'Expired', 'Expired'],
  [
    'underpaid',
    { status: 'EXPIRED', reason: 'Underpaid', actualAmount: '10.00' },
    {},
    'Received 10.00 of 250.00',
    'Received 10.00 of 250.00',
  ],
  ['late', { status: 'EXPIRED', txid: '0x1' }, {}, 'Received too late', 'Received too late'],
  ['failed', { status: 'FAILED' }, {}, 'Failed', 'Failed'],
] as const satisfies readonly (readonly [
  CheckoutState,
  Parameters<typeof anOrder>[0],
  Partial<PageContext>,
  string,
  string,
])[];

describe.each(STATES)('the state %s', (state, fields, around, title, titleWithoutName) => {
  test('has the title of its outcome, with and without a merchant', () => {
    expect(stateShown(anOrder(fields), { ...defaultPageContext(NOW), ...around })).toBe(state);
    expect(titleIn(draw({ ...fields, merchant: A_MERCHANT }, around))).toBe(title);
    expect(titleIn(draw(fields, around))).toBe(titleWithoutName);
  });

  test('is complete in every language', () => {
    const titles = LANGUAGE_VALUES.map((language) => {
      const html = draw(
        { ...fields, merchant: A_MERCHANT },
        around,
        createSay(language, ALL_TEXTS[language]),
      );
      expect(html).not.toMatch(/\{\w+\}|undefined|\[object/);
      return titleIn(html);
    });
    // Four pairs of languages share `payTo`, for example Spanish and Portuguese `Pagar a`.
    expect(new Set(titles).size).toBeGreaterThanOrEqual(LANGUAGE_VALUES.length - 4);
  });

  test('shows means to pay only while the order waits for a payment', () => {
    const wallets = [{ id: 'a', name: 'Wallet', icon: null }];
    const html = draw(fields, { ...around, wallets });
    const shows = /data-wallet|data-payable|role="img"|data-copy="0x7|role="timer"/.test(html);
    expect(shows).toBe(state === 'waiting' || state === 'partial');
  });
});

describe('a payment that a wallet was asked to send', () => {
  test('links to its transaction and has a folded way back', () => {
    const html = draw({}, { held: held('sent', '0xabc/..') });
    expect(html).toContain('<h2>Sent. Looking for it on the network</h2>');
    expect(html).toContain('Please do not pay a second time.');
    expect(html).toContain('href="https://explorer.example/tx/0xabc%2F.."');
    expect(html).toMatch(/<summary class="quiet">It was not sent<\/summary>.*data-pay-again/s);
  });

  test('links to the explorer of its own chain after the choice of another coin', () => {
    const html = draw({ explorerTxUrl: 'https://other.example/{txid}' }, { held: held('sent') });
    expect(html).toContain('href="https://explorer.example/tx/0xabc"');
    expect(html).not.toContain('other.example');
  });

  test.each(['overdue', 'unsure', 'reverted'] as const)('offers the way back at once if %s', (state) => {
    const html = draw({}, { held: held(state, null) });
    expect(html).toContain('data-pay-again');
    expect(html).not.toMatch(/<details|explorer\.example/);
  });

  test('links to web pages only', () => {
    for (const explorerTxUrl of [null, 'javascript:alert("{txid}")']) {
      expect(draw({}, { held: { ...held('sent'), explorerTxUrl } })).not.toContain('block explorer');
    }
  });
});

describe('a paid order', () => {
  const paid = {
    status: 'SUCCESS',
    txid: '0x1',
    explorerUrl: 'https://x.example/1',
    merchant: A_MERCHANT,
  } as const;

  test('has a receipt with amount, time, order and transaction', () => {
    const html = draw({ ...paid, transactionTime: NOW }, { timeZone: 'UTC' });
    const receipt = /<dl class="facts receipt">.*?<\/dl>/s.exec(html)?.[0] ?? '';
    expect([...receipt.matchAll(/<dt>(.*?)<\/dt>/g)].map((match) => match[1])).toEqual([
      'Amount',
      'Date and time',
      'Network',
      'Order',
      'Transaction',
    ]);
    expect(receipt).toContain(
      '<time datetime="2027-01-15T08:00:00.000Z">January 15, 2027 at 08:00 UTC</time>',
    );
    expect(receipt).toContain('href="https://x.example/1"');
    expect(receipt).toContain(
      '<bdi dir="ltr">Ethereum Sepolia</bdi> <bdi dir="ltr" class="soft whole">ERC-20',
    );
    expect(draw(paid)).not.toContain('<time');
  });

  test.each([
    ['de', 'Europe/Berlin', /^15\. Januar 2027.*09:00 MEZ$/],
    ['fa', 'Asia/Tehran', /^15 ژانویهٔ 2027.*11:30/],
  ] as const)('shows the time in %s and in the time zone %s', (language, timeZone, text) => {
    expect(createSay(language, ALL_TEXTS[language]).time(NOW, timeZone)).toMatch(text);
  });
});

test('copies by a word, which the full name of the button contains', () => {
  for (const language of LANGUAGE_VALUES) {
    const texts = ALL_TEXTS[language];
    const html = draw({}, {}, createSay(language, texts));
    expect(html).toContain(`</svg>${texts.copy}</button>`);
    for (const name of ['copyAmount', 'copyAddress', 'copyOrder', 'copyTransaction'] as const) {
      expect(texts[name].toLocaleLowerCase(language)).toContain(texts.copy.toLocaleLowerCase(language));
    }
  }
});

test('labels the remaining time and says what to scan or send', () => {
  const html = draw({ amount: '1234.50' });
  expect(html).toMatch(/<span class="label">Time left to pay<\/span><span role="timer"/);
  expect(html).toContain('Scan with your wallet, or send exactly 1,234.50\u00a0USDT to this address.');
  expect(html).toContain('Pay with your wallet app, or send exactly 1,234.50\u00a0USDT to this address.');
  expect(html).toContain('This code holds only the address. Type 1,234.50\u00a0USDT yourself.');
  expect(html).toContain('This code holds address, amount and network.');
});

test('keeps folds open by the address of the page, for reloads without scripts', () => {
  expect(draw({})).toMatch(/href="\?open=code" data-open-fold="code">/);
  const opened = foldsIn(new URLSearchParams('orderId=a&open=code&open=anyway&open=other'));
  expect([...opened]).toEqual(['code', 'anyway']);
  for (const chain of ['ETH', 'TRON'] as const) {
    expect(draw({ chain }, { opened })).toMatch(/class="codes" id="code" tabindex="-1">/);
    expect(draw({ chain }, { opened })).not.toContain('show-code');
  }
});

describe('a page without an order', () => {
  const frame = {
    language: 'en',
    say,
    theme: { ...PLAIN_THEME, logoUrl: null },
    style: '',
    baseUrl: null,
    scripts: { main: 'page.js', ahead: [] },
  } as const;
  const notice = { title: 'Link not valid', text: 'x', again: null, orderId: 'a:b~c@d' };

  test('has the order number with a button and the script that copies it', () => {
    const html = renderNotice(frame, notice, '');
    expect(html).toContain('<code class="given" dir="ltr">a:b~c@d</code>');
    expect(html).toContain('data-copy="a:b~c@d" aria-label="Copy order number"');
    expect(html).toContain('<script type="module" src="page.js">');
    expect(html).toContain('"isNotice":true');
    expect(renderNotice(frame, { ...notice, orderId: null }, '')).not.toMatch(/<script|data-copy/);
  });

  test('leads to the shop that the link names', () => {
    const linksIn = (html: string) =>
      [...html.matchAll(/<a class="(button[^"]*)" href="([^"]*)"[^>]*>([^<]+)</g)].map(([, ...link]) => link);
    expect(linksIn(renderNotice(frame, { ...notice, merchant: A_MERCHANT }, ''))).toEqual([
      ['button', 'https://acme.example', 'Back to the shop'],
      ['button plain', 'https://acme.example/help', 'Contact the shop'],
    ]);
    const again = { ...notice, again: 'Try again', merchant: A_MERCHANT };
    expect(linksIn(renderNotice(frame, again, '')).map(([kind]) => kind)).toEqual([
      'button',
      'button plain',
      'button plain',
    ]);
    expect(renderNotice(frame, notice, '')).not.toContain('class="next"');
  });
});
