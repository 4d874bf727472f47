import { describe, expect, test } from 'vitest';
import fc from 'fast-check';
import type { Currency } from './currency.ts';
import { formatAmount } from './money.ts';
import { amountForPrice, formatPrice, parsePrice } from './price.ts';
import { ONE, parseRatio } from './ratio.ts';

const [EUR, JPY, KWD] = ['EUR', 'JPY', 'KWD'] as Currency[] as [Currency, Currency, Currency];
const USDT = { decimals: 6, displayDecimals: 2 };

function amount(text: string, currency: Currency, rate: string, markupBps = 0, coin = USDT): string {
  const parsed = parsePrice(text, currency);
  if (!parsed.ok) throw new Error(parsed.problem);
  const value = amountForPrice(parsed.price, parseRatio(rate) ?? ONE, markupBps, coin);
  return formatAmount(value, coin.decimals, coin.displayDecimals);
}

describe('parsePrice', () => {
  test.each([
    ['49.9', EUR, '49.90'],
    ['49.900', EUR, '49.90'],
    ['500', JPY, '500'],
    ['1.234', KWD, '1.234'],
    ['9999999999999999.99', EUR, '9999999999999999.99'],
  ])('reads %s %s as %s', (text, currency, shown) => {
    const parsed = parsePrice(text, currency);
    expect(parsed.ok && formatPrice(parsed.price)).toBe(shown);
  });

  test.each([
    ['49.905', EUR, 'TOO_MANY_DECIMALS'],
    ['500.5', JPY, 'TOO_MANY_DECIMALS'],
    ['0', EUR, 'ZERO'],
    ['-1', EUR, 'NOT_A_NUMBER'],
    ['49,90', EUR, 'NOT_A_NUMBER'],
    ['10000000000000000.00', EUR, 'TOO_LARGE'],
  ])('rejects %s %s: %s', (text, currency, problem) => {
    expect(parsePrice(text, currency)).toEqual({ ok: false, problem });
  });
});

describe('amountForPrice', () => {
  test.each([
    ['49.90', EUR, '0.9205', 0, '54.21'], // 54.2096…
    ['49.90', EUR, '1', 0, '49.90'],
    ['0.01', EUR, '1000000', 0, '0.01'],
    ['500', JPY, '156.21', 0, '3.21'], // 3.2008…
    ['100', EUR, '1', 150, '101.50'],
    ['100', EUR, '3', 1, '33.34'], // 33.3366…
  ])('%s %s at %s with %i bps is %s', (text, currency, rate, markupBps, expected) => {
    expect(amount(text, currency, rate, markupBps)).toBe(expected);
  });

  test('rounds to the display decimals, and keeps a coin without decimals whole', () => {
    expect(amount('49.90', EUR, '0.9205', 0, { decimals: 18, displayDecimals: 4 })).toBe('54.2097');
    expect(amount('49.90', EUR, '0.9205', 0, { decimals: 0, displayDecimals: 2 })).toBe('55.00');
  });

  test('is worth at least the price, and at most one display unit more', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 1n, max: 10n ** 12n }),
        fc.bigInt({ min: 1n, max: 10n ** 16n }),
        fc.integer({ min: 0, max: 10_000 }),
        (minor, scaled, markupBps) => {
          const rate = { numerator: scaled, denominator: 10n ** 12n };
          const value = amountForPrice({ currency: EUR, minor }, rate, markupBps, USDT);
          const worth = (units: bigint) => units * rate.numerator * 100n * 10_000n;
          const wanted = minor * (10_000n + BigInt(markupBps)) * rate.denominator * 10n ** 6n;
          expect(worth(value) >= wanted).toBe(true);
          expect(worth(value - 10_000n) < wanted).toBe(true);
          expect(value % 10_000n).toBe(0n);
        },
      ),
      { numRuns: 50 },
    );
  });
});
