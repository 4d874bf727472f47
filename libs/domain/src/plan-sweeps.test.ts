import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { baseUnits } from './money.ts';
import {
  costInAsset,
  planSweeps,
  type HotAsset,
  type SweepFacts,
  type SweepOption,
  type SweepRules,
  type UnsweptAsset,
} from './plan-sweeps.ts';

const HOUR_MS = 3_600_000;
const NOW_MS = 1_795_000_000_000;
const USDT = 1_000_000n;

/** A coin of 18 decimals is worth 2,500 tokens of 6 decimals. */
const RULES: SweepRules = {
  nativePrice: { units: 2_500n, scale: 0 },
  nativeDecimals: 18,
  maxCostBps: 200,
  maxGasPrice: 50n,
  minAgeMs: HOUR_MS,
  maxAgeMs: 100 * HOUR_MS,
  batchSize: 20,
  maxTopUpBaseUnits: 10n ** 16n,
};
const CHEAP: SweepOption = { method: 'TOP_UP', costBaseUnits: 10n ** 13n, topUpBaseUnits: 12n * 10n ** 12n }; // 0.025 USDT

function unswept(overrides: Partial<UnsweptAsset> = {}): UnsweptAsset {
  return {
    address: 'a',
    symbol: 'USDT',
    decimals: 6,
    isNative: false,
    amountBaseUnits: baseUnits(100n * USDT),
    sinceMs: NOW_MS - 2 * HOUR_MS,
    options: [CHEAP],
    ...overrides,
  };
}

function hot(overrides: Partial<HotAsset> = {}): HotAsset {
  return {
    symbol: 'USDT',
    decimals: 6,
    isNative: false,
    heldBaseUnits: 0n,
    floatBaseUnits: undefined,
    minAmountBaseUnits: 5n * USDT,
    toColdCostBaseUnits: 10n ** 13n,
    ...overrides,
  };
}

function facts(overrides: Partial<SweepFacts> = {}): SweepFacts {
  return {
    rules: RULES,
    nowMs: NOW_MS,
    gasPrice: 10n,
    budgetBaseUnits: 10n ** 18n,
    gasHeldBaseUnits: 10n ** 18n,
    unswept: [unswept()],
    busyAddresses: new Set(),
    hot: [hot()],
    heldSymbols: new Set(),
    stoppedBy: undefined,
    isRun: false,
    ...overrides,
  };
}

const reasonOf = (given: SweepFacts) => planSweeps(given).waiting[0]?.reason;

