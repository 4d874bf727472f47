import { describe, expect, test } from 'vitest';
import fc from 'fast-check';
import { compare, distanceBps, inverse, mean, multiply, ONE, parseRatio, toDecimal } from './ratio.ts';

const ratio = (text: string) => parseRatio(text) ?? ONE;

describe('parseRatio', () => {
  test.each(['0', '0.00', '', '1e-3', '-1', '.5', '1,5', `1${'0'.repeat(30)}`, 'NaN'])(
    'rejects %j',
    (text) => {
      expect(parseRatio(text)).toBeUndefined();
    },
  );

  test('keeps every digit of a price', () => {
    expect(toDecimal(ratio('0.000000000001'), 12)).toBe('0.000000000001');
    expect(toDecimal(ratio('123456789012345.123456789012345'), 15)).toBe('123456789012345.123456789012345');
  });
});

test('rounds a rate down', () => {
  expect(toDecimal(inverse(ratio('3')), 4)).toBe('0.3333');
  expect(toDecimal(inverse(ratio('0.6')), 0)).toBe('1');
});

test('measures distances in basis points of the reference, rounded up', () => {
  expect(distanceBps(ratio('1.005'), ONE)).toBe(50);
  expect(distanceBps(ratio('0.995'), ONE)).toBe(50);
  expect(distanceBps(ratio('1.005000001'), ONE)).toBe(51);
  expect(distanceBps(ONE, ONE)).toBe(0);
});

test('the mean lies between two values, and a product with the inverse is one', () => {
  const any = fc
    .integer({ min: 1, max: 1_000_000 })
    .map((n) => ({ numerator: BigInt(n), denominator: 997n }));
  fc.assert(
    fc.property(any, any, (a, b) => {
      const middle = mean(a, b);
      expect(compare(a, middle) * compare(middle, b)).toBeGreaterThanOrEqual(0);
      expect(compare(multiply(a, inverse(a)), ONE)).toBe(0);
    }),
    { numRuns: 50 },
  );
});
