import { afterAll, beforeAll, expect, test } from 'vitest';
import { sql } from 'kysely';
import type { OrderRow } from '@opentill/testkit/scenario';
import { waitUntil } from '@opentill/testkit/wait-until';
import { COLD, createSuiWorld, ONE_SUI, ONE_USDC, type SuiWorld } from './sui-world.ts';

// Third parties can send an address any number of coins, and a transaction takes 128.

let world: SuiWorld;
beforeAll(async () => {
  world = await createSuiWorld({}, { nodes: 2 });
});
afterAll(() => world.close());

type Symbol = 'USDC' | 'USDT' | 'SUI';

async function send(order: OrderRow, symbol: Symbol, coins: number, amount: bigint): Promise<bigint> {
  const { control } = world.devnet;
  const gift = symbol === 'SUI' ? { mist: amount } : { symbol, amountBaseUnits: amount };
  await Promise.all(
    Array.from({ length: coins }, () => control.fund(order.address, { ...gift, form: 'coin' })),
  );
  const all = (await balanceOf(order)).received + BigInt(coins) * amount;
  await waitUntil('all is booked', async () => (await balanceOf(order)).received === all, 120_000);
  return all;
}

async function balanceOf({ address }: OrderRow) {
  const { rows } = await sql<Record<'received' | 'reserved' | 'swept', bigint>>`
    select received, reserved, swept from deposit_balance where address = ${address}`.execute(world.admin);
  return rows[0] ?? { received: 0n, reserved: 0n, swept: 0n };
}

async function expectBooked(symbol: Symbol, orders: readonly OrderRow[]): Promise<void> {
  const coinType = symbol === 'SUI' ? undefined : world.devnet.tokens[symbol];
  expect(await world.heldBy(COLD, coinType)).toBe(await world.balance('COLD', symbol));
  let unswept = 0n;
  for (const order of orders) {
    const { received, reserved, swept } = await balanceOf(order);
    expect(reserved).toBe(0n);
    expect(await world.received(order)).toBe(received - swept);
    unswept += received - swept;
  }
  expect(await world.balance('DEPOSIT', symbol)).toBe(unswept);
}

test('sweeps a payment among hundreds of dust coins, gasless or sponsored', async () => {
  const [free] = await world.paidMany([100n * ONE_USDC], 'USDC', 'coin');
  const [paidFor] = await world.paidMany([100n * ONE_USDC], 'USDT', 'address');
  await send(free!, 'USDC', 150, 1n);
  await send(paidFor!, 'USDT', 150, 1n);
  const signer = await world.start({ sweep: {} });
  for (const order of [free!, paidFor!])
    await waitUntil(
      'it is swept',
      async () => (await balanceOf(order)).swept > 0n && (await balanceOf(order)).reserved === 0n,
      120_000,
    );
  await waitUntil('the dust waits', async () => {
    const { rows } = await sql<{ waiting: Record<string, number> }>`
      select plan->'waiting' as waiting from sweep_plan`.execute(world.admin);
    return rows[0]?.waiting['COST_SHARE'] === 2;
  });
  await signer.stop();
  expect(signer.failures).toEqual([]);
  expect((await balanceOf(free!)).swept).toBe(100n * ONE_USDC + 127n);
  expect((await balanceOf(paidFor!)).swept).toBe(100n * ONE_USDC + 128n);
  for (const order of [free!, paidFor!])
    expect(await world.movesOf(order)).toEqual([{ kind: 'SWEEP', money: 'PAID_OUT' }]);
  await expectBooked('USDC', [free!]);
  await expectBooked('USDT', [paidFor!]);
}, 300_000);

test('sweeps coins exactly with as many transactions as they need', async () => {
  const cold = await world.balance('COLD', 'USDC');
  const [crumbs] = await world.paidMany([ONE_USDC], 'USDC', 'address');
  const [coins] = await world.paidMany([ONE_SUI], 'SUI', 'coin');
  const inUsdc = await send(crumbs!, 'USDC', 270, 20_000n);
  const inSui = await send(coins!, 'SUI', 130, ONE_SUI / 10n + 3n);
  const signer = await world.start({ sweep: {} });
  for (const order of [crumbs!, coins!])
    await waitUntil(
      'all is swept',
      async () =>
        (await balanceOf(order)).swept === (await balanceOf(order)).received &&
        (await world.sweepsOf(order)).every(({ state }) => state === 'DONE'),
      120_000,
    );
  await signer.stop();
  expect(signer.failures).toEqual([]);
  expect((await world.balance('COLD', 'USDC')) - cold).toBe(inUsdc);
  expect(await world.balance('COLD', 'SUI')).toBe(inSui);
  // 128 with the address balance, 128, and the rest; 128 and three.
  for (const [order, sweeps] of [
    [crumbs!, 3],
    [coins!, 2],
  ] as const) {
    expect(await world.received(order)).toBe(0n);
    expect(await world.sweepsOf(order)).toEqual(
      Array.from({ length: sweeps }, () => ({
        state: 'DONE',
        method: 'FREE',
        reason: null,
        rent_cost: null,
      })),
    );
  }
  await expectBooked('SUI', [coins!]);
}, 300_000);
