import { describe, expect, test } from 'vitest';
import fc from 'fast-check';
import { baseUnits } from './money.ts';
import { withFeeMargin } from './fee-margin.ts';
import {
  costInAsset,
  planSweeps,
  type HotAsset,
  type SweepFacts,
  type SweepOption,
  type SweepRules,
  type SweepOptions,
  type UnsweptAsset,
} from './plan-sweeps.ts';

const HOUR_MS = 3_600_000;
const NOW_MS = 1_795_000_000_000;
const USDT = 1_000_000n;

/** A coin with 18 decimals is worth 2,500 tokens with 6 decimals. */
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
    stopReason: undefined,
    isRun: false,
    ...overrides,
  };
}

const reasonOf = (given: SweepFacts) => planSweeps(given).waiting[0]?.reason;

describe('planSweeps', () => {
  test('sweeps the whole balance to cold storage', () => {
    expect(planSweeps(facts())).toEqual({
      begin: [{ asset: unswept(), option: CHEAP, amountBaseUnits: 100n * USDT, destination: 'COLD' }],
      waiting: [],
      toCold: [],
    });
  });

  test('sweeps native coin less the cost of its own transaction', () => {
    const option: SweepOption = { method: 'FREE', costBaseUnits: 1_000n, topUpBaseUnits: 0n };
    const asset = unswept({
      symbol: 'ETH',
      decimals: 18,
      isNative: true,
      amountBaseUnits: baseUnits(10n ** 17n),
      options: [option],
    });
    expect(planSweeps(facts({ unswept: [asset] })).begin[0]?.amountBaseUnits).toBe(10n ** 17n - 1_000n);
    const sponsored = { ...asset, options: [{ ...option, isSponsored: true as const }] };
    expect(planSweeps(facts({ unswept: [sponsored] })).begin[0]?.amountBaseUnits).toBe(10n ** 17n);
  });

  test('selects the cheapest permitted option', () => {
    const ways: SweepOption[] = [
      { method: 'TOP_UP', costBaseUnits: 30n, topUpBaseUnits: 30n },
      { method: 'RENT', costBaseUnits: 20n, topUpBaseUnits: 0n },
      { method: 'STAKE', costBaseUnits: 25n, topUpBaseUnits: 1n },
    ];
    const given = facts({ unswept: [unswept({ options: ways })] });
    expect(planSweeps(given).begin[0]?.option.method).toBe('RENT');
  });

  test.each<[string, Partial<SweepFacts>, string]>([
    ['an operator paused the chain', { stopReason: 'PAUSED' }, 'PAUSED'],
    ['the chain is halted', { stopReason: 'CHAIN_HALTED' }, 'CHAIN_HALTED'],
    ['the hot wallet that has to top up the fee is halted', { isWalletHalted: true }, 'WALLET_HALTED'],
    ['the asset is held', { heldSymbols: new Set(['USDT']) }, 'ASSET_HELD'],
    ['a sweep of the address has not ended', { busyAddresses: new Set(['a']) }, 'ADDRESS_BUSY'],
    ['the money is young', { unswept: [unswept({ sinceMs: NOW_MS - HOUR_MS + 1 })] }, 'TOO_YOUNG'],
    [
      'the amount is small',
      { unswept: [unswept({ amountBaseUnits: baseUnits(5n * USDT - 1n) })] },
      'TOO_SMALL',
    ],
    ['no price is known', { unswept: [unswept({ options: [] })] }, 'PRICE_UNKNOWN'],
    ['the gas price is unknown', { gasPrice: undefined }, 'PRICE_UNKNOWN'],
    ['gas is expensive', { gasPrice: 51n }, 'GAS_PRICE'],
    [
      'it costs a larger share than permitted',
      { unswept: [unswept({ options: [{ ...CHEAP, costBaseUnits: 8n * 10n ** 14n + 1n }] })] },
      'COST_SHARE',
    ],
    [
      'it needs a large top-up',
      { unswept: [unswept({ options: [{ ...CHEAP, topUpBaseUnits: 10n ** 16n + 1n }] })] },
      'TOP_UP_TOO_LARGE',
    ],
    ['the budget is used up', { budgetBaseUnits: withFeeMargin(CHEAP.costBaseUnits) - 1n }, 'BUDGET'],
    ['the hot wallet has no coin', { gasHeldBaseUnits: CHEAP.topUpBaseUnits - 1n }, 'NO_GAS_MONEY'],
    ['the batch is full', { rules: { ...RULES, batchSize: 0 } }, 'BATCH_FULL'],
  ])('nothing while %s', (_, overrides, reason) => {
    const plan = planSweeps(facts(overrides));
    expect(plan.begin).toEqual([]);
    expect(plan.waiting.map((one) => one.reason)).toEqual([reason]);
  });

  test('uses only options without the hot wallet while that is halted', () => {
    const ways: SweepOption[] = [
      { method: 'TOP_UP', costBaseUnits: 10n, topUpBaseUnits: 10n },
      { method: 'STAKE', costBaseUnits: 11n, topUpBaseUnits: 0n, stakeBaseUnits: 5n },
      { method: 'RENT', costBaseUnits: 12n, topUpBaseUnits: 1n, rentBaseUnits: 11n },
      { method: 'RENT', costBaseUnits: 13n, topUpBaseUnits: 0n, rentBaseUnits: 13n },
    ];
    const able = {
      rules: { ...RULES, maxRentBaseUnits: 100n },
      rentBudgetBaseUnits: 100n,
      delegableBaseUnits: 100n,
      hot: [hot({ floatBaseUnits: 0n, heldBaseUnits: 50n * USDT })],
    };
    const chosen = (options: readonly SweepOption[], isWalletHalted: boolean) => {
      const { begin, toCold } = planSweeps(
        facts({ ...able, isWalletHalted, unswept: [unswept({ options })] }),
      );
      return [begin.map(({ option }) => option.costBaseUnits), toCold.length];
    };
    expect(chosen(ways, false)).toEqual([[10n], 1]);
    expect(chosen(ways, true)).toEqual([[13n], 0]);
    const free: SweepOption = { method: 'FREE', costBaseUnits: 9n, topUpBaseUnits: 0n };
    expect(chosen([free], true)).toEqual([[9n], 0]);
    expect(chosen([{ ...free, isSponsored: true }], true)).toEqual([[], 0]);
    expect(chosen([{ ...free, isSponsored: true, costBaseUnits: 0n }], true)).toEqual([[0n], 0]);
  });

  test('gives the places of sweeps that wait for a halted hot wallet to others', () => {
    const free: SweepOption = { method: 'FREE', costBaseUnits: 9n, topUpBaseUnits: 0n };
    const both = {
      rules: { ...RULES, batchSize: 2 },
      unswept: ['a', 'b', 'x'].map((address) => unswept({ address, options: [free] })),
      busyAddresses: new Set(['x', 'y']),
    };
    expect(planSweeps(facts(both)).begin).toEqual([]);
    const { begin, waiting } = planSweeps(facts({ ...both, addressesWithoutPlace: new Set(['x']) }));
    expect(begin.map(({ asset }) => asset.address)).toEqual(['a']);
    expect(waiting.map(({ reason }) => reason)).toEqual(['BATCH_FULL', 'ADDRESS_BUSY']);
  });

  test('sweeps at the exact limits', () => {
    const options = [{ ...CHEAP, costBaseUnits: 8n * 10n ** 14n, topUpBaseUnits: 10n ** 16n }]; // 2 USDT of 100
    const asset = unswept({ options, sinceMs: NOW_MS - HOUR_MS });
    const given = facts({ unswept: [asset], gasPrice: 50n, budgetBaseUnits: 96n * 10n ** 13n });
    expect(planSweeps(given).begin).toHaveLength(1);
  });

  test('sweeps small amounts once they are old, if the cost share permits it', () => {
    const old = { sinceMs: NOW_MS - 100 * HOUR_MS, amountBaseUnits: baseUnits(2n * USDT) };
    expect(planSweeps(facts({ unswept: [unswept(old)] })).begin).toHaveLength(1);
    const dust = { ...old, amountBaseUnits: baseUnits(USDT) };
    expect(reasonOf(facts({ unswept: [unswept(dust)] }))).toBe('COST_SHARE');
  });

  test('sweeps young money but not small amounts on an operator’s request', () => {
    const young = { sinceMs: NOW_MS };
    expect(planSweeps(facts({ isRun: true, unswept: [unswept(young)] })).begin).toHaveLength(1);
    const little = { ...young, amountBaseUnits: baseUnits(USDT) };
    expect(reasonOf(facts({ isRun: true, unswept: [unswept(little)] }))).toBe('TOO_SMALL');
  });

  test('sweeps one asset of an address at a time, oldest first', () => {
    const older = unswept({ symbol: 'USDC', sinceMs: NOW_MS - 3 * HOUR_MS });
    const plan = planSweeps(facts({ unswept: [unswept(), older] }));
    expect(plan.begin.map(({ asset }) => asset.symbol)).toEqual(['USDC']);
    expect(plan.waiting.map(({ reason }) => reason)).toEqual(['ADDRESS_BUSY']);
  });
});

