import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sql } from 'kysely';
import type { OrderRow } from '@opentill/testkit/scenario';
import { COLD, createSweepWorld, type SweepWorld } from './sweep-world.ts';

const USDT = 1_000_000n;

let world: SweepWorld;
beforeAll(async () => {
  world = await createSweepWorld();
});
afterAll(async () => {
  await world.close();
});

const isDone = async (order: OrderRow) => (await world.sweepsOf(order)).some(({ state }) => state === 'DONE');
const allDone = async (orders: readonly OrderRow[]) => {
  for (const order of orders) if (!(await isDone(order))) return false;
  return true;
};

describe('deposit addresses over several rounds', () => {
  test('continues sweeps where a stopped signer left off, with one or two signers', async () => {
    const before = await world.tokensAt(COLD);
    const orders = [await world.paid(10n * USDT), await world.paid(11n * USDT)];
    const first = await world.start();
    await world.mineUntil('a fee is on its way', async () =>
      (await Promise.all(orders.map((order) => world.movesOf(order)))).some((moves) => moves.length > 0),
    );
    await first.stop();
    const both = [await world.start(), await world.start()];
    await world.mineUntil('all is swept', () => allDone(orders));
    for (const signer of both) await signer.stop();
    expect((await world.tokensAt(COLD)) - before).toBe(21n * USDT);
    for (const order of orders) expect(await world.movesOf(order)).toHaveLength(2);
  });

  test('sweeps money that arrives during a sweep next, with the remaining coin', async () => {
    const before = await world.tokensAt(COLD);
    const order = await world.paid(50n * USDT);
    const signer = await world.start();
    await world.mineUntil('it is swept', () => isDone(order));
    const again = await world.paidAgain(order, 5n * USDT);
    await world.mineUntil(
      'the later payment is swept',
      async () => (await world.sweepsOf(order)).filter(({ state }) => state === 'DONE').length === 2,
    );
    await signer.stop();
    expect(again).toBe(55n * USDT);
    expect((await world.tokensAt(COLD)) - before).toBe(55n * USDT);
  });

  test('sweeps other addresses behind amounts that are never worth their cost', async () => {
    const dust = [await world.paid(1n), await world.paid(1n), await world.paid(1n)];
    const worth = await world.paid(6n * USDT);
    const signer = await world.start({ sweep: { batchSize: 1 } });
    await world.mineUntil('it is swept', () => isDone(worth));
    await signer.stop();
    for (const order of dust) {
      expect(await world.sweepsOf(order)).toEqual([]);
      await sql`update deposit_balance set since = now() where address = ${order.address}`.execute(
        world.admin,
      );
    }
  });
});

test('refills the hot wallet to its float and moves the excess to cold storage', async () => {
  const free = await world.balance('HOT_AVAILABLE');
  const held = await world.tokensAt(world.signer.wallet);
  const order = await world.paid(40n * USDT);
  const float = free + 1_000n * USDT;
  const asset = { float: `${float / USDT}` };
  const signer = await world.start({ asset });
  await world.mineUntil('it is swept', () => isDone(order));
  // Later deposits to the hot wallet would exceed the lower float and might be too small to move.
  await world.mineUntil('no sweep is open', async () => {
    const { rows } = await sql`select from sweep where state = 'OPEN'`.execute(world.admin);
    return rows.length === 0;
  });
  await signer.stop();
  expect((await world.tokensAt(world.signer.wallet)) - held).toBeGreaterThanOrEqual(40n * USDT);
  expect(await world.balance('HOT_AVAILABLE')).toBeGreaterThanOrEqual(free + 40n * USDT);
  const lowFloat = free - 100n * USDT;
  const cold = await world.balance('COLD');
  const above = (await world.balance('HOT_AVAILABLE')) - lowFloat;
  const lower = await world.start({ asset: { float: `${lowFloat / USDT}` } });
  await world.mineUntil(
    'the excess is in cold storage',
    // Also includes the deposits of earlier tests, to either destination.
    async () =>
      (await world.balance('COLD')) - cold >= above && (await world.balance('HOT_AVAILABLE')) === lowFloat,
  );
  await lower.stop();
});
