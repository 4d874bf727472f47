import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { PRESET_CHAINS } from '@opentill/domain/chains';
import { A_MERCHANT, anOrder, anUnmatched, UNMATCHED_REASONS } from '../../test/support/an-order.ts';
import { ALL_TEXTS } from '../texts/all-texts.ts';
import { createSay } from '../texts/create-say.ts';
import { LANGUAGE_VALUES } from '../texts/languages.ts';
import { tokenName } from './chain-names.ts';
import { dueAmount, stateOf } from './checkout-order.ts';
import { formatCountdown } from './format-countdown.ts';
import { escapeHtml, markup } from './html.ts';
import { paymentUri } from './payment-uri.ts';
import { renderOrder } from './render-order.ts';
import { defaultPageContext } from './page-context.ts';
import { accentValues, contrast, readableOn, SURFACES, themeStyle } from './theme.ts';

const say = createSay('en', ALL_TEXTS.en);
/** A wallet, a code, an address to copy, the remaining time. */
const MEANS = /data-wallet|open-wallet|data-payable|role="img"|data-copy="0x|role="timer"/;
const NOW = 1_800_000_000;

describe('markup', () => {
  test('escapes texts but not markup', () => {
    const evil = `<a href='x' title="y">&`;
    expect(markup`<p title="${evil}">${evil}</p>`.html).toBe(
      `<p title="${escapeHtml(evil)}">${escapeHtml(evil)}</p>`,
    );
    expect(escapeHtml(evil)).not.toMatch(/[<>"']/);
    expect(markup`${[markup`<b>1</b>`, markup`<i>2</i>`]}${null}${false}${0}`.html).toBe('<b>1</b><i>2</i>0');
  });
});

describe('stateOf', () => {
  test.each([
    ['waiting', {}],
    ['timeOver', { expiredTime: NOW }],
    ['partial', { status: 'PENDING', receivedAmount: '1.00' }],
    ['timeOver', { status: 'PENDING', expiredTime: NOW - 1 }],
    ['reorganised', { reason: 'Reorganised' }],
    ['reorganised', { status: 'PENDING', reason: 'Reorganised', receivedAmount: '1.00' }],
    ['timeOver', { reason: 'Reorganised', expiredTime: NOW }],
    ['confirming', { status: 'PENDING_CONFIRMATION', expiredTime: NOW - 1 }],
    ['paid', { status: 'SUCCESS' }],
    ['failed', { status: 'FAILED' }],
    ['expired', { status: 'EXPIRED' }],
    ['underpaid', { status: 'EXPIRED', reason: 'Underpaid', actualAmount: '40.00' }],
    ['late', { status: 'EXPIRED', reason: 'Paid after expiry', actualAmount: '250.00' }],
    ['late', { status: 'EXPIRED', txid: '0x1' }],
  ] as const)('returns %s for %j', (state, fields) => {
    expect(stateOf(anOrder(fields), NOW)).toBe(state);
  });
});

describe('dueAmount', () => {
  test.each([
    [{}, '250.00', 250_000_000n],
    [{ status: 'PENDING', receivedAmount: '40.50' }, '209.50', 209_500_000n],
    [{ status: 'PENDING', amount: '0.123456', receivedAmount: '0.023456' }, '0.100000', 100_000n],
    [{ status: 'PENDING', receivedAmount: '249.999999' }, '0.000001', 1n],
    // Covered, by a tolerance or an undecided transfer: the page then asks for no payment.
    [{ status: 'PENDING', receivedAmount: '250.00' }, '250.00', 250_000_000n],
    [{ amount: '7', receivedAmount: '0', decimals: 0 }, '7', 7n],
    [{ decimals: 18, amount: '1.000000000000000001', receivedAmount: '1.00' }, '0.000000000000000001', 1n],
  ] as const)('returns the amount due of %j as %s', (fields, text, baseUnits) => {
    expect(dueAmount(anOrder(fields))).toEqual({ text, baseUnits });
  });
});

describe('paymentUri', () => {
  test('names token, chain, receiver and base units for EVM (EIP-681)', () => {
    expect(paymentUri(anOrder({ chain: 'BSC', decimals: 18 }))).toBe(
      'ethereum:0x5FbDB2315678afecb367f032d93F642f64180aa3@56/transfer?address=0x70997970C51812dc3A010C7d01b50e0d17dc79C8&uint256=250000000000000000000',
    );
    expect(paymentUri(anOrder({ contractAddress: null, decimals: 18, amount: '0.5' }))).toBe(
      'ethereum:0x70997970C51812dc3A010C7d01b50e0d17dc79C8@11155111?value=500000000000000000',
    );
    expect(paymentUri(anOrder({ receivedAmount: '249.00' }))).toMatch(/uint256=1000000$/);
  });

  test('is null for families without a common format', () => {
    for (const chain of ['TRON', 'TRON_TEST', 'SUI', 'SUI_TEST'] as const) {
      expect(paymentUri(anOrder({ chain }))).toBeNull();
    }
  });
});

describe('renderOrder', () => {
  const draw = (fields: Parameters<typeof anOrder>[0], around = {}) =>
    renderOrder(anOrder(fields), { ...defaultPageContext(NOW), ...around }, say).html;

  test.each(PRESET_CHAINS)("names %s only as the gateway's networks file does", (chain) => {
    const html = draw({ chain, chainName: 'Network One' });
    expect(html).toContain(`Send only ${tokenName(anOrder({ chain }))} on Network One: `);
    expect(html).toContain('<bdi dir="ltr">Network One</bdi>');
    expect(html).not.toMatch(/Sepolia|testnet|BNB|Polygon|Avalanche/);
    expect(html.match(/<svg viewBox="0 0 \d+ \d+" role="img"/g)).toHaveLength(
      /^(TRON|SUI)/.test(chain) ? 1 : 2,
    );
  });

  test.each(LANGUAGE_VALUES)('leaves no placeholder in any state in %s', (language) => {
    const speak = createSay(language, ALL_TEXTS[language]);
    const wallets = [{ id: 'a', name: 'Wallet', icon: null }];
    for (const fields of [
      {},
      { status: 'PENDING', receivedAmount: '1.00', txid: '0x1' },
      { expiredTime: 1 },
      { reason: 'Reorganised' },
      { status: 'PENDING_CONFIRMATION', txid: '0x1', confirmedNum: 2 },
      { status: 'PENDING_CONFIRMATION', requiredConfirmations: null },
      { status: 'SUCCESS', returnUrl: 'https://shop.example', actualAmount: '260.00' },
      { status: 'EXPIRED', reason: 'Underpaid', actualAmount: '1.00' },
      { merchant: A_MERCHANT, unmatched: UNMATCHED_REASONS.map((reason) => anUnmatched({ reason })) },
      { status: 'FAILED', reason: 'Refused' },
    ] as const) {
      for (const text of ['walletAsked', 'walletWrongNetwork', 'walletFailed', 'walletNotAsked'] as const) {
        const around = { ...defaultPageContext(NOW), wallets, walletNotice: { text, wallet: 'Wallet' } };
        expect(renderOrder(anOrder(fields), around, speak).html).not.toMatch(/\{\w+\}|undefined|\[object/);
      }
    }
  });

  test.each(['INIT', 'PENDING'] as const)('asks for no payment after a reorganisation (%s)', (status) => {
    const wallets = [{ id: 'a', name: 'Wallet', icon: null }];
    const html = draw({ status, reason: 'Reorganised', txid: '0x1' }, { wallets });
    expect(html).toContain('Please do not send it again.');
    expect(html).toContain('data-state="reorganised"');
    expect(html).toContain('data-open="true"');
    expect(html).not.toMatch(/data-wallet|data-payable|open-wallet|role="img"|Copy a/);
  });

  test.each([
    ['ETH', 45],
    ['BSC', 20],
  ] as const)('replaces all means to pay on %s %i seconds before the end', (chain, seconds) => {
    const wallets = [{ id: 'a', name: 'Wallet', icon: null }];
    const before = draw({ chain, expiredTime: NOW + seconds }, { wallets });
    expect(before).toMatch(/data-wallet/);
    expect(before).not.toContain('may arrive too late');
    const short = draw({ chain, expiredTime: NOW + seconds - 1, merchant: A_MERCHANT }, { wallets });
    expect(short).toMatch(/<h2>Too late to pay now<\/h2>.*may arrive too late/s);
    expect(short.match(/class="button/g)).toHaveLength(1);
    expect(short).toMatch(/<a class="button" href="https:\/\/acme.example"[^>]*>Start again in the shop/);
    expect(short).not.toMatch(MEANS);
  });

  test('hides a reason that an operator wrote', () => {
    expect(draw({ status: 'FAILED', reason: 'a bad customer' })).not.toContain('a bad customer');
  });

  test('shows confirmations up to the required number', () => {
    const confirming = { status: 'PENDING_CONFIRMATION', txid: '0x1' } as const;
    expect(draw({ ...confirming, confirmedNum: 2 })).toMatch(
      /<b dir="ltr">2\/3<\/b>.*<progress [^>]*value="2" max="3">.*<b>2 of 3<\/b>/s,
    );
    expect(draw({ ...confirming, confirmedNum: 9 })).toContain('value="3" max="3"');
    expect(draw({ ...confirming, requiredConfirmations: null })).toMatch(
      /<progress class="unseen" aria-label="Confirmations">/,
    );
  });

  test('escapes texts of merchants, wallets and explorers', () => {
    const evil = '"><script>x</script>';
    const html = draw(
      { description: evil, status: 'PENDING', txid: evil, explorerUrl: `https://x/${evil}`, symbol: evil },
      { wallets: [{ id: evil, name: evil, icon: `data:image/png,${evil}` }] },
    );
    expect(html).not.toContain('<script');
  });

  test('offers the wallet app on a phone without a wallet in its browser', () => {
    const pageUrl = 'https://pay.example.com/checkout?orderId=a&sign=b';
    const link = /class="button open-app" href="([^"]+)">.*Open in TronLink/s;
    const [, href = ''] = link.exec(draw({ chain: 'TRON' }, { pageUrl })) ?? [];
    expect(href).toMatch(/^tronlinkoutside:\/\/pull\.activity\?param=/);
    expect(JSON.parse(decodeURIComponent(href.split('param=')[1] ?? ''))).toEqual({
      url: pageUrl,
      action: 'open',
      protocol: 'TronLink',
      version: '1.0',
    });
    const wallets = [{ id: 'a', name: 'TronLink', icon: null }];
    for (const around of [{}, { pageUrl, wallets }, { pageUrl, offline: true }])
      expect(draw({ chain: 'TRON' }, around)).not.toMatch(link);
    for (const chain of ['ETH', 'SUI'] as const) expect(draw({ chain }, { pageUrl })).not.toMatch(/open-app/);
  });

  test('offers no second payment while a wallet is being asked', () => {
    const wallets = [{ id: 'a', name: 'Wallet', icon: null }];
    expect(draw({}, { wallets })).toMatch(/data-wallet="a">/);
    expect(draw({}, { wallets, walletBusy: true })).toMatch(/data-wallet="a" disabled>/);
  });

  test('asks no wallet without a connection, and makes the address unusable', () => {
    const wallets = [{ id: 'a', name: 'Wallet', icon: null }];
    const html = draw({}, { offline: true, wallets });
    expect(html).not.toMatch(/data-wallet|open-wallet|href="ethereum:/);
    expect(html).toContain('data-payable data-offline inert aria-hidden="true"');
    expect(html).toMatch(/class="offline" role="status">No connection.*Please do not pay until/);
  });

  test('keeps all parts in place while a wallet is asked', () => {
    const wallets = ['a', 'b'].map((id) => ({ id, name: `Wallet ${id}`, icon: null }));
    const walletNotice = { text: 'walletAsked', wallet: 'Wallet a' } as const;
    const asked = { asking: 'a', walletBusy: true, walletNotice };
    const partsOf = (html: string) => html.match(/<(section|div|button|fieldset|dl|p) class="\w+/g);
    const html = draw({}, { wallets, ...asked });
    expect(partsOf(html)).toEqual(partsOf(draw({}, { wallets })));
    expect(html).toMatch(
      /<button [^>]*data-asked aria-busy="true" disabled><i class="spinner"><\/i><span>Please confirm in Wallet a\./,
    );
  });
});

test.each([
  [0, '0:00'],
  [65, '1:05'],
  [3_599, '59:59'],
  [3_600, '1:00:00'],
  [86_399, '23:59:59'],
])('formats %d seconds as %s', (seconds, text) => expect(formatCountdown(seconds)).toBe(text));

test('chooses a readable colour for text on the accent', () => {
  expect(readableOn('#000000')).toBe('#fff');
  expect(readableOn('#ffffff')).toBe('#000');
  expect(readableOn('#0b6e4f')).toBe('#fff');
  expect(readableOn('#ffcc00')).toBe('#000');
  expect(themeStyle({ accent: '#0b6e4f', accentDark: '#3fc593' })).toContain('--on-accent:#000');
});

const ACCENTS = ['#ffffff', '#fdfdfd', '#000000', '#0a0a0a', '#777777', '#ffcc00', '#533afd', '#161b21'];

test.each(ACCENTS)('keeps text and edge of a button in %s visible in light and dark', (accent) => {
  const values = new Map(accentValues(accent));
  const text = { '#fff': '#ffffff', '#000': '#000000' }[values.get('--on-accent') ?? ''] ?? '';
  expect(contrast(text, accent)).toBeGreaterThanOrEqual(4.5);
  for (const mode of ['light', 'dark'] as const) {
    for (const surface of SURFACES[mode]) {
      expect(contrast(values.get(`--edge-in-${mode}`) ?? '', surface)).toBeGreaterThanOrEqual(3);
    }
  }
});

test('keeps an accent that is visible as the edge of its button', () => {
  expect(accentValues('#533afd').slice(2, 3)).toEqual([['--edge-in-light', '#533afd']]);
  expect(accentValues('#ffcc00').slice(3)).toEqual([['--edge-in-dark', '#ffcc00']]);
});

test('shows the focus on every surface of the style sheet', () => {
  const css = readFileSync(join(import.meta.dirname, '..', 'page.css'), 'utf8');
  const [light = '', dark = ''] = css.split('@media (prefers-color-scheme: dark)');
  for (const [part, surfaces] of [
    [light, SURFACES.light],
    [dark, SURFACES.dark],
  ] as const) {
    const [card = '', page = '', text = ''] = ['card', 'page', 'text'].map((name) => colourIn(part, name));
    expect([card, page]).toEqual(surfaces);
    for (const surface of surfaces) expect(contrast(text, surface)).toBeGreaterThanOrEqual(4.5);
  }
  // A gap keeps the ring on the surface, whatever the button's colour.
  expect(css).toMatch(/:focus-visible[^}]*outline: 3px solid var\(--text\);\s*outline-offset: 2px/);
});

function colourIn(css: string, name: string): string {
  const [, digits = ''] = new RegExp(`--${name}: #([0-9a-f]+);`).exec(css) ?? [];
  return `#${digits.length === 3 ? digits.replaceAll(/./g, '$&$&') : digits}`;
}
