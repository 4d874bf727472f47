import { describe, expect, test } from 'vitest';
import type { MovementKind } from '@opentill/db/sweep-tables';
import { baseUnits } from '@opentill/domain/money';
import type { FeePayer } from '../payouts/payout-facts.ts';
import { chooseWithin } from '../nonce/replace-transactions.ts';
import type { OpenNonce, OwnAttempt } from '../nonce/store/nonce-facts.ts';
import { isFeeWithinBounds } from './fee-bounds.ts';

// The address may hold coin of a customer, which must not pay unplanned fees.

const GWEI = 10n ** 9n;
const ETH = 10n ** 18n;
const NETWORK = { nativeDecimals: 18 };
/** 2000 USDT per ether, at most 2 % of the value, at most 30 gwei. */
const SWEEP = {
  maxGasPriceBaseUnits: baseUnits(30n * GWEI),
  maxCostBps: 200,
  nativePrice: { units: 2000n, scale: 0 },
};
const GAS = 50_000n;
/** At 20 gwei: 0.001 ether, which is 0.2 % of 1000 USDT. */
const PLANNED = GAS * 20n * GWEI;

const paying = (kind: MovementKind | null, more: Partial<FeePayer> = {}, planned = PLANNED): FeePayer => ({
  contract: '0xusdt',
  decimals: 6,
  amountBaseUnits: baseUnits(1_000_000_000n),
  movement: kind === null ? null : { kind, plannedCostBaseUnits: planned, paidByOthersBaseUnits: 0n },
  ...more,
});
const at = (gwei: bigint) => ({ workPrice: gwei * GWEI, feeBaseUnits: GAS * gwei * GWEI });
const isWithin = (payer: FeePayer, gwei: bigint) => isFeeWithinBounds(SWEEP, NETWORK, payer, at(gwei));

describe('fee bounds of a sweep', () => {
  test('permits the planned fee plus its margin, to the last unit', () => {
    const fee = (feeBaseUnits: bigint) =>
      isFeeWithinBounds(SWEEP, NETWORK, paying('SWEEP'), { workPrice: 20n * GWEI, feeBaseUnits });
    const most = (PLANNED * 120n) / 100n;
    expect([fee(PLANNED), fee(most), fee(most + 1n)]).toEqual([true, true, false]);
    const bringing = (kind: MovementKind, feeBaseUnits: bigint) =>
      isFeeWithinBounds(SWEEP, NETWORK, paying(kind), { workPrice: undefined, feeBaseUnits });
    for (const kind of ['GAS_TOP_UP', 'DELEGATE'] as const)
      expect([bringing(kind, most), bringing(kind, most + 1n)]).toEqual([true, false]);
  });

  test('deducts what the sweep’s other movements have paid', () => {
    const paidByOthersBaseUnits = PLANNED / 5n;
    const movement = { kind: 'SWEEP', plannedCostBaseUnits: PLANNED, paidByOthersBaseUnits } as const;
    const fee = (feeBaseUnits: bigint) =>
      isFeeWithinBounds(SWEEP, NETWORK, paying('SWEEP', { movement }), {
        workPrice: 20n * GWEI,
        feeBaseUnits,
      });
    expect([fee(PLANNED), fee(PLANNED + 1n)]).toEqual([true, false]);
  });

  test('rejects a gas price above the policy’s, independent of the plan', () => {
    const planned = 10n * PLANNED;
    expect(isWithin(paying('SWEEP', {}, planned), 30n)).toBe(true);
    expect(isWithin(paying('SWEEP', {}, planned), 31n)).toBe(false);
    expect(isWithin(paying('TO_COLD', {}, planned), 30n)).toBe(true);
    expect(isWithin(paying('TO_COLD', {}, planned), 31n)).toBe(false);
  });

  test('rejects a fee above its share of the value, independent of the row', () => {
    // 0.001 ether are 2 USDT: 2 % of 100 USDT, and more than 2 % plus the margin of 80 USDT.
    const of = (usdt: bigint, kind: MovementKind) =>
      isWithin(paying(kind, { amountBaseUnits: baseUnits(usdt * 1_000_000n) }, ETH), 20n);
    for (const kind of ['SWEEP', 'TO_COLD'] as const)
      expect([of(100n, kind), of(84n, kind), of(80n, kind)]).toEqual([true, true, false]);
  });

  test('compares a fee in native coin with the whole balance before the sweep', () => {
    const native = (moved: bigint) =>
      isWithin(paying('SWEEP', { contract: null, decimals: 18, amountBaseUnits: baseUnits(moved) }), 20n);
    expect([native(49n * PLANNED), native(39n * PLANNED)]).toEqual([true, false]);
  });

  test('rejects any fee without a known gas price if the policy bounds the price', () => {
    const fee = { workPrice: undefined, feeBaseUnits: 0n };
    const free = { ...SWEEP, maxGasPriceBaseUnits: undefined };
    expect(isFeeWithinBounds(SWEEP, NETWORK, paying('SWEEP'), fee)).toBe(false);
    expect(isFeeWithinBounds(free, NETWORK, paying('SWEEP'), fee)).toBe(true);
  });

  test('permits only the planned cost when the policy no longer sweeps the chain', () => {
    const fee = (payer: FeePayer, gwei: bigint) => isFeeWithinBounds(undefined, NETWORK, payer, at(gwei));
    expect([fee(paying('SWEEP'), 24n), fee(paying('SWEEP'), 25n)]).toEqual([true, false]);
    const unplanned = (kind: MovementKind) =>
      paying(kind, { movement: { kind, plannedCostBaseUnits: null, paidByOthersBaseUnits: 0n } });
    expect(fee(unplanned('SWEEP'), 1n)).toBe(false);
    // Planned by an earlier version: only the policy bounds it.
    expect(isWithin(unplanned('TO_COLD'), 30n)).toBe(true);
    expect(isWithin(unplanned('TO_COLD'), 31n)).toBe(false);
  });

  test.each([null, 'REFUND', 'UNDELEGATE'] as const)('does not bound the fee of %s', (kind) => {
    expect(isWithin(paying(kind, {}, 0n), 1_000n)).toBe(true);
  });
});

