import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { sql } from 'kysely';
import type { OrderRow } from '@opentill/testkit/scenario';
import { createTronSweepWorld, ONE_TRX, type TronSweepWorld } from './tron-sweep-world.ts';

// A TRON transfer to a receiver without a balance of the token takes about twice the energy. Cold storage usually has a
// balance.

const USDT = 1_000_000n;
const FLOAT = { float: '1000' };

let world: TronSweepWorld;
beforeAll(async () => {
  world = await createTronSweepWorld({ usdt: 0n });
  expect(await world.tokensAt(world.cold)).toBeGreaterThan(0n);
});
afterAll(async () => {
  await world.close();
});

const atHot = () => world.tokensAt(world.tron.wallet);
const sweepsOf = async ({ address }: OrderRow) => {
  const { rows } = await sql<{ state: string; method: string; to: string }>`
    select state, method, destination_kind as to from sweep where address = ${address} and symbol = 'USDT' order by planned_at`.execute(
    world.admin,
  );
  return rows;
};
const isDone = async (order: OrderRow) => (await sweepsOf(order)).some(({ state }) => state === 'DONE');
const costOf = async ({ address }: OrderRow) => {
  const { rows } = await sql<{
    cost: bigint;
  }>`select cost_estimate as cost from sweep where address = ${address} and symbol = 'USDT'`.execute(
    world.admin,
  );
  return rows[0]!.cost;
};

afterEach(async () => {
  const { tron } = world;
  const payout = await tron.payout({ amount: await atHot() });
  const driver = await tron.start();
  await tron.land([payout]);
  await driver.stop();
  expect(await atHot()).toBe(0n);
});

test.each([
  ['coin on the address', 100n * ONE_TRX, 'FREE', {}],
  ['a coin top-up', 0n, 'TOP_UP', {}],
  ['bought energy', ONE_TRX, 'RENT', { rent: true }],
])(
  'refills a hot wallet without a balance of the token, paid by %s',
  async (_, sun, method, sweep) => {
    const order = await world.paid(50n * USDT, sun);
    const signer = await world.start({ asset: FLOAT, sweep });
    await world.mineUntil('it is swept', () => isDone(order));
    await signer.stop();
    expect(await sweepsOf(order)).toEqual([{ state: 'DONE', method, to: 'HOT' }]);
    expect(await atHot()).toBe(50n * USDT);
  },
  120_000,
);

test('estimates a higher cost only for the first refill of an empty hot wallet', async () => {
  const [first, second] = [
    await world.paid(50n * USDT, 100n * ONE_TRX),
    await world.paid(60n * USDT, 100n * ONE_TRX),
  ];
  const toCold = await world.paid(2_000n * USDT, 100n * ONE_TRX);
  const one = await world.start({ asset: FLOAT, sweep: { batchSize: 1 } });
  const all = async () => (await isDone(first)) && (await isDone(second)) && isDone(toCold);
  await world.mineUntil('all are swept', all, 90_000);
  await one.stop();
  expect([...(await sweepsOf(first)), ...(await sweepsOf(second)), ...(await sweepsOf(toCold))]).toEqual(
    ['HOT', 'HOT', 'COLD'].map((to) => ({ state: 'DONE', method: 'FREE', to })),
  );
  const [slot, after, cold] = [await costOf(first), await costOf(second), await costOf(toCold)];
  expect(slot).toBeGreaterThan((cold * 3n) / 2n);
  expect(after).toBe(cold);
});
