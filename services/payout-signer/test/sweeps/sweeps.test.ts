import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sql } from 'kysely';
import type { OrderRow } from '@opentill/testkit/scenario';
import { waitUntil } from '@opentill/testkit/wait-until';
import { CHAIN } from '../nonce/signer-world.ts';
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

describe('deposit addresses on an EVM chain', () => {
  test('sweeps deposit addresses to cold storage with one fee top-up each', async () => {
    const before = await world.tokensAt(COLD);
    const orders = [
      await world.paid(100n * USDT),
      await world.paid(7_654_321n),
      await world.paid(20n * USDT),
    ];
    const signer = await world.start();
    await world.mineUntil('all is swept', () => allDone(orders));
    await signer.stop();
    expect((await world.tokensAt(COLD)) - before).toBe(127_654_321n);
    for (const order of orders) {
      expect(await world.tokensAt(order.address)).toBe(0n);
      expect(await world.movesOf(order)).toEqual([
        { kind: 'GAS_TOP_UP', money: 'PAID_OUT' },
        { kind: 'SWEEP', money: 'PAID_OUT' },
      ]);
    }
    expect(await world.balance('DEPOSIT')).toBe(0n);
    expect(await world.balance('COLD')).toBe(127_654_321n);
    const coins = await Promise.all(orders.map(({ address }) => world.coinAt(address)));
    const left = coins.reduce((sum, coin) => sum + coin, 0n);
    await waitUntil('fees are booked', async () => (await world.balance('DEPOSIT_GAS', 'ETH')) === left);
    // Fees count towards no payout limit, and balances of deposit addresses raise no alarm.
    const { rows } =
      await sql`select from hot_wallet_balance where chain = ${CHAIN} and wallet <> ${world.signer.wallet}`.execute(
        world.admin,
      );
    expect(rows).toEqual([]);
  });
});

describe('policy of sweeps', () => {
  test('starts no sweep that is too expensive, too small or too young', async () => {
    const little = await world.paid(1n);
    const signer = await world.start({ asset: { sweepMin: '5' } });
    const other = await world.paid(6n * USDT);
    await world.mineUntil('the other one is swept', () => isDone(other));
    await signer.stop();
    expect(await world.sweepsOf(little)).toEqual([]);
    await sql`update deposit_balance set since = now() where address = ${little.address}`.execute(
      world.admin,
    );
  });

  test('refuses a top-up above the policy in a forged row', async () => {
    const order = await world.paid(30n * USDT);
    // The planner sends at most 0.1.
    const sweepId = crypto.randomUUID();
    await sql`insert into sweep (sweep_id, chain, family, address, symbol, contract_address, amount, destination, destination_kind, method,
        cost_estimate) values (${sweepId}, ${CHAIN}, 'EVM', ${order.address}, 'USDT', ${order.contract_address}, ${30n * USDT}, ${COLD},
        'COLD', 'TOP_UP', 1)`.execute(world.admin);
    await sql`select plan_movement(${JSON.stringify({
      orderPk: crypto.randomUUID(),
      kind: 'GAS_TOP_UP',
      sweepId,
      chain: CHAIN,
      symbol: 'ETH',
      contract: null,
      decimals: 18,
      displayDecimals: 6,
      amount: (2n * 10n ** 17n).toString(),
      wallet: world.signer.wallet,
      receiver: order.address,
      seconds: 3_600,
    })}::jsonb)`.execute(world.admin);
    const signer = await world.start();
    await world.mineUntil('it is refused', async () => (await world.movesOf(order))[0]?.money === 'RELEASED');
    await signer.stop();
    expect(await world.coinAt(order.address)).toBe(0n);
    await sql`update sweep set state = 'ABANDONED', ended_at = now() where sweep_id = ${sweepId}`.execute(
      world.admin,
    );
  });

  test('refuses a sweep to an address outside the policy', async () => {
    const order = await world.paid(30n * USDT);
    const stranger = '0x00000000000000000000000000000000000000ff';
    const sweepId = crypto.randomUUID();
    await sql`insert into sweep (sweep_id, chain, family, address, symbol, contract_address, amount, destination, destination_kind, method,
        cost_estimate) values (${sweepId}, ${CHAIN}, 'EVM', ${order.address}, 'USDT', ${order.contract_address}, ${30n * USDT}, ${stranger},
        'COLD', 'FREE', 1)`.execute(world.admin);
    const signer = await world.start();
    await world.mineUntil('it is refused', async () => (await world.movesOf(order))[0]?.money === 'RELEASED');
    await signer.stop();
    expect(await world.tokensAt(stranger)).toBe(0n);
    await sql`update sweep set state = 'ABANDONED', ended_at = now() where sweep_id = ${sweepId}`.execute(
      world.admin,
    );
  });
});
