import { afterAll, beforeAll, expect, test } from 'vitest';
import { sql } from 'kysely';
import type { OrderRow } from '@opentill/testkit/scenario';
import { waitUntil } from '@opentill/testkit/wait-until';
import { COLD, createSuiWorld, ONE_SUI, ONE_USDC, type SuiWorld } from './sui-world.ts';

// To the last MIST: after payouts, fees paid for deposit addresses, gathered coins and storage rebates.

let world: SuiWorld;
beforeAll(async () => {
  world = await createSuiWorld();
});
afterAll(() => world.close());

async function inBooks(symbol: string): Promise<bigint> {
  const kinds = ['HOT_AVAILABLE', 'HOT_RESERVED', 'IN_FLIGHT', 'HOT_GAS'];
  const balances = await Promise.all(kinds.map((kind) => world.balance(kind, symbol)));
  return balances.reduce((sum, balance) => sum + balance, 0n);
}

const count = async (query: ReturnType<typeof sql<{ n: number }>>): Promise<number> =>
  (await query.execute(world.admin)).rows[0]?.n ?? 0;

test('matches the ledger to the hot wallet, and leaves swept addresses empty', async () => {
  const { control, tokens } = world.devnet;
  const paid: OrderRow[] = [
    ...(await world.paidMany([3n * ONE_SUI, ONE_SUI + 1n], 'SUI', 'coin')),
    ...(await world.paidMany([2n * ONE_SUI], 'SUI', 'address')),
    ...(await world.paidMany([5n * ONE_USDC + 3n], 'USDT', 'party')),
    ...(await world.paidMany([4n * ONE_USDC], 'USDC', 'coin')),
  ];
  // Many coins, so that the storage rebate exceeds the cost of their sweep.
  const [crumbs] = await world.paidMany([ONE_USDC], 'USDT', 'coin');
  for (let n = 1; n < 60; n += 1)
    await control.fund(crumbs!.address, { symbol: 'USDT', amountBaseUnits: ONE_USDC, form: 'coin' });
  for (let n = 0; n < 80; n += 1) {
    await control.fund(world.wallet, { symbol: 'USDC', amountBaseUnits: ONE_USDC, form: 'coin' });
    await sql`select book_top_up(${`crumb:${n}:USDC`}, 'SUI_TEST', 'USDC', ${ONE_USDC})`.execute(world.admin);
  }
  await waitUntil(
    'all of the crumbs are booked',
    async () =>
      (await count(sql<{ n: number }>`
        select count(*)::int as n from deposit_balance where address = ${crumbs!.address} and received = ${60n * ONE_USDC}`)) ===
      1,
  );
  const signer = await world.start({ sweep: {} });
  const payouts: OrderRow[] = [];
  for (let n = 0; n < 10; n += 1)
    payouts.push(n % 2 === 0 ? await world.payout() : await world.nativePayout(ONE_SUI + BigInt(n)));
  await world.land(payouts);
  await waitUntil(
    'all is swept and gathered',
    async () => {
      const open = await count(
        sql<{ n: number }>`select count(*)::int as n from deposit_balance where swept <> received`,
      );
      const inCoins = (await world.client.getBalance({ owner: world.wallet, coinType: tokens.USDC })).balance;
      return open === 0 && inCoins.coinBalance === '0';
    },
    90_000,
  );
  await signer.stop();
  await waitUntil(
    'every fee is booked',
    async () =>
      (await count(sql<{ n: number }>`
        select count(*)::int as n from own_transaction t left join own_transaction_settlement s using (chain, tx_hash)
        where s.booked_fee is null and t.tx_hash not in (select tx_hash from own_transaction_fate where network_fee = 0)`)) ===
      0,
  );
  expect(signer.failures).toEqual([]);
  for (const symbol of ['SUI', 'USDC', 'USDT'] as const) {
    const coinType = symbol === 'SUI' ? undefined : tokens[symbol];
    expect([symbol, await inBooks(symbol)]).toEqual([symbol, await world.heldBy(world.wallet, coinType)]);
  }
  for (const order of [...paid, crumbs!]) {
    expect(await world.received(order)).toBe(0n);
    expect(await world.heldBy(order.address)).toBe(0n);
  }
  expect(await world.heldBy(COLD)).toBe(6n * ONE_SUI + 1n);
  expect(await world.balance('COLD', 'SUI')).toBe(6n * ONE_SUI + 1n);
  expect(await world.balance('DEPOSIT', 'SUI')).toBe(0n);
  // Otherwise the test would not cover these cases.
  const { rows } = await sql<{ fee: bigint; purpose: string }>`
    select f.network_fee as fee, t.purpose from own_transaction_fate f join own_transaction t using (chain, tx_hash) order by 1 limit 1`.execute(
    world.admin,
  );
  expect(BigInt(rows[0]!.fee)).toBeLessThan(0n);
});