describe('planSweeps with a hot wallet', () => {
  test('fills the hot wallet up to its float and sends the rest to cold storage', () => {
    const three = ['a', 'b', 'c'].map((address) => unswept({ address }));
    const float = hot({ heldBaseUnits: 50n * USDT, floatBaseUnits: 250n * USDT });
    const { begin } = planSweeps(facts({ unswept: three, hot: [float] }));
    expect(begin.map(({ destination }) => destination)).toEqual(['HOT', 'HOT', 'COLD']);
  });

  describe('that holds none of the token, so that a transfer to it costs more', () => {
    const DEARER: SweepOption = {
      method: 'TOP_UP',
      costBaseUnits: 2n * 10n ** 13n,
      topUpBaseUnits: 10n ** 14n,
    };
    const float = [hot({ floatBaseUnits: 250n * USDT })];
    const given = (toHot: SweepOptions, overrides: Partial<UnsweptAsset> = {}) =>
      unswept({ toHot, ...overrides });
    const chosen = (asset: UnsweptAsset, overrides: Partial<SweepFacts> = {}) => {
      const { begin, waiting } = planSweeps(facts({ unswept: [asset], hot: float, ...overrides }));
      return begin.length > 0
        ? begin.map(({ option, destination }) => [destination, option.costBaseUnits])
        : waiting.map(({ reason }) => reason);
    };

    test('fills the hot wallet at the higher cost', () => {
      expect(chosen(given({ options: [DEARER] }))).toEqual([['HOT', DEARER.costBaseUnits]]);
    });

    test('ignores the hot wallet if the amount does not fit below its float', () => {
      const much = { amountBaseUnits: baseUnits(251n * USDT) };
      expect(chosen(given({ options: [DEARER] }, much))).toEqual([['COLD', CHEAP.costBaseUnits]]);
    });

    test.each<[string, SweepOptions, Partial<SweepFacts>]>([
      ['costs a larger share than permitted', { options: [{ ...DEARER, costBaseUnits: 10n ** 15n }] }, {}],
      ['needs a large top-up', { options: [{ ...DEARER, topUpBaseUnits: 10n ** 17n }] }, {}],
      ['would be rejected', { options: [], obstacle: 'WOULD_FAIL' }, {}],
      ['is above the fee cap', { options: [], obstacle: 'FEES_ABOVE_CAP' }, {}],
    ])('uses cold storage while the way to it %s', (_, toHot, overrides) => {
      expect(chosen(given(toHot), overrides)).toEqual([['COLD', CHEAP.costBaseUnits]]);
    });

    test.each<[string, SweepOptions, Partial<SweepFacts>]>([
      ['PRICE_UNKNOWN', { options: [] }, {}],
      ['BUDGET', { options: [DEARER] }, { budgetBaseUnits: withFeeMargin(DEARER.costBaseUnits) - 1n }],
      ['NO_GAS_MONEY', { options: [DEARER] }, { gasHeldBaseUnits: DEARER.topUpBaseUnits - 1n }],
    ])('waits for it while only time is missing: %s', (reason, toHot, overrides) => {
      expect(chosen(given(toHot), overrides)).toEqual([reason]);
    });

    describe('that cannot be reached in a day', () => {
      const ofDay = (more: Partial<SweepRules> = {}) => ({
        rules: { ...RULES, maxNativePerDayBaseUnits: withFeeMargin(DEARER.costBaseUnits), ...more },
        budgetBaseUnits: withFeeMargin(CHEAP.costBaseUnits),
      });
      const COLD = [['COLD', CHEAP.costBaseUnits]];
      const dear: SweepOption = { ...DEARER, topUpBaseUnits: 10n };
      const stake: SweepOption = { ...DEARER, method: 'STAKE', topUpBaseUnits: 0n, stakeBaseUnits: 10n };
      const rent: SweepOption = { ...DEARER, method: 'RENT', topUpBaseUnits: 0n, rentBaseUnits: 10n };

      test('uses cold storage only if no daily budget pays for the way to the hot wallet', () => {
        expect(chosen(given({ options: [dear] }), ofDay())).toEqual(['BUDGET']);
        const budget = withFeeMargin(DEARER.costBaseUnits) - 1n;
        const less = ofDay({ maxNativePerDayBaseUnits: budget });
        expect(chosen(given({ options: [dear] }), less)).toEqual(COLD);
        expect(chosen(given({ options: [{ ...dear, costBaseUnits: budget * 2n }, dear] }), ofDay())).toEqual([
          'BUDGET',
        ]);
      });

      test('uses cold storage if no daily budget covers the top-up', () => {
        const thirsty = {
          options: [{ ...DEARER, topUpBaseUnits: withFeeMargin(DEARER.costBaseUnits) + 1n }],
        };
        const rich = { ...ofDay(), budgetBaseUnits: 10n ** 18n, gasHeldBaseUnits: CHEAP.topUpBaseUnits };
        const brought = { ...DEARER, topUpBaseUnits: withFeeMargin(DEARER.costBaseUnits) };
        expect(chosen(given({ options: [brought] }), rich)).toEqual(['NO_GAS_MONEY']);
        expect(chosen(given(thirsty), rich)).toEqual(COLD);
      });

      test('uses cold storage if no daily budget covers the rent', () => {
        const buys = { maxRentBaseUnits: 10n, maxRentPerDayBaseUnits: 10n };
        expect(chosen(given({ options: [rent] }), ofDay(buys))).toEqual(['BUDGET']);
        expect(chosen(given({ options: [rent] }), ofDay({ ...buys, maxRentPerDayBaseUnits: 9n }))).toEqual(
          COLD,
        );
        expect(chosen(given({ options: [rent] }), ofDay({ ...buys, maxRentBaseUnits: 9n }))).toEqual(COLD);
      });

      test('uses cold storage for old money, because the total stake is unknown', () => {
        const lent = { ...ofDay(), budgetBaseUnits: 10n ** 18n, delegableBaseUnits: 9n };
        expect(chosen(given({ options: [stake] }), lent)).toEqual(['BUDGET']);
        const old = { sinceMs: NOW_MS - 100 * HOUR_MS };
        expect(chosen(given({ options: [stake] }, old), lent)).toEqual(COLD);
        expect(chosen(given({ options: [DEARER] }, old), ofDay())).toEqual(COLD);
        expect(chosen(given({ options: [DEARER] }, old))).toEqual([['HOT', DEARER.costBaseUnits]]);
      });
    });

    test('fills the hot wallet even if no transfer to cold storage is possible', () => {
      const blocked = unswept({ options: [], obstacle: 'WOULD_FAIL', toHot: { options: [DEARER] } });
      expect(chosen(blocked)).toEqual([['HOT', DEARER.costBaseUnits]]);
    });
  });

  test.each<[string, Partial<HotAsset>, bigint | undefined]>([
    [
      'moves the excess over the float',
      { heldBaseUnits: 300n * USDT, floatBaseUnits: 250n * USDT },
      50n * USDT,
    ],
    ['keeps everything without a float', { heldBaseUnits: 300n * USDT }, undefined],
    [
      'keeps an excess below the minimum',
      { heldBaseUnits: 254n * USDT, floatBaseUnits: 250n * USDT },
      undefined,
    ],
    [
      'waits while another transfer runs',
      { heldBaseUnits: 300n * USDT, floatBaseUnits: 250n * USDT, toColdCostBaseUnits: undefined },
      undefined,
    ],
    [
      'keeps an excess that costs too much to move',
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

test('rounds a cost in units of an asset up', () => {
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
const arbitraryAsset: fc.Arbitrary<UnsweptAsset> = fc
  .record({
    address: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g'),
    symbol: fc.constantFrom('USDT', 'USDC'),
    decimals: fc.constant(6),
    isNative: fc.constant(false),
    amountBaseUnits: fc.bigInt({ min: 1n, max: 500n * USDT }).map(baseUnits),
    sinceMs: fc.integer({ min: NOW_MS - 200 * HOUR_MS, max: NOW_MS }),
    options: fc.array(arbitraryOption, { maxLength: 3 }),
    toHot: fc.option(fc.record({ options: fc.array(arbitraryOption, { maxLength: 3 }) }), { nil: undefined }),
  })
  .map(({ toHot, ...asset }) => (toHot === undefined ? asset : { ...asset, toHot }));
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
  stopReason: fc.constantFrom(undefined, undefined, undefined, 'PAUSED' as const),
  isRun: fc.boolean(),
});

describe('planSweeps with arbitrary facts', () => {
  test('exceeds no limit, plans each asset once and omits none', () => {
    fc.assert(
      fc.property(arbitraryFacts, (given) => {
        const { begin, waiting, toCold } = planSweeps(given);
        const sum = (of: (sweep: (typeof begin)[number]) => bigint) =>
          begin.reduce((total, sweep) => total + of(sweep), 0n);
        const coldCost = toCold.reduce(
          (total, { symbol }) =>
            total + withFeeMargin(given.hot.find((one) => one.symbol === symbol)?.toColdCostBaseUnits ?? 0n),
          0n,
        );
        expect(begin.length + waiting.length).toBe(given.unswept.length);
        expect(sum(({ option }) => withFeeMargin(option.costBaseUnits)) + coldCost).toBeLessThanOrEqual(
          given.budgetBaseUnits,
        );
        expect(sum(({ option }) => option.topUpBaseUnits)).toBeLessThanOrEqual(given.gasHeldBaseUnits);
        expect(begin.length).toBeLessThanOrEqual(
          Math.max(0, given.rules.batchSize - given.busyAddresses.size),
        );
        const addresses = begin.map(({ asset }) => asset.address);
        expect(new Set(addresses).size).toBe(addresses.length);
        for (const { asset, option, destination } of begin) {
          const ways = destination === 'HOT' ? (asset.toHot ?? asset) : asset;
          expect(ways.options).toContain(option);
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
      { numRuns: 700 },
    );
  });

  test('does not depend on the order of the facts', () => {
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
      { numRuns: 200 },
    );
  });

  test('eventually sweeps everything that some price of the chain permits', () => {
    fc.assert(
      fc.property(arbitraryStory, (story) => {
        const { left, rounds } = simulate(story);
        const never = story.payments.filter((one) => !isEverWorthSweeping(story, one));
        expect(left).toEqual(never.map(({ name }) => name).toSorted());
        expect(rounds).toBeLessThan(ROUNDS_MAX);
      }),
      { numRuns: 60 },
    );
  });
});

interface Payment {
  readonly name: string;
  readonly address: string;
  readonly symbol: string;
  readonly amountBaseUnits: bigint;
  readonly sinceMs: number;
  readonly gas: bigint;
  /** `lasts`: rounds until a sweep of it has ended; `fails`: how often it fails. */
  readonly lasts: number;
  readonly fails: number;
}

interface Hour {
  /** Wei per unit of gas; undefined: unknown. */
  readonly price: bigint | undefined;
  readonly stops: 'PAUSED' | 'HALTED' | 'HELD' | undefined;
}

interface Story {
  readonly payments: readonly Payment[];
  readonly hours: readonly Hour[];
  readonly batchSize: number;
}

const GWEI = 10n ** 9n;
const TOP_UP_GAS = 21_000n;
const ROUNDS_MAX = 4_000;

const arbitraryPayment = fc.record({
  address: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'),
  symbol: fc.constantFrom('USDT', 'USDC'),
  amountBaseUnits: fc.oneof(
    fc.bigInt({ min: 1_000n, max: 5n * USDT }),
    fc.bigInt({ min: 5n * USDT, max: 500n * USDT }),
  ),
  sinceMs: fc.integer({ min: NOW_MS - 30 * HOUR_MS, max: NOW_MS + 30 * HOUR_MS }),
  gas: fc.bigInt({ min: 40_000n, max: 200_000n }),
  lasts: fc.integer({ min: 0, max: 4 }),
  fails: fc.integer({ min: 0, max: 2 }),
});
const arbitraryHour: fc.Arbitrary<Hour> = fc.record({
  price: fc.option(fc.bigInt({ min: GWEI, max: 90n * GWEI }), { nil: undefined, freq: 6 }),
  stops: fc.constantFrom(
    undefined,
    undefined,
    undefined,
    'PAUSED' as const,
    'HALTED' as const,
    'HELD' as const,
  ),
});
const arbitraryStory: fc.Arbitrary<Story> = fc.record({
  payments: fc
    .uniqueArray(arbitraryPayment, {
      selector: ({ address, symbol }) => `${address}/${symbol}`,
      minLength: 1,
      maxLength: 10,
    })
    .map((all) => all.map((one) => ({ ...one, name: `${one.address}/${one.symbol}` }))),
  hours: fc
    .tuple(
      fc.array(arbitraryHour, { maxLength: 30 }),
      fc.oneof(fc.bigInt({ min: GWEI / 100n, max: GWEI }), fc.bigInt({ min: GWEI, max: 50n * GWEI })),
    )
    .map(([hours, price]) => [...hours, { price, stops: undefined }]),
  batchSize: fc.integer({ min: 1, max: 4 }),
});

const STORY_RULES: SweepRules = { ...RULES, maxGasPrice: 50n * GWEI };

function optionAt(one: Payment, price: bigint): SweepOption {
  const fee = one.gas * price;
  return { method: 'TOP_UP', costBaseUnits: fee + TOP_UP_GAS * price, topUpBaseUnits: fee };
}

/** Daily budget: exactly the most expensive payment in a calm hour. */
function perDayOf({ payments, hours }: Story): bigint {
  const costs = payments.map((one) => optionAt(one, hours.at(-1)?.price ?? 0n).costBaseUnits);
  return withFeeMargin(costs.reduce((most, cost) => (cost > most ? cost : most)));
}

/** In some hour without a stop, the price is below its value and within the daily budget. */
function isEverWorthSweeping(story: Story, one: Payment): boolean {
  return story.hours.some(({ price, stops }) => {
    if (price === undefined || stops !== undefined || price > 50n * GWEI) return false;
    const { costBaseUnits } = optionAt(one, price);
    const cost = costInAsset(STORY_RULES, { isNative: false, decimals: 6 }, costBaseUnits);
    return cost * 10_000n <= one.amountBaseUnits * 200n && withFeeMargin(costBaseUnits) <= perDayOf(story);
  });
}

/**
 * Plans hour by hour. A running sweep counts against the budget until a day after its end; a failed one returns its
 * money. Ends when no money is left, or none was worth a sweep for days.
 */
function simulate(story: Story): {
  readonly left: readonly string[];
  readonly rounds: number;
} {
  const { payments, hours, batchSize } = story;
  const tries = new Map<string, number>();
  let there: readonly Payment[] = payments;
  let spent: readonly { readonly until: number; readonly cost: bigint }[] = [];
  let open: readonly { readonly one: Payment; readonly until: number }[] = [];
  let idle = 0;
  let hour = 0;
  for (
    ;
    hour < ROUNDS_MAX && (there.length > 0 || open.length > 0) && idle <= 220 + hours.length;
    hour += 1
  ) {
    const { price, stops } = hours[hour % hours.length]!;
    for (const { one } of open.filter(({ until }) => until <= hour)) {
      const tried = (tries.get(one.name) ?? 0) + 1;
      tries.set(one.name, tried);
      if (tried > one.fails) there = there.filter(({ name }) => name !== one.name);
    }
    open = open.filter(({ until }) => until > hour);
    spent = spent.filter(({ until }) => until > hour);
    const nowMs = NOW_MS + hour * HOUR_MS;
    const { begin } = planSweeps(
      facts({
        rules: { ...STORY_RULES, batchSize },
        nowMs,
        gasPrice: price,
        budgetBaseUnits: perDayOf(story) - spent.reduce((sum, { cost }) => sum + cost, 0n),
        gasHeldBaseUnits: 10n ** 18n,
        busyAddresses: new Set(open.map(({ one }) => one.address)),
        hot: [hot(), hot({ symbol: 'USDC' })],
        stopReason: stops === 'PAUSED' ? 'PAUSED' : undefined,
        isWalletHalted: stops === 'HALTED',
        heldSymbols: new Set(stops === 'HELD' ? ['USDT', 'USDC'] : []),
        unswept: there
          .filter(
            ({ address, sinceMs }) => sinceMs <= nowMs && !open.some(({ one }) => one.address === address),
          )
          .map((one) => ({
            ...unswept({ address: one.address, symbol: one.symbol, sinceMs: one.sinceMs }),
            amountBaseUnits: baseUnits(one.amountBaseUnits),
            options: price === undefined ? [] : [optionAt(one, price)],
          })),
      }),
    );
    for (const { asset, option } of begin) {
      const one = payments.find(({ name }) => name === `${asset.address}/${asset.symbol}`)!;
      open = [...open, { one, until: hour + 1 + one.lasts }];
      spent = [...spent, { until: hour + 1 + one.lasts + 24, cost: withFeeMargin(option.costBaseUnits) }];
    }
    idle = open.length > 0 ? 0 : idle + 1;
  }
  return { left: there.map(({ name }) => name).toSorted(), rounds: hour };
}