describe('what is swept', () => {
  test('all that lies there, to cold storage', () => {
    expect(planSweeps(facts())).toEqual({
      begin: [{ asset: unswept(), option: CHEAP, amountBaseUnits: 100n * USDT, destination: 'COLD' }],
      waiting: [],
      toCold: [],
    });
  });

  test('native coin less what its own transaction costs', () => {
    const option: SweepOption = { method: 'FREE', costBaseUnits: 1_000n, topUpBaseUnits: 0n };
    const asset = unswept({
      symbol: 'ETH',
      decimals: 18,
      isNative: true,
      amountBaseUnits: baseUnits(10n ** 17n),
      options: [option],
    });
    expect(planSweeps(facts({ unswept: [asset] })).begin[0]?.amountBaseUnits).toBe(10n ** 17n - 1_000n);
  });

  test('the cheapest way of those that are allowed', () => {
    const ways: SweepOption[] = [
      { method: 'TOP_UP', costBaseUnits: 30n, topUpBaseUnits: 30n },
      { method: 'RENT', costBaseUnits: 20n, topUpBaseUnits: 0n },
      { method: 'STAKE', costBaseUnits: 25n, topUpBaseUnits: 1n },
    ];
    const given = facts({ unswept: [unswept({ options: ways })] });
    expect(planSweeps(given).begin[0]?.option.method).toBe('RENT');
  });

  test.each<[string, Partial<SweepFacts>, string]>([
    ['an operator paused the chain', { stoppedBy: 'PAUSED' }, 'PAUSED'],
    ['the chain is halted', { stoppedBy: 'CHAIN_HALTED' }, 'CHAIN_HALTED'],
    ['the asset is held', { heldSymbols: new Set(['USDT']) }, 'ASSET_HELD'],
    ['a sweep of the address has not ended', { busyAddresses: new Set(['a']) }, 'ADDRESS_BUSY'],
    ['the money is young', { unswept: [unswept({ sinceMs: NOW_MS - HOUR_MS + 1 })] }, 'TOO_YOUNG'],
    ['it is little', { unswept: [unswept({ amountBaseUnits: baseUnits(5n * USDT - 1n) })] }, 'TOO_SMALL'],
    ['nobody knows a price', { unswept: [unswept({ options: [] })] }, 'PRICE_UNKNOWN'],
    ['nobody knows the price of gas', { gasPrice: undefined }, 'PRICE_UNKNOWN'],
    ['gas is dear', { gasPrice: 51n }, 'GAS_PRICE'],
    [
      'it costs more of its value than is allowed',
      { unswept: [unswept({ options: [{ ...CHEAP, costBaseUnits: 8n * 10n ** 14n + 1n }] })] },
      'COST_SHARE',
    ],
    [
      'it needs a large top-up',
      { unswept: [unswept({ options: [{ ...CHEAP, topUpBaseUnits: 10n ** 16n + 1n }] })] },
      'TOP_UP_TOO_LARGE',
    ],
    ['the budget is used up', { budgetBaseUnits: CHEAP.costBaseUnits - 1n }, 'BUDGET'],
    ['the hot wallet has no coin', { gasHeldBaseUnits: CHEAP.topUpBaseUnits - 1n }, 'NO_GAS_MONEY'],
    ['as many are under way as may be', { rules: { ...RULES, batchSize: 0 } }, 'BATCH_FULL'],
  ])('nothing while %s', (_, overrides, reason) => {
    const plan = planSweeps(facts(overrides));
    expect(plan.begin).toEqual([]);
    expect(plan.waiting.map((one) => one.reason)).toEqual([reason]);
  });

  test('at the bounds themselves', () => {
    const options = [{ ...CHEAP, costBaseUnits: 8n * 10n ** 14n, topUpBaseUnits: 10n ** 16n }]; // 2 USDT of 100
    const asset = unswept({ options, sinceMs: NOW_MS - HOUR_MS });
    const given = facts({ unswept: [asset], gasPrice: 50n, budgetBaseUnits: 8n * 10n ** 14n });
    expect(planSweeps(given).begin).toHaveLength(1);
  });

  test('little money once it is old, where its cost allows it', () => {
    const old = { sinceMs: NOW_MS - 100 * HOUR_MS, amountBaseUnits: baseUnits(2n * USDT) };
    expect(planSweeps(facts({ unswept: [unswept(old)] })).begin).toHaveLength(1);
    const dust = { ...old, amountBaseUnits: baseUnits(USDT) };
    expect(reasonOf(facts({ unswept: [unswept(dust)] }))).toBe('COST_SHARE');
  });

  test('young money when an operator asks for it, little money not', () => {
    const young = { sinceMs: NOW_MS };
    expect(planSweeps(facts({ isRun: true, unswept: [unswept(young)] })).begin).toHaveLength(1);
    const little = { ...young, amountBaseUnits: baseUnits(USDT) };
    expect(reasonOf(facts({ isRun: true, unswept: [unswept(little)] }))).toBe('TOO_SMALL');
  });

  test('of an address one asset at a time, the oldest first', () => {
    const older = unswept({ symbol: 'USDC', sinceMs: NOW_MS - 3 * HOUR_MS });
    const plan = planSweeps(facts({ unswept: [unswept(), older] }));
    expect(plan.begin.map(({ asset }) => asset.symbol)).toEqual(['USDC']);
    expect(plan.waiting.map(({ reason }) => reason)).toEqual(['ADDRESS_BUSY']);
  });
});

