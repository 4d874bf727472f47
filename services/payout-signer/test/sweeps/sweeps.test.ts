import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sql } from 'kysely';
import type { OrderRow } from '@opentill/testkit/scenario';
import { waitUntil } from '@opentill/testkit/wait-until';
import { CHAIN } from '../nonce/signer-world.ts';
import { COLD, createSweepWorld, type SweepWorld } from './sweep-world.ts';

/*
 * Deposit addresses are emptied to cold storage: planned, their fees brought, sent, proven and booked, by real signers on a
 * real chain. Whatever happens on the way, cold storage gets exactly what was paid, and each fee is brought once.
 */

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

describe('deposit addresses', () => {
  test('are emptied to cold storage, each fee brought by one top-up', async () => {
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
    // What lies there of the coin is what was brought less what the chain took.
    const coins = await Promise.all(orders.map(({ address }) => world.coinAt(address)));
    const left = coins.reduce((sum, coin) => sum + coin, 0n);
    await waitUntil('fees are booked', async () => (await world.balance('DEPOSIT_GAS', 'ETH')) === left);
    // Fees are nobody's payouts: no limit counts them, and no balance of a deposit address is watched.
    const { rows } =
      await sql`select from hot_wallet_balance where chain = ${CHAIN} and wallet <> ${world.signer.wallet}`.execute(
        world.admin,
      );
    expect(rows).toEqual([]);
  });

  test('go on where a signer that ends left them, by two signers as by one', async () => {
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

  test('money that comes while a sweep is on its way is swept next, with the coin that is left', async () => {
    const before = await world.tokensAt(COLD);
    const order = await world.paid(50n * USDT);
    const signer = await world.start();
    await world.mineUntil('it is swept', () => isDone(order));
    const again = await world.paidAgain(order, 5n * USDT);
    await world.mineUntil(
      'what came is swept',
      async () => (await world.sweepsOf(order)).filter(({ state }) => state === 'DONE').length === 2,
    );
    await signer.stop();
    expect(again).toBe(55n * USDT);
    expect((await world.tokensAt(COLD)) - before).toBe(55n * USDT);
  });
});

describe('within the policy', () => {
  test('nothing begins that costs too much of its value, is too little, or too young', async () => {
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

  test('what is never worth its cost keeps nothing waiting that lies behind it', async () => {
    const dust = [await world.paid(1n), await world.paid(1n), await world.paid(1n)];
    const worth = await world.paid(6n * USDT);
    // Of a batch of one, two are priced in a round.
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

  test('no top-up is signed that the policy does not allow, whatever rows say', async () => {
    const order = await world.paid(30n * USDT);
    // The planner would send 0.1 at most; what is asked for here is more than the sealed policy lets pass.
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

  test('nothing leaves for an address that the policy does not name', async () => {
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

test('the hot wallet is filled up to its float, and gives away what is above it', async () => {
  const free = await world.balance('HOT_AVAILABLE');
  const held = await world.tokensAt(world.signer.wallet);
  const order = await world.paid(40n * USDT);
  const float = free + 1_000n * USDT;
  const asset = { float: `${float / USDT}` };
  const signer = await world.start({ asset });
  await world.mineUntil('it is swept', () => isDone(order));
  // What comes to the hot wallet later would be above the lower float, and perhaps too little to be given away.
  await world.mineUntil('nothing is on its way any more', async () => {
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
    'what is above it is in cold storage',
    // Besides comes what the tests before left on deposit addresses, to either place.
    async () =>
      (await world.balance('COLD')) - cold >= above && (await world.balance('HOT_AVAILABLE')) === lowFloat,
  );
  await lower.stop();
});
