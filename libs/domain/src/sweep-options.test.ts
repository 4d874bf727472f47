import { describe, expect, test } from 'vitest';
import fc from 'fast-check';
import { baseUnits } from './money.ts';
import { withFeeMargin } from './fee-margin.ts';
import { planSweeps, type SweepOption, type UnsweptAsset } from './plan-sweeps.ts';
import {
  burnCost,
  requiredStake,
  topUpWithWork,
  sweepOptions,
  topUpWithMargin,
  type SweepMeans,
  type SweepNeed,
  type SweepTerms,
} from './sweep-options.ts';

const TRX = 1_000_000n;
/** Tether to an existing holder, at TRON's prices of 2026. */
const NEED: SweepNeed = { workUnits: 64_285n, bytes: 345n };
const NEW: SweepMeans = { isActive: false, coinBaseUnits: 0n, workUnits: 0n, freeBytes: 0n };
const ACTIVE: SweepMeans = { isActive: true, coinBaseUnits: 0n, workUnits: 0n, freeBytes: 600n };
const PRICES = { perUnit: 100n, perByte: 1_000n, activation: 1_100_000n, freeBytesOfNew: 600n };
/** 180 billion units per day for 19 billion TRX. */
const LENDING = {
  yields: { units: 180_000_000_000n, stake: 19_000_000_000n * TRX },
  bytes: 560n,
  step: TRX,
};
const terms = (overrides: Partial<SweepTerms> = {}): SweepTerms => ({
  prices: PRICES,
  topUpBytes: 267n,
  lending: LENDING,
  rentPrice: (units) => units * 44n,
  ...overrides,
});
const costs = (need: SweepNeed, means: SweepMeans, given = terms()) =>
  Object.fromEntries(sweepOptions(need, means, given).map((way) => [way.method, way.costBaseUnits]));

describe('sweepOptions', () => {
  test('adds the activation cost for an address without an account', () => {
    expect(costs(NEED, NEW)).toEqual({
      TOP_UP: 6_428_500n + 267_000n + 1_100_000n,
      STAKE: 267_000n + 1_100_000n + 560_000n,
      RENT: 267_000n + 1_100_000n + 64_285n * 44n,
    });
  });

  test('costs only energy while the free bytes of the day last', () => {
    expect(costs(NEED, ACTIVE)).toEqual({
      TOP_UP: 6_428_500n + 267_000n,
      STAKE: 560_000n,
      RENT: 64_285n * 44n,
    });
    const usedUp = { ...ACTIVE, freeBytes: 344n };
    expect(costs(NEED, usedUp)).toEqual({
      TOP_UP: 6_428_500n + 345_000n + 267_000n,
      STAKE: 345_000n + 267_000n + 560_000n,
      RENT: 345_000n + 267_000n + 64_285n * 44n,
    });
  });

  test('offers only FREE if the address has the coin or the energy', () => {
    const rich = { ...ACTIVE, coinBaseUnits: topUpWithMargin(6_428_500n) };
    expect(costs(NEED, rich)).toEqual({ FREE: 6_428_500n });
    expect(costs(NEED, { ...ACTIVE, workUnits: 64_285n })).toEqual({ FREE: 0n });
    expect(costs(NEED, { ...rich, coinBaseUnits: rich.coinBaseUnits - 1n })).toHaveProperty('TOP_UP');
  });

  test('costs more for a token with a higher energy factor', () => {
    expect(costs({ ...NEED, workUnits: 14_650n }, ACTIVE)['TOP_UP']).toBe(1_465_000n + 267_000n);
  });

  test('offers no STAKE or RENT without stake or seller', () => {
    expect(
      Object.keys(costs(NEED, ACTIVE, terms({ lending: undefined, rentPrice: () => undefined }))),
    ).toEqual(['TOP_UP']);
    const unknown = { ...LENDING, yields: { units: 0n, stake: 0n } };
    expect(Object.keys(costs(NEED, ACTIVE, terms({ lending: unknown })))).toEqual(['TOP_UP', 'RENT']);
  });
});

test('adds one small margin to a top-up', () => {
  const brought = sweepOptions(NEED, ACTIVE, terms()).find(
    ({ method }) => method === 'TOP_UP',
  )?.topUpBaseUnits;
  expect(brought).toBe((6_428_500n * 105n) / 100n);
});