describe('the hot wallet', () => {
  test('is filled up to its float, the rest goes to cold storage', () => {
    const three = ['a', 'b', 'c'].map((address) => unswept({ address }));
    const float = hot({ heldBaseUnits: 50n * USDT, floatBaseUnits: 250n * USDT });
    const { begin } = planSweeps(facts({ unswept: three, hot: [float] }));
    expect(begin.map(({ destination }) => destination)).toEqual(['HOT', 'HOT', 'COLD']);
  });

  test.each<[string, Partial<HotAsset>, bigint | undefined]>([
    ['gives away what is above it', { heldBaseUnits: 300n * USDT, floatBaseUnits: 250n * USDT }, 50n * USDT],
    ['keeps all of it without a float', { heldBaseUnits: 300n * USDT }, undefined],
    [
      'keeps what is too little to move',
      { heldBaseUnits: 254n * USDT, floatBaseUnits: 250n * USDT },
      undefined,
    ],
    [
      'waits while one is under way',
      { heldBaseUnits: 300n * USDT, floatBaseUnits: 250n * USDT, toColdCostBaseUnits: undefined },
      undefined,
    ],
    [
      'keeps what costs too much to move',
      { heldBaseUnits: 300n * USDT, floatBaseUnits: 250n * USDT, toColdCostBaseUnits: 10n ** 15n },
      undefined,
    ],
  ])('%s', (_, overrides, amount) => {
    const { toCold } = planSweeps(facts({ unswept: [], hot: [hot(overrides)] }));
    expect(toCold.map(({ amountBaseUnits }) => amountBaseUnits)).toEqual(
      amount === undefined ? [] : [amount],
    );
  });
});

test('a cost in units of an asset is rounded up', () => {
  const token = { isNative: false, decimals: 6 };
  expect(costInAsset(RULES, token, 1n)).toBe(1n);
  expect(costInAsset(RULES, token, 10n ** 18n)).toBe(2_500n * USDT);
  const dear = { ...RULES, nativePrice: { units: 12_345n, scale: 4 } };
  expect(costInAsset(dear, token, 10n ** 18n)).toBe(1_234_500n);
  expect(costInAsset(RULES, { isNative: true, decimals: 18 }, 7n)).toBe(7n);
});

const arbitraryOption: fc.Arbitrary<SweepOption> = fc.record({
  method: fc.constantFrom('FREE', 'STAKE', 'RENT', 'TOP_UP'),
  costBaseUnits: fc.bigInt({ min: 0n, max: 10n ** 15n }),
  topUpBaseUnits: fc.bigInt({ min: 0n, max: 2n * 10n ** 16n }),
});
const arbitraryAsset: fc.Arbitrary<UnsweptAsset> = fc.record({
  address: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g'),
  symbol: fc.constantFrom('USDT', 'USDC'),
  decimals: fc.constant(6),
  isNative: fc.constant(false),
  amountBaseUnits: fc.bigInt({ min: 1n, max: 500n * USDT }).map(baseUnits),
  sinceMs: fc.integer({ min: NOW_MS - 200 * HOUR_MS, max: NOW_MS }),
  options: fc.array(arbitraryOption, { maxLength: 3 }),
});
const arbitraryFacts: fc.Arbitrary<SweepFacts> = fc.record({
  rules: fc.integer({ min: 0, max: 5 }).map((batchSize) => ({ ...RULES, batchSize })),
  nowMs: fc.constant(NOW_MS),
  gasPrice: fc.option(fc.bigInt({ min: 1n, max: 80n }), { nil: undefined }),
  budgetBaseUnits: fc.bigInt({ min: 0n, max: 3n * 10n ** 15n }),
  gasHeldBaseUnits: fc.bigInt({ min: 0n, max: 3n * 10n ** 16n }),
  unswept: fc.uniqueArray(arbitraryAsset, {
    selector: ({ address, symbol }) => `${address}/${symbol}`,
    maxLength: 14,
  }),
  busyAddresses: fc
    .uniqueArray(fc.constantFrom('a', 'b', 'x'), { maxLength: 3 })
    .map((list) => new Set(list)),
  hot: fc
    .tuple(
      fc.bigInt({ min: 0n, max: 1_000n * USDT }),
      fc.option(fc.bigInt({ min: 0n, max: 1_000n * USDT }), { nil: undefined }),
    )
    .map(([heldBaseUnits, floatBaseUnits]) => [
      hot({ heldBaseUnits, floatBaseUnits }),
      hot({ symbol: 'USDC', heldBaseUnits, floatBaseUnits }),
    ]),
  heldSymbols: fc.uniqueArray(fc.constantFrom('USDT', 'USDC'), { maxLength: 1 }).map((list) => new Set(list)),
  stoppedBy: fc.constantFrom(undefined, undefined, undefined, 'PAUSED' as const),
  isRun: fc.boolean(),
});