describe('raised fee', () => {
  const isRaised = async (
    kind: MovementKind | null,
    gwei: bigint,
    purpose: 'PAYOUT' | 'CANCEL' = 'PAYOUT',
    behind: readonly number[] = [],
  ): Promise<boolean> => {
    const context = {
      store: { readMoves: () => Promise.resolve(new Map(kind === null ? [] : [['p', paying(kind)]])) },
      rules: { policy: { sweepsOf: () => ({ sweep: SWEEP }) }, network: NETWORK },
      key: {},
    } as unknown as Parameters<typeof chooseWithin>[0];
    const nonce = { nonce: 0, state: 'SIGNED', orderPk: 'p', purpose, attempts: [] } as const;
    const terms = { gasLimit: GAS, maxFeePerGas: gwei * GWEI, maxPriorityFeePerGas: GWEI };
    const bump = { nonce, terms, attempt: {} as OwnAttempt };
    const others = behind.map((one) => ({ ...nonce, nonce: one, attempts: [{}] }) as unknown as OpenNonce);
    return (await chooseWithin(context, [bump], [nonce, ...others])).length === 1;
  };

  test.each(['SWEEP', 'TO_COLD'] as const)(
    'keeps the raised fee of a %s within the planned cost',
    async (kind) => {
      expect([await isRaised(kind, 24n), await isRaised(kind, 25n)]).toEqual([true, false]);
    },
  );

  test('raises a fee to cold storage further if other transactions wait behind it', async () => {
    expect(await isRaised('TO_COLD', 1_000n, 'PAYOUT', [1])).toBe(true);
    expect(await isRaised('SWEEP', 25n, 'PAYOUT', [1])).toBe(false);
  });

  test.each([null, 'REFUND', 'GAS_TOP_UP'] as const)(
    'raises the fee of %s up to the cap of the networks file',
    async (kind) => {
      expect(await isRaised(kind, 1_000n)).toBe(true);
    },
  );

  test('raises the fee of a nonce gap filler without a bound by sweeps', async () => {
    expect(await isRaised('SWEEP', 1_000n, 'CANCEL')).toBe(true);
  });
});
