import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import fc from 'fast-check';
import { sql } from 'kysely';
import type { Database, Tx } from '@opentill/db/database';
import type { MovementKind } from '@opentill/db/sweep-tables';
import { baseUnits } from '@opentill/domain/money';
import { planSweeps, type SweepFacts, type UnsweptAsset } from '@opentill/domain/plan-sweeps';
import { withFeeMargin } from '@opentill/domain/fee-margin';
import { aMerchant, anEvmAddress, aPayout } from '@opentill/testkit/scenario';
import { createTestDatabase, type TestDatabase } from '@opentill/testkit/test-database';
import { rentedLastDay, spentLastDay } from '../../src/sweeps/store/spent-last-day.ts';

// The daily budget holds for any 24 hours, not only between two plans. The tests check `spentOf` over histories of the
// real planner, and compare it with the planner's SQL.

const CHAIN = 'ETH_SEPOLIA';
const DAY = 24;

interface Payment {
  readonly atHour: number;
  readonly amount: bigint;
  readonly hasFailed?: boolean;
}

interface Spending {
  readonly plannedHour: number;
  /** After the last payment. Undefined: open. */
  readonly endedHour: number | undefined;
  readonly estimate: bigint;
  readonly payments: readonly Payment[];
}

interface ColdSpending {
  readonly begunHour: number;
  readonly estimate: bigint;
  readonly payment: Payment | undefined;
}

interface History {
  readonly sweeps: readonly Spending[];
  readonly toCold: readonly ColdSpending[];
}

const sum = (amounts: readonly bigint[]) => amounts.reduce((total, amount) => total + amount, 0n);
const amountsOf = (payments: readonly Payment[]) => sum(payments.map(({ amount }) => amount));
const larger = (one: bigint, other: bigint) => (one > other ? one : other);
const isOfDay = (atHour: number, hour: number) => atHour <= hour && atHour > hour - DAY;
const isOpen = ({ endedHour }: Spending, hour: number) => endedHour === undefined || endedHour > hour;

/** Paid, plus the maximum of open work. */
function spentOf({ sweeps, toCold }: History, hour: number): bigint {
  const counted = sweeps
    .filter(({ plannedHour }) => plannedHour <= hour)
    .map((sweep) => {
      const paid = sweep.payments.filter(({ atHour }) => atHour <= hour);
      if (!isOpen(sweep, hour)) return isOfDay(sweep.endedHour ?? hour, hour) ? amountsOf(paid) : 0n;
      // A failed attempt has to be paid again.
      const failed = amountsOf(paid.filter(({ hasFailed }) => hasFailed === true));
      return failed + larger(amountsOf(paid) - failed, withFeeMargin(sweep.estimate));
    });
  const colds = toCold
    .filter(({ begunHour }) => begunHour <= hour)
    .map(({ payment, estimate }) => {
      if (payment === undefined || payment.atHour > hour) return withFeeMargin(estimate);
      return isOfDay(payment.atHour, hour) ? payment.amount : 0n;
    });
  return sum(counted) + sum(colds);
}

/** Wrong: counts sweeps by their time of planning, and open ones at their planned cost. */
function spentByPlan({ sweeps }: History, hour: number): bigint {
  return sum(
    sweeps.flatMap((sweep) => {
      if (sweep.plannedHour > hour) return [];
      if (isOpen(sweep, hour)) return [sweep.estimate];
      const paid = sweep.payments.filter(({ atHour }) => atHour <= hour);
      return isOfDay(sweep.plannedHour, hour) ? [amountsOf(paid)] : [];
    }),
  );
}

/** Wrong: counts open sweeps at the higher of plan and cost, and cold-storage sweeps once paid. */
function spentByMore({ sweeps, toCold }: History, hour: number): bigint {
  const counted = sweeps
    .filter(({ plannedHour }) => plannedHour <= hour)
    .map((sweep) => {
      const paid = amountsOf(sweep.payments.filter(({ atHour }) => atHour <= hour));
      if (isOpen(sweep, hour)) return larger(paid, withFeeMargin(sweep.estimate));
      return isOfDay(sweep.endedHour ?? hour, hour) ? paid : 0n;
    });
  const colds = toCold.flatMap(({ payment }) =>
    payment && isOfDay(payment.atHour, hour) ? payment.amount : [],
  );
  return sum(counted) + sum(colds);
}