test('lends enough stake in whole coins, at least one', () => {
  // 64,285 units for 6,786 TRX, and a margin of 2 %.
  expect(requiredStake(64_285n, LENDING)).toBe(6_922n * TRX);
  expect(requiredStake(1n, LENDING)).toBe(TRX);
  fc.assert(
    fc.property(fc.bigInt({ min: 1n, max: 10_000_000n }), (units) => {
      const stake = requiredStake(units, LENDING)!;
      expect((stake * LENDING.yields.units) / LENDING.yields.stake).toBeGreaterThanOrEqual(units);
      expect(stake % TRX).toBe(0n);
    }),
  );
});

const amount = (max: bigint) => fc.bigInt({ min: 0n, max });
const arbitraryMeans: fc.Arbitrary<SweepMeans> = fc.oneof(
  fc.constant(NEW),
  fc.record({
    isActive: fc.constant(true),
    coinBaseUnits: amount(20n * TRX),
    workUnits: amount(150_000n),
    freeBytes: amount(600n),
  }),
);
const arbitraryNeed = fc.record({
  workUnits: fc.bigInt({ min: 1n, max: 150_000n }),
  bytes: fc.constant(345n),
});
const arbitraryTerms: fc.Arbitrary<SweepTerms> = fc
  .record({ perUnit: fc.bigInt({ min: 1n, max: 420n }), rent: fc.option(amount(500n)), isLent: fc.boolean() })
  .map(({ perUnit, rent, isLent }) =>
    terms({
      prices: { ...PRICES, perUnit },
      lending: isLent ? LENDING : undefined,
      rentPrice: (units) => (rent === null ? undefined : units * rent),
    }),
  );

describe('sweepOptions for arbitrary addresses', () => {
  test('pays for everything that the sweep needs, and only once', () => {
    fc.assert(
      fc.property(arbitraryNeed, arbitraryMeans, arbitraryTerms, (need, means, given) => {
        const { prices } = given;
        const bytesFree = need.bytes <= (means.isActive ? means.freeBytes : prices.freeBytesOfNew);
        for (const way of sweepOptions(need, means, given)) {
          const coin = means.coinBaseUnits + way.topUpBaseUnits;
          const isPaidOtherwise = way.method === 'STAKE' || way.method === 'RENT';
          const units = isPaidOtherwise
            ? 0n
            : need.workUnits > means.workUnits
              ? need.workUnits - means.workUnits
              : 0n;
          const takes = units * prices.perUnit + (bytesFree ? 0n : need.bytes * prices.perByte);
          expect(coin).toBeGreaterThanOrEqual(takes);
          expect(way.costBaseUnits).toBeGreaterThanOrEqual(takes);
          if (!means.isActive) expect(way.topUpBaseUnits).toBeGreaterThan(0n);
          expect(way.stakeBaseUnits === undefined).toBe(way.method !== 'STAKE');
          expect(way.rentBaseUnits === undefined).toBe(way.method !== 'RENT');
        }
      }),
      { numRuns: 400 },
    );
  });

  test('needs no second top-up after a top-up for bytes', () => {
    fc.assert(
      fc.property(arbitraryNeed, arbitraryMeans, (need, means) => {
        const brought = topUpWithWork(need, means, PRICES);
        const after = {
          isActive: true,
          coinBaseUnits: means.coinBaseUnits + brought,
          workUnits: need.workUnits,
          freeBytes: means.isActive ? means.freeBytes : PRICES.freeBytesOfNew,
        };
        expect(topUpWithWork(need, after, PRICES)).toBe(0n);
        expect(burnCost(need, after, PRICES)).toBeLessThanOrEqual(after.coinBaseUnits);
        expect(sweepOptions(need, after, terms()).map(({ method }) => method)).toEqual(['FREE']);
      }),
    );
  });
});

