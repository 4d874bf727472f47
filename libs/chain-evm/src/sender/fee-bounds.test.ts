import { describe, expect, test } from 'vitest';
import fc from 'fast-check';
import type { FeePrices, FeeTerms } from '@opentill/chain/wallet-sender';
import type { FeeBounds } from './fee-bounds.ts';
import { feeBoundsOf, isAboveCap, isWithinBounds, pricesFor, raiseFees } from './fee-bounds.ts';

const GWEI = 10n ** 9n;
const BOUNDS: FeeBounds = {
  minPriorityFeePerGas: GWEI / 10n,
  maxPriorityFeePerGas: 5n * GWEI,
  maxFeePerGas: 100n * GWEI,
};

const wei = fc.bigInt({ min: 0n, max: 10n ** 15n });
const boundsOf = fc.tuple(wei, wei, wei).map((three): FeeBounds => {
  const [least = 0n, most = 0n, cap = 0n] = three.toSorted((a, b) => (a < b ? -1 : 1));
  return { minPriorityFeePerGas: least, maxPriorityFeePerGas: most, maxFeePerGas: cap + 1n };
});

/** geth's legacypool: both must be higher, and at least the old prices plus a tenth, rounded down. */
function gethReplaces(old: bigint, raised: bigint): boolean {
  return raised > old && raised >= (old * 110n) / 100n;
}

/** nethermind and besu add a tenth of the old price; both round down. */
function othersReplace(old: bigint, raised: bigint): boolean {
  return raised >= old + old / 10n;
}

describe('pricesFor', () => {
  test('offers the doubled base fee plus the tip', () => {
    const prices = pricesFor({ baseFeePerGas: 10n * GWEI, tipPerGas: GWEI }, BOUNDS);
    expect(prices).toEqual({ maxFeePerGas: 21n * GWEI, maxPriorityFeePerGas: GWEI });
  });

  test('offers at least the minimum tip where there is no base fee (BSC)', () => {
    const prices = pricesFor({ baseFeePerGas: 0n, tipPerGas: 0n }, BOUNDS);
    expect(prices).toEqual({ maxFeePerGas: GWEI / 10n, maxPriorityFeePerGas: GWEI / 10n });
  });

  test('never offers a price above the cap', () => {
    fc.assert(
      fc.property(wei, wei, boundsOf, (baseFeePerGas, tipPerGas, bounds) => {
        const prices = pricesFor({ baseFeePerGas, tipPerGas }, bounds);
        expect(isWithinBounds(prices, bounds) || prices.maxFeePerGas === 0n).toBe(true);
        // Unless the cap prevents it, the next block would accept the offer.
        if (!isAboveCap(baseFeePerGas, bounds)) expect(prices.maxFeePerGas >= baseFeePerGas).toBe(true);
      }),
    );
  });
});

describe('pricesFor and later raises', () => {
  function raisesFrom(terms: FeeTerms, now: FeePrices, bounds: FeeBounds, most = 5): number {
    const raised = most === 0 ? undefined : raiseFees(terms, now, bounds);
    return raised === undefined ? 0 : 1 + raisesFrom(raised, now, bounds, most - 1);
  }
  const wouldFit = (price: bigint, cap: bigint): boolean =>
    [1, 2, 3].reduce((raised) => raised + (raised === 0n ? 1n : (raised + 7n) / 8n), price) <= cap;

  test('leaves room for three raises unless the market itself is at a cap', () => {
    fc.assert(
      fc.property(wei, wei, boundsOf, (baseFeePerGas, tipPerGas, bounds) => {
        const prices = pricesFor({ baseFeePerGas, tipPerGas }, bounds);
        const isAtCap =
          !wouldFit(bounds.minPriorityFeePerGas, bounds.maxPriorityFeePerGas) ||
          !wouldFit(baseFeePerGas + prices.maxPriorityFeePerGas, bounds.maxFeePerGas);
        fc.pre(!isAtCap);
        expect(raisesFrom({ gasLimit: 1n, ...prices }, prices, bounds)).toBeGreaterThanOrEqual(3);
      }),
    );
  });

  test('offers less than the cap for an excessive tip, and raises up to it', () => {
    const prices = pricesFor({ baseFeePerGas: 10n * GWEI, tipPerGas: 400n * GWEI }, BOUNDS);
    expect(prices.maxPriorityFeePerGas).toBeLessThan((BOUNDS.maxPriorityFeePerGas * 3n) / 4n);
    expect(prices.maxPriorityFeePerGas).toBeGreaterThan(BOUNDS.maxPriorityFeePerGas / 2n);
    expect(raisesFrom({ gasLimit: 1n, ...prices }, prices, BOUNDS)).toBe(3);
  });

  test('offers the cap when the market is at the cap', () => {
    const prices = pricesFor({ baseFeePerGas: 98n * GWEI, tipPerGas: GWEI }, BOUNDS);
    expect(prices).toEqual({ maxFeePerGas: 100n * GWEI, maxPriorityFeePerGas: GWEI });
    expect(raisesFrom({ gasLimit: 1n, ...prices }, prices, BOUNDS)).toBe(0);
  });

  test('leaves as many raises as possible near the cap', () => {
    for (const [base, raises] of [
      [77n, 2],
      [85n, 1],
      [95n, 0],
    ] as const) {
      const prices = pricesFor({ baseFeePerGas: base * GWEI, tipPerGas: GWEI }, BOUNDS);
      expect(raisesFrom({ gasLimit: 1n, ...prices }, prices, BOUNDS)).toBe(raises);
    }
  });

  test('doubles the base fee only as far as raises remain', () => {
    const { maxFeePerGas } = pricesFor({ baseFeePerGas: 60n * GWEI, tipPerGas: GWEI }, BOUNDS);
    expect(maxFeePerGas).toBeGreaterThan(61n * GWEI);
    expect(maxFeePerGas).toBeLessThan(75n * GWEI);
  });
});

