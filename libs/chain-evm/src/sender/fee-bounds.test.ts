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

/** geth's legacypool: both must be higher, and at least as high as the old ones with a tenth on top, rounded down. */
function gethReplaces(old: bigint, raised: bigint): boolean {
  return raised > old && raised >= (old * 110n) / 100n;
}

/** nethermind and besu reckon the tenth of the old price and add it; both round down. */
function othersReplace(old: bigint, raised: bigint): boolean {
  return raised >= old + old / 10n;
}

describe('what to offer', () => {
  test('the base fee doubled, and the tip', () => {
    const prices = pricesFor({ baseFeePerGas: 10n * GWEI, tipPerGas: GWEI }, BOUNDS);
    expect(prices).toEqual({ maxFeePerGas: 21n * GWEI, maxPriorityFeePerGas: GWEI });
  });

  test('without a base fee (BSC) the tip alone, at least the least that nodes take', () => {
    const prices = pricesFor({ baseFeePerGas: 0n, tipPerGas: 0n }, BOUNDS);
    expect(prices).toEqual({ maxFeePerGas: GWEI / 10n, maxPriorityFeePerGas: GWEI / 10n });
  });

  test('whatever nodes say, never above the cap, and what is offered may be signed', () => {
    fc.assert(
      fc.property(wei, wei, boundsOf, (baseFeePerGas, tipPerGas, bounds) => {
        const prices = pricesFor({ baseFeePerGas, tipPerGas }, bounds);
        expect(isWithinBounds(prices, bounds) || prices.maxFeePerGas === 0n).toBe(true);
        // Unless the cap is in the way the next block would take it.
        if (!isAboveCap(baseFeePerGas, bounds)) expect(prices.maxFeePerGas >= baseFeePerGas).toBe(true);
      }),
    );
  });
});

describe('a first offer', () => {
  /** How often terms can be raised while the market asks for the same. */
  function raisesFrom(terms: FeeTerms, now: FeePrices, bounds: FeeBounds, most = 5): number {
    const raised = most === 0 ? undefined : raiseFees(terms, now, bounds);
    return raised === undefined ? 0 : 1 + raisesFrom(raised, now, bounds, most - 1);
  }
  /** What three raises leave within a cap. */
  const wouldFit = (price: bigint, cap: bigint): boolean =>
    [1, 2, 3].reduce((raised) => raised + (raised === 0n ? 1n : (raised + 7n) / 8n), price) <= cap;

  test('leaves three raises whatever nodes say of tips, unless the market itself is at a cap', () => {
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

  test('of a tip beyond the cap is below the cap, and the raises go up to it', () => {
    const prices = pricesFor({ baseFeePerGas: 10n * GWEI, tipPerGas: 400n * GWEI }, BOUNDS);
    expect(prices.maxPriorityFeePerGas).toBeLessThan((BOUNDS.maxPriorityFeePerGas * 3n) / 4n);
    expect(prices.maxPriorityFeePerGas).toBeGreaterThan(BOUNDS.maxPriorityFeePerGas / 2n);
    expect(raisesFrom({ gasLimit: 1n, ...prices }, prices, BOUNDS)).toBe(3);
  });

  test('of a market that is at the cap is the cap: it gets into the block, or nothing does', () => {
    const prices = pricesFor({ baseFeePerGas: 98n * GWEI, tipPerGas: GWEI }, BOUNDS);
    expect(prices).toEqual({ maxFeePerGas: 100n * GWEI, maxPriorityFeePerGas: GWEI });
    expect(raisesFrom({ gasLimit: 1n, ...prices }, prices, BOUNDS)).toBe(0);
  });

  test('leaves what raises it can', () => {
    for (const [base, raises] of [
      [77n, 2],
      [85n, 1],
      [95n, 0],
    ] as const) {
      const prices = pricesFor({ baseFeePerGas: base * GWEI, tipPerGas: GWEI }, BOUNDS);
      expect(raisesFrom({ gasLimit: 1n, ...prices }, prices, BOUNDS)).toBe(raises);
    }
  });

  test('doubles the base fee only as far as raises are left', () => {
    const { maxFeePerGas } = pricesFor({ baseFeePerGas: 60n * GWEI, tipPerGas: GWEI }, BOUNDS);
    expect(maxFeePerGas).toBeGreaterThan(61n * GWEI);
    expect(maxFeePerGas).toBeLessThan(75n * GWEI);
  });
});

describe('a raise', () => {
  test('is an eighth on both, rounded up', () => {
    const old = { gasLimit: 60_000n, maxFeePerGas: 1_001n, maxPriorityFeePerGas: 9n };
    const bounds = { ...BOUNDS, minPriorityFeePerGas: 0n };
    expect(raiseFees(old, { maxFeePerGas: 0n, maxPriorityFeePerGas: 0n }, bounds)).toEqual({
      gasLimit: 60_000n,
      maxFeePerGas: 1_127n,
      maxPriorityFeePerGas: 11n,
    });
  });

  test('of nothing is something: nodes refuse an equal price', () => {
    const bounds = { ...BOUNDS, minPriorityFeePerGas: 0n };
    const nothing = { maxFeePerGas: 8n, maxPriorityFeePerGas: 0n };
    expect(raiseFees({ gasLimit: 1n, ...nothing }, nothing, bounds)).toEqual({
      gasLimit: 1n,
      maxFeePerGas: 9n,
      maxPriorityFeePerGas: 1n,
    });
  });

  test('is at least what is asked now', () => {
    const old = { gasLimit: 1n, maxFeePerGas: 10n * GWEI, maxPriorityFeePerGas: GWEI };
    const now = { maxFeePerGas: 40n * GWEI, maxPriorityFeePerGas: 2n * GWEI };
    expect(raiseFees(old, now, BOUNDS)).toEqual({ gasLimit: 1n, ...now });
  });

  test('is none when a cap leaves no room on either price', () => {
    const now = { maxFeePerGas: 0n, maxPriorityFeePerGas: 0n };
    const of = (maxFeePerGas: bigint, maxPriorityFeePerGas: bigint): unknown =>
      raiseFees({ gasLimit: 1n, maxFeePerGas, maxPriorityFeePerGas }, now, BOUNDS);
    expect(of(89n * GWEI, GWEI)).toBeUndefined();
    expect(of(10n * GWEI, (9n * GWEI) / 2n)).toBeUndefined();
    expect(of(88n * GWEI, GWEI)).toBeDefined();
  });

  test('is taken by every node, never above the caps, never below what is asked now within them', () => {
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

  test('raises that follow one another end at the cap', () => {
    const now = { maxFeePerGas: 20n * GWEI, maxPriorityFeePerGas: GWEI };
    let terms: ReturnType<typeof raiseFees> = { gasLimit: 1n, ...now };
    let raises = 0;
    for (; terms !== undefined && raises < 100; raises += 1) terms = raiseFees(terms, now, BOUNDS);
    expect(raises).toBeLessThan(20);
  });
});

describe('the bounds of a network file', () => {
  test.each([
    ['1.5', '2', '3'],
    ['-1', '2', '3'],
    ['', '2', '3'],
    ['0x1', '2', '3'],
    ['3', '2', '3'],
    ['1', '4', '3'],
    ['0', '0', '0'],
  ])('%s, %s, %s are none', (minPriorityFeePerGas, maxPriorityFeePerGas, maxFeePerGas) => {
    expect(() => feeBoundsOf({ minPriorityFeePerGas, maxPriorityFeePerGas, maxFeePerGas })).toThrow(
      TypeError,
    );
  });

  test('are read exactly', () => {
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
