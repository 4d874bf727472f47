import { afterAll, beforeAll, expect, test } from 'vitest';
import { sql } from 'kysely';
import type { OrderRow } from '@opentill/testkit/scenario';
import { waitUntil } from '@opentill/testkit/wait-until';
import { checkSuiChain } from './check-sui-chain.ts';
import { COLD, createSuiWorld, ONE_USDC, type SuiWorld } from './sui-world.ts';

let world: SuiWorld;
beforeAll(async () => {
  world = await createSuiWorld();
});
afterAll(() => world.close());

test('lands two hundred payouts of one hot wallet by their first attempts', async () => {
  const orders: OrderRow[] = [];
  for (let n = 0; n < 200; n += 1) orders.push(await world.payout({ amount: BigInt(n + 1) * 1_000n }));
  const outcomes = new Map<string, number>();
  const signer = await world.start({
    sender: (sender) => ({
      ...sender,
      async broadcast(...given) {
        const answers = await sender.broadcast(...given);
        for (const one of answers) outcomes.set(one, (outcomes.get(one) ?? 0) + 1);
        return answers;
      },
    }),
  });
  await world.land(orders, 120_000);
  await signer.stop();
  expect(signer.failures).toEqual([]);
  const found = await checkSuiChain(world, orders);
  expect(found).toEqual({ payouts: 200, wrong: [] });
  const { rows } = await sql<{ attempts: number }>`
    select count(*)::int as attempts from payout_attempt`.execute(world.admin);
  expect(rows[0]?.attempts).toBe(200);
  process.stderr.write(`outcomes of sends: ${JSON.stringify(Object.fromEntries(outcomes))}\n`);
  expect([...outcomes.keys()]).toEqual(['ACCEPTED']);
});

test('sweeps fifty orders exactly: coins and address balances, gasless and sponsored', async () => {
  const amounts = Array.from({ length: 25 }, (_, n) => BigInt(n + 1) * ONE_USDC + BigInt(n));
  const orders = [
    ...(await world.paidMany(amounts.slice(0, 9), 'USDC', 'coin')),
    ...(await world.paidMany(amounts.slice(9, 17), 'USDC', 'address')),
    ...(await world.paidMany(amounts.slice(17), 'USDC', 'party')),
    ...(await world.paidMany(amounts.slice(0, 9), 'USDT', 'coin')),
    ...(await world.paidMany(amounts.slice(9, 17), 'USDT', 'address')),
    ...(await world.paidMany(amounts.slice(17), 'USDT', 'party')),
  ];
  expect(orders).toHaveLength(50);
  const total = amounts.reduce((sum, amount) => sum + amount, 0n);
  const signer = await world.start({ sweep: {} });
  await waitUntil(
    'all is swept',
    async () => {
      const { rows } = await sql<{ open: number }>`
        select count(*)::int as open from deposit_balance where swept <> received`.execute(world.admin);
      return rows[0]?.open === 0;
    },
    120_000,
  );
  await waitUntil('every sweep has ended', async () => {
    const { rows } = await sql<{ open: number }>`
      select count(*)::int as open from sweep where state <> 'DONE'`.execute(world.admin);
    return rows[0]?.open === 0;
  });
  await signer.stop();
  expect(signer.failures).toEqual([]);
  for (const symbol of ['USDC', 'USDT'] as const) {
    expect(await world.heldBy(COLD, world.devnet.tokens[symbol])).toBe(total);
    expect(await world.balance('COLD', symbol)).toBe(total);
    expect(await world.balance('DEPOSIT', symbol)).toBe(0n);
  }
  for (const order of orders) {
    expect(await world.received(order)).toBe(0n);
    expect(await world.heldBy(order.address)).toBe(0n);
    expect(await world.movesOf(order)).toEqual([{ kind: 'SWEEP', money: 'PAID_OUT' }]);
  }
  // One transaction each. Their cost is booked on the hot wallet's coin.
  const { rows } = await sql<{ sent: number; fees: bigint }>`
    select count(*)::int as sent, sum(network_fee) as fees from own_transaction_fate f join own_transaction t using (chain, tx_hash)
    where t.wallet <> ${world.wallet}`.execute(world.admin);
  expect(rows[0]?.sent).toBe(50);
  process.stderr.write(`50 sweeps cost ${rows[0]?.fees} MIST\n`);
  expect(await world.balance('DEPOSIT_GAS', 'SUI')).toBe(0n);
});

test('sweeps other addresses while sixteen wait for their epochs to end', async () => {
  const stuck = await world.paidMany(
    Array.from({ length: 16 }, (_, n) => BigInt(n + 2) * ONE_USDC),
    'USDT',
  );
  const lost = new Set<string>();
  let losing = true;
  const signer = await world.start({
    sweep: { batchSize: 40 },
    sender: (sender) => ({
      ...sender,
      async broadcast(signed, options) {
        if (losing) for (const { txHash } of signed) lost.add(txHash);
        if (losing && lost.size >= stuck.length) losing = false;
        const real = signed.filter(({ txHash }) => !lost.has(txHash));
        const answers = await sender.broadcast(real, options);
        return signed.map(
          ({ txHash }) => answers[real.findIndex((one) => one.txHash === txHash)] ?? 'UNKNOWN',
        );
      },
    }),
  });
  await waitUntil('all of them wait', () => !losing);
  expect(lost.size).toBe(stuck.length);
  const others = await world.paidMany([3n * ONE_USDC, 4n * ONE_USDC], 'USDT');
  const isSwept = async (order: OrderRow) =>
    (await world.sweepsOf(order)).some(({ state }) => state === 'DONE');
  await waitUntil('the others are swept', async () =>
    (await Promise.all(others.map(isSwept))).every(Boolean),
  );
  expect((await Promise.all(stuck.map(isSwept))).some(Boolean)).toBe(false);
  lost.clear();
  await waitUntil(
    'the sixteen are swept once nodes accept their bytes',
    async () => (await Promise.all(stuck.map(isSwept))).every(Boolean),
    60_000,
  );
  await signer.stop();
  expect(signer.failures).toEqual([]);
});