describe('raiseFees', () => {
  test('adds an eighth to both prices, rounded up', () => {
    const old = { gasLimit: 60_000n, maxFeePerGas: 1_001n, maxPriorityFeePerGas: 9n };
    const bounds = { ...BOUNDS, minPriorityFeePerGas: 0n };
    expect(raiseFees(old, { maxFeePerGas: 0n, maxPriorityFeePerGas: 0n }, bounds)).toEqual({
      gasLimit: 60_000n,
      maxFeePerGas: 1_127n,
      maxPriorityFeePerGas: 11n,
    });
  });

  test('raises a zero tip to a non-zero tip', () => {
    const bounds = { ...BOUNDS, minPriorityFeePerGas: 0n };
    const nothing = { maxFeePerGas: 8n, maxPriorityFeePerGas: 0n };
    expect(raiseFees({ gasLimit: 1n, ...nothing }, nothing, bounds)).toEqual({
      gasLimit: 1n,
      maxFeePerGas: 9n,
      maxPriorityFeePerGas: 1n,
    });
  });

  test('raises at least to current prices', () => {
    const old = { gasLimit: 1n, maxFeePerGas: 10n * GWEI, maxPriorityFeePerGas: GWEI };
    const now = { maxFeePerGas: 40n * GWEI, maxPriorityFeePerGas: 2n * GWEI };
    expect(raiseFees(old, now, BOUNDS)).toEqual({ gasLimit: 1n, ...now });
  });

  test('returns no raise when a cap leaves no room on either price', () => {
    const now = { maxFeePerGas: 0n, maxPriorityFeePerGas: 0n };
    const of = (maxFeePerGas: bigint, maxPriorityFeePerGas: bigint): unknown =>
      raiseFees({ gasLimit: 1n, maxFeePerGas, maxPriorityFeePerGas }, now, BOUNDS);
    expect(of(89n * GWEI, GWEI)).toBeUndefined();
    expect(of(10n * GWEI, (9n * GWEI) / 2n)).toBeUndefined();
    expect(of(88n * GWEI, GWEI)).toBeDefined();
  });

  test('raises enough for every node, within the caps, to current prices or more', () => {
    fc.assert(
      fc.property(wei, wei, wei, wei, boundsOf, (a, b, c, d, bounds) => {
        const [tip, fee] = a < b ? [a, b] : [b, a];
        const [tipNow, feeNow] = c < d ? [c, d] : [d, c];
        const old = { gasLimit: 21_000n, maxFeePerGas: fee, maxPriorityFeePerGas: tip };
        const now = { maxFeePerGas: feeNow, maxPriorityFeePerGas: tipNow };
        const raised = raiseFees(old, now, bounds);
        if (raised === undefined) return;
        expect(raised.gasLimit).toBe(21_000n);
        for (const field of ['maxFeePerGas', 'maxPriorityFeePerGas'] as const) {
          expect(gethReplaces(old[field], raised[field])).toBe(true);
          expect(othersReplace(old[field], raised[field])).toBe(true);
          expect(raised[field] <= bounds[field]).toBe(true);
          expect(raised[field] >= (now[field] < bounds[field] ? now[field] : bounds[field])).toBe(true);
        }
        expect(raised.maxPriorityFeePerGas <= raised.maxFeePerGas).toBe(true);
      }),
    );
  });

  test('stops raising at the cap', () => {
    const now = { maxFeePerGas: 20n * GWEI, maxPriorityFeePerGas: GWEI };
    let terms: ReturnType<typeof raiseFees> = { gasLimit: 1n, ...now };
    let raises = 0;
    for (; terms !== undefined && raises < 100; raises += 1) terms = raiseFees(terms, now, BOUNDS);
    expect(raises).toBeLessThan(20);
  });
});

describe('feeBoundsOf', () => {
  test.each([
    ['1.5', '2', '3'],
    ['-1', '2', '3'],
    ['', '2', '3'],
    ['0x1', '2', '3'],
    ['3', '2', '3'],
    ['1', '4', '3'],
    ['0', '0', '0'],
  ])('rejects the bounds %s, %s, %s', (minPriorityFeePerGas, maxPriorityFeePerGas, maxFeePerGas) => {
    expect(() => feeBoundsOf({ minPriorityFeePerGas, maxPriorityFeePerGas, maxFeePerGas })).toThrow(
      TypeError,
    );
  });

  test('reads fee bounds exactly', () => {
    const text = {
      minPriorityFeePerGas: '0',
      maxPriorityFeePerGas: '3000000000',
      maxFeePerGas: '5000000000',
    };
    expect(feeBoundsOf(text)).toEqual({
      minPriorityFeePerGas: 0n,
      maxPriorityFeePerGas: 3n * GWEI,
      maxFeePerGas: 5n * GWEI,
    });
  });
});
