import { afterAll, beforeAll, expect, test } from 'vitest';
import { sql } from 'kysely';
import type { ExpiringSender } from '@opentill/chain/expiring-sender';
import { createCrashPoints, type CrashPoints } from '@opentill/testkit/crash-points';
import type { OrderRow } from '@opentill/testkit/scenario';
import { seededRandom } from '@opentill/testkit/seeded-random';
import type { EnergySeller } from '../../src/energy/energy-seller.ts';
import { endLeases } from '../world/end-leases.ts';
import { requireProgress } from '../world/require-progress.ts';
import { CHAIN, createTronSweepWorld, ONE_TRX, type TronSweepWorld } from './tron-sweep-world.ts';

// Two signers crash at any SQL statement and at any call to chain or seller, before or after it. The seller keeps money
// or delivers too little, late or never. Each address is emptied once, no sweep buys twice, and no stake stays
// delegated.

const SEED = Number(process.env['SEED'] ?? 20_261_122);
const CRASHES = 21;
const ADDRESSES = Number(process.env['ADDRESSES'] ?? 12);
const LIMIT_MS = 1_800_000;
/** Steps: statements and calls, each with a side before and one after. */
const LIFE_MAX = 700;
const USDT = 1_000_000n;

const random = seededRandom(SEED);
const counts = { crashes: 0, reorganisations: 0, lost: 0 };
const diedAt = new Map<string, number>();

let world: TronSweepWorld;
beforeAll(async () => {
  world = await createTronSweepWorld();
  // Enough for two concurrent sweeps. Used energy recovers over a day.
  await world.stake(40_000n * ONE_TRX);
});
afterAll(async () => {
  await world.close();
});

const CALLS = ['prepare', 'balances', 'sign', 'broadcast'] as const;

function mortal(sender: ExpiringSender, points: CrashPoints): ExpiringSender {
  const steps = Object.fromEntries(
    CALLS.map((name) => {
      const call = sender[name] as (...given: unknown[]) => Promise<unknown>;
      const effect = (...given: unknown[]): Promise<unknown> =>
        name === 'broadcast' && random() < 0.1 ? lose(given[0] as readonly unknown[]) : call(...given);
      return [name, (...given: unknown[]) => points.around(name, () => effect(...given))];
    }),
  );
  const { accounts } = { accounts: sender.energy! };
  const energy: NonNullable<ExpiringSender['energy']> = {
    ...accounts,
    means: (...given) => points.around('means', () => accounts.means(...given)),
    delegable: (...given) => points.around('lendable', () => accounts.delegable(...given)),
    lent: (...given) => points.around('lent', () => accounts.lent(...given)),
  };
  return { ...sender, ...steps, energy };
}

function mortalSeller(seller: EnergySeller, points: CrashPoints): EnergySeller {
  return {
    ...seller,
    quote: (...given) => points.around('quote', () => seller.quote(...given)),
    order: (...given) => points.around('order', () => seller.order(...given)),
  };
}

function lose(signed: readonly unknown[]): Promise<unknown> {
  counts.lost += 1;
  return Promise.resolve(signed.map(() => 'UNKNOWN'));
}

interface Life {
  readonly points: CrashPoints;
  readonly runner: Awaited<ReturnType<TronSweepWorld['start']>>;
}

async function startLife(): Promise<Life> {
  const points = createCrashPoints();
  const runner = await world.start({
    sweep: { stake: true, rent: true },
    wrapPool: points.wrapPool,
    leaseTtlMs: 10_000,
    energyWaitMs: 4_000,
    sender: (sender) => mortal(sender, points),
    seller: (seller) => mortalSeller(seller, points),
  });
  points.crashAt(20 + Math.floor(random() * LIFE_MAX));
  return { points, runner };
}

async function restartCrashed(lives: Life[]): Promise<void> {
  for (const [place, { points, runner }] of lives.entries()) {
    if (!points.crashed) continue;
    counts.crashes += 1;
    const step = points.steps.at(-1) ?? 'unknown';
    diedAt.set(step, (diedAt.get(step) ?? 0) + 1);
    await runner.stop();
    await endLeases(world.admin);
    lives[place] = await startLife();
  }
}

async function countSweeps(state: string): Promise<number> {
  const { rows } = await sql<{ n: number }>`
    select count(*)::int as n from sweep where state = ${state}`.execute(world.admin);
  return rows[0]?.n ?? 0;
}

