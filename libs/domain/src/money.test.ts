import { describe, expect, test } from 'vitest';
import fc from 'fast-check';
import { baseUnits, formatAmount, isAmountText, parseAmount } from './money.ts';

const decimalsOf = fc.integer({ min: 0, max: 36 });

describe('parseAmount', () => {
  test.each([
    ['250', 6, 250_000_000n],
    ['250.00', 6, 250_000_000n],
    ['0.000001', 6, 1n],
    ['1.000', 2, 100n],
    ['007', 0, 7n],
    ['999999999999.999999', 6, 999_999_999_999_999_999n],
    ['1', 18, 10n ** 18n],
  ])('parses %s with %d decimals', (text, decimals, value) => {
    expect(parseAmount(text, decimals)).toEqual({ ok: true, value });
  });

  test.each([
    ['', 'NOT_A_NUMBER'],
    ['.5', 'NOT_A_NUMBER'],
    ['5.', 'NOT_A_NUMBER'],
    ['-1', 'NOT_A_NUMBER'],
    ['+1', 'NOT_A_NUMBER'],
    ['1e3', 'NOT_A_NUMBER'],
    ['1,5', 'NOT_A_NUMBER'],
    [' 1', 'NOT_A_NUMBER'],
    ['1\n', 'NOT_A_NUMBER'],
    ['0x10', 'NOT_A_NUMBER'],
    ['٣', 'NOT_A_NUMBER'],
    ['1'.repeat(31), 'NOT_A_NUMBER'],
    ['0', 'ZERO'],
    ['0.000', 'ZERO'],
    ['0.0000000', 'ZERO'],
    ['0.0000001', 'TOO_MANY_DECIMALS'],
    ['1.0000001', 'TOO_MANY_DECIMALS'],
  ])('rejects %j: %s', (text, problem) => {
    expect(parseAmount(text, 6)).toEqual({ ok: false, problem });
  });

  test('accepts 30 digits with or without a point but not 31', () => {
    expect(isAmountText('1'.repeat(30))).toBe(true);
    expect(isAmountText(`${'1'.repeat(15)}.${'1'.repeat(15)}`)).toBe(true);
    expect(isAmountText(`${'1'.repeat(16)}.${'1'.repeat(15)}`)).toBe(false);
  });

  test('reads the output of formatAmount', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 1n, max: 10n ** 24n }),
        fc.integer({ min: 0, max: 18 }),
        fc.integer({ min: 0, max: 6 }),
        (value, decimals, displayDecimals) => {
          const text = formatAmount(value, decimals, displayDecimals);
          fc.pre(isAmountText(text));
          expect(parseAmount(text, decimals)).toEqual({ ok: true, value });
        },
      ),
    );
  });

  test('keeps the exact value of an accepted text', () => {
    const digits = (max: number) =>
      fc.array(fc.nat({ max: 9 }), { minLength: 1, maxLength: max }).map((d) => d.join(''));
    fc.assert(
      fc.property(digits(14), fc.option(digits(14), { nil: '' }), decimalsOf, (whole, fraction, decimals) => {
        const text = fraction === '' ? whole : `${whole}.${fraction}`;
        const parsed = parseAmount(text, decimals);
        fc.pre(parsed.ok);
        expect(parsed.value * 10n ** BigInt(fraction.length)).toBe(
          BigInt(whole + fraction) * 10n ** BigInt(decimals),
        );
      }),
    );
  });

  test('throws for no amount text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 40 }), decimalsOf, (text, decimals) => {
        expect(typeof parseAmount(text, decimals).ok).toBe('boolean');
      }),
    );
  });
});

describe('formatAmount', () => {
  test.each([
    [250_000_000n, 6, 2, '250.00'],
    [12_340_000n, 6, 2, '12.34'],
    [123_456n, 6, 2, '0.123456'],
    [0n, 6, 2, '0.00'],
    [7n, 0, 0, '7'],
    [7n, 0, 2, '7.00'],
    [10n ** 18n, 18, 0, '1'],
    [1n, 18, 2, '0.000000000000000001'],
  ])('formats %s of %d decimals with at least %d shown as %s', (value, decimals, displayDecimals, text) => {
    expect(formatAmount(value, decimals, displayDecimals)).toBe(text);
  });

  test('writes at least the display decimals and no trailing zero beyond them', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 0n, max: 10n ** 78n - 1n }),
        decimalsOf,
        fc.integer({ min: 0, max: 18 }),
        (value, decimals, displayDecimals) => {
          const [, fraction = ''] = formatAmount(value, decimals, displayDecimals).split('.');
          expect(fraction.length).toBeGreaterThanOrEqual(displayDecimals);
          if (fraction.length > displayDecimals) expect(fraction.endsWith('0')).toBe(false);
        },
      ),
    );
  });

  test('rejects a negative amount', () => {
    expect(() => formatAmount(-1n, 6, 2)).toThrow(RangeError);
  });
});

test('accepts base units up to numeric(78,0)', () => {
  expect(baseUnits(0n)).toBe(0n);
  expect(baseUnits(10n ** 78n - 1n)).toBe(10n ** 78n - 1n);
  expect(() => baseUnits(10n ** 78n)).toThrow(RangeError);
  expect(() => baseUnits(-1n)).toThrow(RangeError);
});