/** In percent of the plan. All payments of one clean run stay within the margin, as the signer ensures. */
const courses = fc.array(
  fc.record({
    estimate: fc.bigInt(1n, 40n),
    broughtPercent: fc.integer({ min: 0, max: 60 }),
    tries: fc.array(
      fc.record({ afterHours: fc.integer({ min: 0, max: 40 }), percent: fc.integer({ min: 0, max: 60 }) }),
      { minLength: 1, maxLength: 3 },
    ),
    comesAtHour: fc.integer({ min: 0, max: 90 }),
  }),
  { minLength: 1, maxLength: 25 },
);
const world = fc.record({
  courses,
  budget: fc.bigInt(20n, 120n),
  coldHours: fc.array(fc.integer({ min: 0, max: 90 }), { maxLength: 6 }),
  coldCost: fc.bigInt(1n, 30n),
  coldPercent: fc.integer({ min: 0, max: 120 }),
});
type World = typeof world extends fc.Arbitrary<infer T> ? T : never;
type Course = World['courses'][number];

const RULES: SweepFacts['rules'] = {
  nativePrice: { units: 1n, scale: 0 },
  nativeDecimals: 0,
  maxCostBps: 10_000,
  maxGasPrice: undefined,
  minAgeMs: 0,
  maxAgeMs: 0,
  batchSize: 100,
  maxTopUpBaseUnits: 0n,
};

interface StartedSweep {
  readonly address: string;
  readonly course: Course;
  readonly plannedHour: number;
  endedHour: number | undefined;
  readonly estimate: bigint;
  readonly payments: Payment[];
  tried: number;
  nextHour: number;
}

const partOf = (amount: bigint, percent: number) => (amount * BigInt(percent)) / 100n;

interface Counting {
  readonly spent: typeof spentOf;
  readonly asksAgain: boolean;
}

/** Ten days, a round each hour. Returns the history, and sweeps that never started. */
function simulate(
  { courses: given, budget, coldHours, coldCost, coldPercent }: World,
  { spent, asksAgain }: Counting,
) {
  const sweeps: StartedSweep[] = [];
  const toCold: ColdSpending[] = [];
  const left = new Map(given.map((course, place) => [`a${place}`, course]));
  for (let hour = 0; hour < 20 * DAY; hour += 1) {
    for (const sweep of sweeps) advance(sweep, hour);
    const plan = planSweeps({
      rules: RULES,
      nowMs: hour,
      gasPrice: 1n,
      budgetBaseUnits: budget - spent({ sweeps, toCold }, hour),
      gasHeldBaseUnits: 0n,
      unswept: [...left].flatMap(([address, course]) =>
        course.comesAtHour <= hour ? [unsweptAt(address, course)] : [],
      ),
      busyAddresses: new Set(),
      hot: [
        {
          symbol: 'T',
          decimals: 0,
          isNative: false,
          heldBaseUnits: coldHours.includes(hour) ? 1_000n : 0n,
          floatBaseUnits: 0n,
          minAmountBaseUnits: 1n,
          toColdCostBaseUnits: coldCost,
        },
      ],
      heldSymbols: new Set(),
      stopReason: undefined,
      isRun: false,
    });
    for (const { asset } of plan.begin) {
      const course = left.get(asset.address)!;
      left.delete(asset.address);
      const brought = { atHour: hour + 1, amount: partOf(course.estimate, course.broughtPercent) };
      const nextHour = hour + 1 + course.tries[0]!.afterHours;
      const { address } = asset;
      const begun = {
        plannedHour: hour,
        endedHour: undefined,
        estimate: course.estimate,
        payments: [brought],
      };
      sweeps.push({ ...begun, address, course, tried: 0, nextHour });
    }
    for (const { costBaseUnits: estimate } of plan.toCold) {
      const payment = { atHour: hour + 1 + (hour % 31), amount: partOf(estimate, coldPercent) };
      toCold.push({ begunHour: hour, estimate, payment });
    }
  }
  return { sweeps, toCold, left };

  function advance(sweep: StartedSweep, hour: number): void {
    if (sweep.endedHour !== undefined || sweep.nextHour > hour) return;
    const { tries } = sweep.course;
    const isLast = sweep.tried === tries.length - 1;
    const amount = partOf(sweep.estimate, tries[sweep.tried]!.percent);
    sweep.payments.push({ atHour: hour, amount, hasFailed: !isLast });
    sweep.tried += 1;
    if (isLast) sweep.endedHour = hour;
    else if (!asksAgain || spent({ sweeps, toCold }, hour) <= budget)
      sweep.nextHour = hour + 1 + tries[sweep.tried]!.afterHours;
    else {
      sweep.endedHour = hour;
      left.set(sweep.address, { ...sweep.course, tries: tries.slice(sweep.tried) });
    }
  }
}

