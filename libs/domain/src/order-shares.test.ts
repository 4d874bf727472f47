import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { acceptedShares, ALL_SHARES, amountOfShares, inCoin, sharesOf } from './order-shares.ts';

const RUNS = { numRuns: 40 };
const whole = fc.bigInt({ min: 1n, max: 10n ** 30n });
const sum = (values: readonly bigint[]) => values.reduce((a, b) => a + b, 0n);

describe('shares of an order', () => {
  it('gives the same amount back, and covers at exactly the whole amount', () => {
    fc.assert(
      fc.property(whole, fc.bigInt({ min: 1n, max: 10n ** 20n }), (all, factor) => {
        const amount = 1n + (all * factor) / 10n ** 15n;
        expect(amountOfShares(sharesOf(amount, all), all)).toBe(amount);
        expect(sharesOf(amount, all) >= ALL_SHARES).toBe(amount >= all);
      }),
      RUNS,
    );
  });

  it('covers when the rest of what several coins paid is paid in any coin', () => {
    const payment = fc.tuple(whole, fc.integer({ min: 1, max: 99 }));
    fc.assert(
      fc.property(fc.array(payment, { maxLength: 6 }), whole, (payments, last) => {
        const paid = sum(payments.map(([all, percent]) => sharesOf((all * BigInt(percent)) / 1_000n, all)));
        const rest = last - amountOfShares(paid, last);
        expect(paid + sharesOf(rest, last) >= ALL_SHARES).toBe(true);
        const short = rest - 2n;
        if (short > 0n && paid < ALL_SHARES) expect(paid + sharesOf(short, last) < ALL_SHARES).toBe(true);
      }),
      RUNS,
    );
  });

  it('keeps the tolerance of the merchant exact', () => {
    expect(acceptedShares(0)).toBe(ALL_SHARES);
    expect(sharesOf(98_50n, 100_00n)).toBe(acceptedShares(150));
    expect(sharesOf(98_49n, 100_00n) < acceptedShares(150)).toBe(true);
  });

  it('counts no more than the columns hold', () => {
    expect(sharesOf(2n ** 256n - 1n, 1n)).toBe(10n ** 60n);
  });

  it('leaves the sums of an order of one coin as they are', () => {
    expect(inCoin(7n, { choices: null, amount: 100n })).toBe(7n);
    expect(inCoin(ALL_SHARES / 2n, { choices: 0, amount: 100n })).toBe(50n);
  });
});