describe('planSweeps with several addresses', () => {
  const USDT = 1_000_000n;
  const RULES = {
    nativePrice: { units: 3n, scale: 1 },
    nativeDecimals: 6,
    maxCostBps: 500,
    maxGasPrice: undefined,
    minAgeMs: 0,
    maxAgeMs: 1_000_000,
    batchSize: 20,
    maxTopUpBaseUnits: 100n * TRX,
    maxRentBaseUnits: 20n * TRX,
  };
  const planOf = (
    ways: readonly (readonly SweepOption[])[],
    money: { budget: bigint; gas: bigint; delegable: bigint; rent: bigint },
  ) => {
    const unswept: UnsweptAsset[] = ways.map((options, place) => ({
      address: `address ${String(place).padStart(3, '0')}`,
      symbol: 'USDT',
      decimals: 6,
      isNative: false,
      amountBaseUnits: baseUnits(100n * USDT),
      sinceMs: place,
      options,
    }));
    return planSweeps({
      rules: RULES,
      nowMs: 500_000,
      gasPrice: 100n,
      budgetBaseUnits: money.budget,
      gasHeldBaseUnits: money.gas,
      delegableBaseUnits: money.delegable,
      rentBudgetBaseUnits: money.rent,
      unswept,
      busyAddresses: new Set(),
      hot: [],
      heldSymbols: new Set(),
      stopReason: undefined,
      isRun: true,
    });
  };
  const plenty = { budget: 10_000n * TRX, gas: 10_000n * TRX, delegable: 0n, rent: 0n };

  test('uses stake first, then rent within its budget, then top-ups', () => {
    const ways = Array.from({ length: 4 }, () => sweepOptions(NEED, ACTIVE, terms()));
    const { begin } = planOf(ways, { ...plenty, delegable: 2n * 6_922n * TRX, rent: 64_285n * 44n });
    expect(begin.map(({ option }) => option.method)).toEqual(['STAKE', 'STAKE', 'RENT', 'TOP_UP']);
  });

  test('rents no energy above the limit of one order', () => {
    const ways = [sweepOptions(NEED, ACTIVE, terms({ lending: undefined, rentPrice: () => 20n * TRX + 1n }))];
    expect(planOf(ways, { ...plenty, rent: 100n * TRX }).begin[0]?.option.method).toBe('TOP_UP');
  });

  test('selects the cheapest option within stake and rent budgets', () => {
    const arbitrary = fc.record({
      ways: fc.array(
        fc.tuple(arbitraryNeed, arbitraryMeans, arbitraryTerms).map((given) => sweepOptions(...given)),
        { minLength: 1, maxLength: 12 },
      ),
      delegable: amount(60_000n * TRX),
      rent: amount(60n * TRX),
      budget: amount(60n * TRX),
      gas: amount(60n * TRX),
    });
    fc.assert(
      fc.property(arbitrary, ({ ways, ...money }) => {
        const { begin } = planOf(ways, money);
        let { delegable, rent, budget, gas } = money;
        for (const { asset, option } of begin) {
          const cheaper = asset.options.filter(({ costBaseUnits }) => costBaseUnits < option.costBaseUnits);
          for (const way of cheaper) {
            const { stakeBaseUnits = 0n, rentBaseUnits = 0n } = way;
            const isPossible =
              stakeBaseUnits <= delegable &&
              rentBaseUnits <= rent &&
              rentBaseUnits <= RULES.maxRentBaseUnits &&
              withFeeMargin(way.costBaseUnits) <= budget &&
              way.topUpBaseUnits <= gas &&
              way.topUpBaseUnits <= RULES.maxTopUpBaseUnits;
            expect(isPossible).toBe(false);
          }
          delegable -= option.stakeBaseUnits ?? 0n;
          rent -= option.rentBaseUnits ?? 0n;
          budget -= withFeeMargin(option.costBaseUnits);
          gas -= option.topUpBaseUnits;
        }
        for (const left of [delegable, rent, budget, gas]) expect(left).toBeGreaterThanOrEqual(0n);
      }),
      { numRuns: 400 },
    );
  });

  test('eventually sweeps all addresses within the daily budgets', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(arbitraryNeed, arbitraryMeans), { minLength: 1, maxLength: 12 }),
        amount(15_000n * TRX),
        amount(6n * TRX),
        (addresses, delegable, rent) => {
          let left = addresses.map(([need, means]) => sweepOptions(need, means, terms()));
          for (let day = 0; left.length > 0; day += 1) {
            expect(day).toBeLessThan(addresses.length);
            const { begin } = planOf(left, { budget: 30n * TRX, gas: 25n * TRX, delegable, rent });
            left = left.filter((ways) => !begin.some(({ asset }) => asset.options === ways));
          }
        },
      ),
      { numRuns: 100 },
    );
  });
});