function unsweptAt(address: string, { estimate, comesAtHour }: Course): UnsweptAsset {
  return {
    address,
    symbol: 'T',
    decimals: 0,
    isNative: false,
    amountBaseUnits: baseUnits(1_000n),
    sinceMs: comesAtHour,
    options: [{ method: 'FREE', costBaseUnits: estimate, topUpBaseUnits: 0n }],
  };
}

function findOverspent(given: World, counting: Counting): readonly number[] {
  const { sweeps, toCold } = simulate(given, counting);
  const payments = [
    ...sweeps.flatMap((sweep) => sweep.payments),
    ...toCold.flatMap(({ payment }) => payment ?? []),
  ];
  return payments.flatMap(({ atHour: hour }) =>
    amountsOf(payments.filter(({ atHour }) => isOfDay(atHour, hour))) > given.budget ? [hour] : [],
  );
}

describe('daily budget of sweeps', () => {
  const counting = { spent: spentOf, asksAgain: true };

  test('never exceeds the daily budget in any 24 hours', () => {
    fc.assert(
      fc.property(world, (given) => {
        expect(findOverspent(given, counting)).toEqual([]);
      }),
      { numRuns: 100, seed: 1 },
    );
  });

  test('starts every sweep in time that the daily budget covers', () => {
    fc.assert(
      fc.property(world, (given) => {
        const { left } = simulate(given, counting);
        expect([...left.values()].filter(({ estimate }) => estimate * 12n <= given.budget)).toEqual([]);
      }),
      { numRuns: 60, seed: 1 },
    );
  });

  test.each([
    ['sweeps count by their time of planning', { spent: spentByPlan, asksAgain: true }],
    ['another attempt has no reserve', { spent: spentByMore, asksAgain: true }],
    ['another attempt ignores the budget', { spent: spentOf, asksAgain: false }],
  ])('finds an excess when %s', (_, wrong) => {
    const { failed } = fc.check(
      fc.property(world, (given) => findOverspent(given, wrong).length === 0),
      { numRuns: 2_000, seed: 1, endOnFailure: true },
    );
    expect(failed).toBe(true);
  });
});