describe('whatever lies where', () => {
  test('no bound is ever passed, nothing is planned twice, and nothing is forgotten', () => {
    fc.assert(
      fc.property(arbitraryFacts, (given) => {
        const { begin, waiting, toCold } = planSweeps(given);
        const sum = (of: (sweep: (typeof begin)[number]) => bigint) =>
          begin.reduce((total, sweep) => total + of(sweep), 0n);
        const coldCost = toCold.reduce(
          (total, { symbol }) =>
            total + (given.hot.find((one) => one.symbol === symbol)?.toColdCostBaseUnits ?? 0n),
          0n,
        );
        expect(begin.length + waiting.length).toBe(given.unswept.length);
        expect(sum(({ option }) => option.costBaseUnits) + coldCost).toBeLessThanOrEqual(
          given.budgetBaseUnits,
        );
        expect(sum(({ option }) => option.topUpBaseUnits)).toBeLessThanOrEqual(given.gasHeldBaseUnits);
        expect(begin.length).toBeLessThanOrEqual(
          Math.max(0, given.rules.batchSize - given.busyAddresses.size),
        );
        const addresses = begin.map(({ asset }) => asset.address);
        expect(new Set(addresses).size).toBe(addresses.length);
        for (const { asset, option } of begin) {
          expect(given.busyAddresses.has(asset.address)).toBe(false);
          expect(costInAsset(given.rules, asset, option.costBaseUnits) * 10_000n).toBeLessThanOrEqual(
            asset.amountBaseUnits * 200n,
          );
          expect(option.topUpBaseUnits).toBeLessThanOrEqual(given.rules.maxTopUpBaseUnits);
        }
        for (const asset of given.hot) {
          const refill = begin
            .filter(({ asset: of, destination }) => of.symbol === asset.symbol && destination === 'HOT')
            .reduce((total, { amountBaseUnits }) => total + amountBaseUnits, 0n);
          if (refill > 0n)
            expect(asset.heldBaseUnits + refill).toBeLessThanOrEqual(asset.floatBaseUnits ?? -1n);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  test('the order in which facts are read makes no difference', () => {
    const inTwoOrders = arbitraryFacts.chain((given) =>
      fc.tuple(
        fc.constant(given),
        fc.shuffledSubarray([...given.unswept], {
          minLength: given.unswept.length,
          maxLength: given.unswept.length,
        }),
      ),
    );
    fc.assert(
      fc.property(inTwoOrders, ([given, unswept]) => {
        expect(planSweeps({ ...given, unswept })).toEqual(planSweeps(given));
      }),
      { numRuns: 500 },
    );
  });

  test('everything is swept in the end when prices allow it', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(arbitraryAsset, {
          selector: ({ address, symbol }) => `${address}/${symbol}`,
          minLength: 1,
          maxLength: 14,
        }),
        fc.integer({ min: 1, max: 4 }),
        (assets, batchSize) => {
          const payable = assets.map((asset) => ({
            ...asset,
            amountBaseUnits: baseUnits(asset.amountBaseUnits + 2n * USDT),
            options: [CHEAP],
          }));
          let left: readonly UnsweptAsset[] = payable;
          // A budget that pays for one sweep a day, and money that is too little until it is old.
          for (let day = 0; left.length > 0; day += 1) {
            expect(day).toBeLessThan(assets.length + 20);
            const { begin } = planSweeps(
              facts({
                rules: { ...RULES, batchSize },
                nowMs: NOW_MS + day * 24 * HOUR_MS,
                budgetBaseUnits: CHEAP.costBaseUnits,
                unswept: left,
                hot: [hot(), hot({ symbol: 'USDC' })],
              }),
            );
            left = left.filter((asset) => !begin.some((sweep) => sweep.asset === asset));
          }
        },
      ),
      { numRuns: 300 },
    );
  });
});
