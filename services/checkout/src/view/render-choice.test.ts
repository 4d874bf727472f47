import { expect, test } from 'vitest';
import { anOpenOrder, anOption, anUnmatched, ON_TRON, USDC } from '../../test/support/an-order.ts';
import { ALL_TEXTS } from '../texts/all-texts.ts';
import { createSay } from '../texts/create-say.ts';
import { defaultPageContext, NO_CHOICE, stateShown, type PageContext } from './page-context.ts';
import { coinKey, sortOptions } from './render-choice.ts';
import { titleOf } from './render-document.ts';
import { renderOrder } from './render-order.ts';

const NOW = 1_800_000_000;
const say = createSay('en', ALL_TEXTS.en);
const REOPENED = { opened: new Set(['choose'] as const) };

function draw(fields: Parameters<typeof anOpenOrder>[0] = {}, around: Partial<PageContext> = {}) {
  const order = anOpenOrder(fields);
  const context = { ...defaultPageContext(NOW), ...around };
  const { html } = renderOrder(order, context, say);
  const text = html
    .replace(/<svg.*?<\/svg>/gs, '')
    .replace(/<[^>]+>/g, ' ')
    .replace(/\s+/g, ' ');
  const buttons = [
    ...html.matchAll(/<button class="button plain option"[^>]*value="(?<key>[^"]*)"(?<rest>[^>]*)>/g),
  ];
  return {
    html,
    text,
    state: stateShown(order, context),
    title: titleOf(order, stateShown(order, context), say),
    options: buttons.map(({ groups }) => `${groups!['key']}${groups!['rest']}`),
  };
}

test('lists the coins, the cheapest first, and asks for no payment before the choice', () => {
  const { html, text, title, options } = draw({}, { shopName: 'Kiosk' });
  expect(options).toEqual(['ETH_SEPOLIA USDC', 'TRON_TEST USDT', 'ETH_SEPOLIA USDT']);
  expect(text).toContain('Pay Kiosk 49.90 EUR');
  expect(text).toContain('USDT 54.30 USDT TRON Test TRC-20 Medium network fee · About 60 s');
  expect(text).toContain('Send only the coin that you choose, on the network that you choose');
  expect(title).toBe('49.90\u00a0EUR · Choose how to pay');
  expect(html).toContain('data-state="choose"');
  expect(html).toContain('role="timer"');
  expect(html).not.toMatch(
    /class="(code|address|wallets)\b[^"]*"[^>]*>\s*[^<\s]|ethereum:|What you have sent/,
  );
});

test('sorts by fee and then by time, unknown ones last', () => {
  const slow = anOption({ symbol: 'SLOW', feeClass: 'LOW', expectedSeconds: 700 });
  const unknown = anOption({ symbol: 'NEW', feeClass: null, expectedSeconds: null });
  const timeless = anOption({ symbol: 'GONE', feeClass: 'LOW', expectedSeconds: null });
  const sorted = sortOptions([unknown, timeless, anOption(), slow, USDC, ON_TRON]);
  expect(sorted.map(({ symbol }) => symbol)).toEqual(['USDC', 'SLOW', 'GONE', 'USDT', 'USDT', 'NEW']);
  expect(draw({ options: [slow, unknown] }).text).toContain('Low network fee · About 12 min');
});

test('sends the form to the page itself, which then shows the payment', () => {
  const pageUrl = 'https://pay.example/checkout?orderId=a&sign=f.shop&lang=de&open=code&open=choose';
  expect(draw({}, { pageUrl }).html).toContain(
    'method="post" action="?orderId=a&amp;sign=f.shop&amp;lang=de&amp;open=code"',
  );
});

test('shows the payment after the choice, with the way back to the list', () => {
  const { html, text, options } = draw({ address: '0x1', chosen: true });
  expect(options).toEqual([]);
  expect(text).toContain('54.21 USDT 49.90 EUR');
  expect(html).toMatch(/href="\?open=choose" data-open-fold="choose">Choose another way to pay</);
  expect(text).not.toContain('What you have sent to an address shown before still counts.');
  const both = [anOption({ chosen: true }), { ...ON_TRON, chosen: true }];
  expect(draw({ address: '0x1', options: both }).text).toContain('What you have sent to an address shown');
});