describe('SQL of the daily budget', () => {
  let database: TestDatabase;
  let admin: Database;
  let merchantId: string;
  beforeAll(async () => {
    database = await createTestDatabase();
    admin = database.open('admin');
    ({ merchantId } = await aMerchant(admin.kysely));
  });
  afterAll(async () => {
    await admin.close();
    await database.drop();
  });

  const hourBack = fc.integer({ min: 0, max: 60 });
  /** SUI refunds the storage cost of deleted coins, which can exceed the fee. The refund funds no other sweep. */
  const bookedFee = fc.oneof(fc.bigInt(-30n, -1n), fc.bigInt(1n, 60n));
  const asCost = (fee: bigint) => larger(fee, 0n);
  const history = fc.record({
    sweeps: fc.array(
      fc.record({
        planned: hourBack,
        ended: fc.option(hourBack),
        estimate: fc.bigInt(0n, 100n),
        rent: fc.option(fc.bigInt(1n, 50n)),
        fees: fc.array(fc.record({ fee: bookedFee, hasFailed: fc.boolean() }), { maxLength: 3 }),
      }),
      { maxLength: 6 },
    ),
    toCold: fc.array(fc.record({ back: hourBack, planned: fc.bigInt(0n, 60n), fee: fc.option(bookedFee) }), {
      maxLength: 3,
    }),
  });
  type Given = typeof history extends fc.Arbitrary<infer T> ? T : never;

  /** Half an hour off the edges, because the database's clock advances. */
  const back = (hours: number) => sql`now() - ${hours + 0.5} * interval '1 hour'`;

  interface Moved {
    readonly kind: MovementKind;
    readonly sweepId?: string;
    readonly plannedCost?: bigint;
    readonly fee: bigint | null;
    readonly hasFailed?: boolean;
    readonly hours: number;
  }

  async function aMovement(tx: Tx, { kind, sweepId, plannedCost, fee, hasFailed, hours }: Moved) {
    const order = await aPayout(tx, { merchant_id: merchantId, chain: CHAIN });
    const txHash = `0x${crypto.randomUUID().replaceAll('-', '')}`;
    const money = fee === null ? 'IN_FLIGHT' : hasFailed === true ? 'RETURNED' : 'PAID_OUT';
    await sql`insert into payout (order_pk, chain, wallet, state, money, expires_at, authorised_at)
      values (${order.order_pk}, ${CHAIN}, ${order.source_address}, 'SIGNED', ${money}, now(), ${back(hours)})`.execute(
      tx,
    );
    await sql`insert into movement (order_pk, kind, sweep_id, source_kind, reserved_kind, sent_kind, target_kind, planned_cost)
      values (${order.order_pk}, ${kind}, ${sweepId ?? null}, 'HOT_GAS', 'HOT_RESERVED', 'IN_FLIGHT', 'COLD', ${plannedCost ?? null})`.execute(
      tx,
    );
    await sql`insert into own_transaction (chain, tx_hash, family, wallet, purpose, order_pk, to_address, amount, raw, fee_terms, signed_at)
      values (${CHAIN}, ${txHash}, 'EVM', ${order.source_address}, 'PAYOUT', ${order.order_pk}, 'x', 1, '', '{}', now())`.execute(
      tx,
    );
    if (fee === null) return;
    await sql`insert into own_transaction_fate (chain, tx_hash, family, block_height, block_hash, block_time, state, succeeded, delivered,
        network_fee) values (${CHAIN}, ${txHash}, 'EVM', 1, 'x', now(), 'VERIFIED', true, 1, ${asCost(fee)})`.execute(
      tx,
    );
    await sql`insert into own_transaction_settlement (chain, tx_hash, booked_fee, booked_symbol, updated_at)
      values (${CHAIN}, ${txHash}, ${fee}, 'ETH', ${back(hours)})`.execute(tx);
  }

  async function ask({
    sweeps,
    toCold,
  }: Given): Promise<{ readonly spent: bigint; readonly rented: bigint }> {
    const undo = new Error('undo');
    let answer = { spent: -1n, rented: -1n };
    const attempt = admin.kysely.transaction().execute(async (tx) => {
      for (const { planned, ended, estimate, rent, fees } of sweeps) {
        const sweepId = crypto.randomUUID();
        const endedAt = ended === null ? sql`null` : back(Math.min(ended, planned));
        await sql`insert into sweep (sweep_id, chain, family, address, symbol, amount, destination, destination_kind, method,
            cost_estimate, state, planned_at, ended_at, rent_cost, rent_ordered_at)
          values (${sweepId}, ${CHAIN}, 'EVM', ${anEvmAddress()}, 'USDT', 1, 'x', 'COLD', ${rent === null ? 'TOP_UP' : 'RENT'},
            ${estimate}, ${ended === null ? 'OPEN' : 'DONE'}, ${back(planned)}, ${endedAt}, ${rent},
            ${rent === null ? sql`null` : back(planned)})`.execute(tx);
        for (const fee of fees) await aMovement(tx, { kind: 'SWEEP', sweepId, ...fee, hours: planned });
      }
      for (const { back: hours, planned, fee } of toCold)
        await aMovement(tx, { kind: 'TO_COLD', plannedCost: planned, fee, hours });
      const { rows } = await sql<{ spent: bigint; rented: bigint }>`
        select ${spentLastDay(CHAIN, 'ETH', 0n)} as spent, ${rentedLastDay(CHAIN)} as rented`.execute(tx);
      answer = { spent: BigInt(rows[0]!.spent), rented: BigInt(rows[0]!.rented) };
      throw undo;
    });
    await expect(attempt).rejects.toBe(undo);
    return answer;
  }

  test('SQL returns the same sum as spentOf', async () => {
    await fc.assert(
      fc.asyncProperty(history, async (given) => {
        const sweeps = given.sweeps.map(({ planned, ended, estimate, rent, fees }): Spending => {
          const paid = fees.map(({ fee, hasFailed }) => ({ amount: asCost(fee), hasFailed }));
          const payments = [...paid, { amount: rent ?? 0n }].map((one) => ({ ...one, atHour: -planned }));
          const endedHour = ended === null ? undefined : -Math.min(ended, planned);
          return { plannedHour: -planned, endedHour, estimate, payments };
        });
        const toCold = given.toCold.map(({ back: hours, planned, fee }): ColdSpending => {
          const payment = fee === null ? undefined : { atHour: -hours, amount: asCost(fee) };
          return { begunHour: -hours, estimate: planned, payment };
        });
        const { spent, rented } = await ask(given);
        expect(spent).toBe(spentOf({ sweeps, toCold }, 0));
        const rents = given.sweeps.filter(({ planned }) => planned < DAY).map(({ rent }) => rent ?? 0n);
        expect(rented).toBe(sum(rents));
      }),
      { numRuns: 12, seed: 1 },
    );
  });

  test('counts gathering at its maximum while it may land, then at its actual cost', async () => {
    const undo = new Error('undo');
    const counted: bigint[] = [];
    const attempt = admin.kysely.transaction().execute(async (tx) => {
      const count = async (): Promise<void> => {
        const { rows } = await sql<{ spent: bigint }>`
          select ${spentLastDay('SUI_TEST', 'SUI', 0n)} as spent`.execute(tx);
        counted.push(BigInt(rows[0]!.spent));
      };
      for (const [txHash, chain, hours] of [
        ['now', 'SUI_TEST', 1],
        ['also', 'SUI_TEST', 2],
        ['yesterday', 'SUI_TEST', 30],
        ['elsewhere', 'SUI', 1],
      ] as const)
        await sql`insert into own_transaction (chain, tx_hash, family, wallet, purpose, to_address, amount, raw, fee_terms, signed_at)
          values (${chain}, ${txHash}, 'SUI', 'hot', 'GATHER', 'hot', 1, '', '{"cost": "40"}', ${back(hours)})`.execute(
          tx,
        );
      await count();
      const recordOutcome = (txHash: string, state: 'MINED' | 'VERIFIED', fee: bigint) =>
        sql`insert into own_transaction_fate (chain, tx_hash, family, block_height, block_hash, block_time, state, succeeded, delivered,
            network_fee) values ('SUI_TEST', ${txHash}, 'SUI', 1, 'x', now(), ${state}, true, 1, ${fee})
          on conflict (chain, tx_hash) do update set state = ${state}`.execute(tx);
      await recordOutcome('now', 'MINED', 7n);
      await count();
      await recordOutcome('now', 'VERIFIED', 7n);
      await count();
      // A storage refund above the fee funds no other sweep.
      await recordOutcome('also', 'VERIFIED', -100n);
      await count();
      throw undo;
    });
    await expect(attempt).rejects.toBe(undo);
    expect(counted).toEqual([80n, 80n, 47n, 7n]);
  });

  test('counts unplanned transfers to cold storage at their maximum when signed', async () => {
    const undo = new Error('undo');
    const counted: bigint[] = [];
    const attempt = admin.kysely.transaction().execute(async (tx) => {
      await aMovement(tx, { kind: 'TO_COLD', fee: null, hours: 30 });
      const gas = { gasLimit: '40', maxFeePerGas: '3' };
      for (const terms of [{ ...gas, dataFee: '0' }, gas, { cost: '7', feeLimit: '9' }, {}]) {
        await sql`update own_transaction set fee_terms = ${JSON.stringify(terms)}::jsonb`.execute(tx);
        const { rows } = await sql<{
          spent: bigint;
        }>`select ${spentLastDay(CHAIN, 'ETH', 1_000n)} as spent`.execute(tx);
        counted.push(BigInt(rows[0]!.spent));
      }
      throw undo;
    });
    await expect(attempt).rejects.toBe(undo);
    expect(counted).toEqual([120n, 1_120n, 7n, 0n]);
  });

  test('counts each attempt to send to cold storage, because each may have landed', async () => {
    const undo = new Error('undo');
    const attempt = admin.kysely.transaction().execute(async (tx) => {
      await aMovement(tx, { kind: 'TO_COLD', fee: null, hours: 1 });
      await sql`update own_transaction set fee_terms = '{"cost":"7"}'`.execute(tx);
      await sql`insert into own_transaction (chain, tx_hash, family, wallet, purpose, order_pk, to_address, amount, raw, fee_terms, signed_at)
        select chain, tx_hash || '0', family, wallet, purpose, order_pk, to_address, amount, raw, '{"cost":"5"}', signed_at
        from own_transaction`.execute(tx);
      const { rows } = await sql<{
        spent: bigint;
      }>`select ${spentLastDay(CHAIN, 'ETH', 0n)} as spent`.execute(tx);
      expect(BigInt(rows[0]!.spent)).toBe(12n);
      throw undo;
    });
    await expect(attempt).rejects.toBe(undo);
  });
});