test(
  'sweeps each address once and leaves no stake delegated after any crashes',
  async () => {
    const { devnet, wallet } = world.tron;
    const orders: OrderRow[] = [];
    let sum = 0n;
    const payMore = async (count: number) => {
      for (let more = 0; more < count; more += 1) {
        const place = orders.length;
        const amount = BigInt(place + 50) * USDT + BigInt(place);
        orders.push(await world.paid(amount, place % 3 === 0 ? 0n : 1n));
        sum += amount;
      }
    };
    await payMore(ADDRESSES);
    world.shop.fault({ kind: 'charges-and-fails', times: 1 });
    world.shop.fault({ kind: 'too-little', percent: 60, times: 1 });
    world.shop.fault({ kind: 'late', delayMs: 2_000, times: 1 });
    world.shop.fault({ kind: 'never-delivers', times: 1 });
    const lives = [await startLife(), await startLife()];
    const progress = requireProgress();
    for (;;) {
      await restartCrashed(lives);
      const [done, open] = [await countSweeps('DONE'), await countSweeps('OPEN')];
      const isOver = done === orders.length && open === 0;
      if (isOver && counts.crashes >= CRASHES) break;
      progress({ crashes: counts.crashes, orders: orders.length, done, open });
      if (isOver) await payMore(3);
      if (random() < 0.05) {
        await devnet.control.reorganise(1, { drop: random() < 0.5 });
        counts.reorganisations += 1;
      }
      // Failed sweeps become due again, so that all energy sources get exhausted.
      if (random() < 0.05)
        await sql`update sweep set ended_at = now() - interval '2 hours' where state = 'ABANDONED'`.execute(
          world.admin,
        );
      await world.tron.mine();
      await new Promise((resolve) => setTimeout(resolve, 60)); // several steps run between blocks
    }
    for (const { points, runner } of lives) {
      points.crashAt(undefined);
      await runner.stop();
    }
    const { rows: methods } = await sql<{ method: string; state: string; n: number }>`
      select method, state, count(*)::int as n from sweep group by 1, 2 order by 1, 2`.execute(world.admin);
    console.info(counts, Object.fromEntries(diedAt), methods);
    expect(await countSweeps('DONE')).toBe(orders.length);
    expect(await countSweeps('OPEN')).toBe(0);
    expect(await world.tokensAt(world.cold)).toBe(sum + 1_000_000_000n * USDT);
    expect(await world.balance('COLD')).toBe(sum);
    expect(counts.crashes).toBeGreaterThanOrEqual(CRASHES);
    expect(await world.lentOut()).toBe(0n);
    const { rows: left } = await sql`
      select s.sweep_id from sweep s join movement m using (sweep_id) join payout p on p.order_pk = m.order_pk
      where m.kind in ('DELEGATE', 'UNDELEGATE') and p.money = 'PAID_OUT'
      group by s.sweep_id having count(*) filter (where m.kind = 'DELEGATE') <> count(*) filter (where m.kind = 'UNDELEGATE')`.execute(
      world.admin,
    );
    expect(left).toEqual([]);
    const { rows: rents } = await sql<{ address: string; n: number; cost: bigint }>`
      select address, count(*)::int as n, sum(rent_cost) as cost from sweep where rent_cost > 0 group by address`.execute(
      world.admin,
    );
    for (const { receiver } of world.shop.orders()) {
      const taken = world.shop.orders().filter((order) => order.receiver === receiver);
      const counted = rents.find(({ address }) => address === receiver);
      expect(taken.length).toBeLessThanOrEqual(counted?.n ?? 0);
      expect(BigInt(taken.reduce((all, { payoutAmount }) => all + payoutAmount, 0))).toBeLessThanOrEqual(
        counted?.cost ?? 0n,
      );
    }
    let coins = 0n;
    for (const { address } of orders) {
      expect(await world.tokensAt(address)).toBe(0n);
      const { rows } = await sql<{ n: number }>`
        select count(*)::int as n from movement m join payout p using (order_pk) join sweep s using (sweep_id)
        where s.address = ${address} and m.kind = 'SWEEP' and p.money = 'PAID_OUT'`.execute(world.admin);
      expect(rows[0]?.n).toBe(1);
      coins += await world.sunAt(address);
    }
    // Except the 1 sun of those that were accounts, the addresses received no more coin than was booked.
    const own = BigInt(orders.filter((_, place) => place % 3 !== 0).length);
    expect(await world.balance('DEPOSIT_GAS', 'TRX')).toBe(coins - own);
    const { rows: strange } =
      await sql`select from foreign_transaction where chain = ${CHAIN} and wallet = ${wallet}`.execute(
        world.admin,
      );
    expect(strange).toEqual([]);
  },
  LIMIT_MS,
);