test('marks the current coin in the list that was opened again', () => {
  const { options, text, state } = draw({ address: '0x1' }, REOPENED);
  expect(state).toBe('choose');
  expect(options).toEqual(['ETH_SEPOLIA USDC', 'TRON_TEST USDT', 'ETH_SEPOLIA USDT aria-current="true"']);
  expect(text).toContain('What you have sent to an address shown before still counts.');
});

test('lists no amounts after a partial payment, and shows what is still missing', () => {
  const { text } = draw({ address: '0x1', status: 'PENDING', receivedAmount: '20.00' }, REOPENED);
  expect(text).toContain('Still to send 34.21 USDT');
  expect(text).toMatch(/USDT TRON Test TRC-20 Medium network fee/);
});

test('marks the coin of last time, the one that is asked for, and a choice that failed', () => {
  const key = coinKey(ON_TRON);
  expect(draw({}, { choice: { ...NO_CHOICE, before: key } }).text).toContain('About 60 s Chosen last time');
  const asked = draw({}, { choice: { ...NO_CHOICE, asked: key } });
  expect(asked.options).toEqual([
    'ETH_SEPOLIA USDC disabled',
    'TRON_TEST USDT aria-busy="true" disabled',
    'ETH_SEPOLIA USDT disabled',
  ]);
  const failed = draw({}, { choice: { ...NO_CHOICE, notice: 'notAvailableHint' } });
  expect(failed.text).toContain('Please try again in a moment. What has arrived is recorded.');
});

const held = { state: 'sent', wallet: 'Wallet', transaction: null, explorerTxUrl: null } as const;

test.each([
  ['checking', {}, { doubtful: true }],
  ['tooLate', {}, { nowSeconds: 1_800_001_790 }],
  ['timeOver', {}, { nowSeconds: 1_800_001_800 }],
  ['expired', { status: 'EXPIRED' }, {}],
  ['confirming', { status: 'PENDING_CONFIRMATION', address: '0x1' }, REOPENED],
  ['sent', { address: '0x1' }, { ...REOPENED, held }],
  ['reorganised', { address: '0x1', reason: 'Reorganised' }, REOPENED],
] as const)('offers no choice when the order is %s', (state, fields, around) => {
  const drawn = draw(fields, around);
  expect([drawn.state, drawn.options]).toEqual([state, []]);
  if (!('address' in fields)) expect(drawn.text).not.toContain('54.21');
});

test('offers other coins also after money that does not count', () => {
  const { options, text } = draw({ address: '0x1', unmatched: [anUnmatched()] }, REOPENED);
  expect(options).toHaveLength(3);
  expect(text).toContain('49.90 USDC');
});

test('draws an initial for a network without a glyph of its own', () => {
  const base = anOption({ chain: 'BASE' as 'ETH', chainName: 'Base' });
  expect(draw({ options: [base, ON_TRON] }).html).toMatch(/text-anchor="middle">B<\/text>/);
});

test('names each coin that was paid and its network, unless it is only the current one', () => {
  const paid = { address: '0x1', status: 'SUCCESS', actualAmount: '54.21' } as const;
  const onTron = { chain: 'TRON_TEST', symbol: 'USDT', amount: '54.30' } as const;
  const other = draw({ ...paid, payments: [onTron] }).text;
  expect(other).toContain('Received 54.30 USDT TRON Test Price 49.90 EUR');
  expect(other).not.toContain('Network');
  const own = draw({ ...paid, payments: [{ chain: 'ETH_SEPOLIA', symbol: 'USDT', amount: '54.21' }] }).text;
  expect(own).toMatch(/Amount 54\.21 USDT Price 49\.90 EUR .*Network Ethereum Sepolia/);
  const partly = { address: '0x1', status: 'PENDING', receivedAmount: '27.10' } as const;
  const text = draw({ ...partly, payments: [{ ...onTron, amount: '27.15' }] }).text;
  expect(text).toContain('Received 27.15 USDT TRON Test');
});
