import { describe, expect, test } from 'vitest';
import { sql } from 'kysely';
import { sharesOf } from '@opentill/domain/order-shares';
import { anOption, anOrderWithOptions, choose } from '@opentill/testkit/order-options';
import { aCollection, anEvmAddress } from '@opentill/testkit/scenario';
import { openTestDatabase } from '@opentill/testkit/test-database';
import { waitUntil } from '@opentill/testkit/wait-until';
import type { Database } from '../src/database.ts';

const TRON = anOption('TRON_TEST', 'USDT', 53_900_000n, null);
const SEPOLIA = anOption('ETH_SEPOLIA', 'USDC', 53_950_000n);
const BSC = anOption('BSC_TEST', 'USDT', 53_910_000n);
const OPTIONS = [TRON, SEPOLIA, BSC];

const { admin, open } = await openTestDatabase();
const [other, api, scanner] = [open('admin'), open('api'), open('scanner_evm')];

const addressesOf = async (orderPk: string) =>
  (
    await sql<{ family: string }>`
      select family from deposit_address where order_pk = ${orderPk} order by family`.execute(admin.kysely)
  ).rows.map(({ family }) => family);

async function rowOf(orderPk: string) {
  return admin.kysely
    .selectFrom('orders')
    .select(['chain', 'symbol', 'amount', 'address', 'choices', 'status'])
    .where('order_pk', '=', orderPk)
    .executeTakeFirstOrThrow();
}

describe('a choice', () => {
  test('gives one address per family, and keeps it when the customer chooses again', async () => {
    const order = await anOrderWithOptions(admin.kysely, OPTIONS);
    const first = await choose(admin.kysely, order, SEPOLIA);
    const second = await choose(admin.kysely, order, TRON);
    const third = await choose(admin.kysely, order, BSC);
    const again = await choose(admin.kysely, order, SEPOLIA);
    expect([first, second, third, again].map(({ outcome }) => outcome)).toEqual(Array(4).fill('CHOSEN'));
    expect([third.address, again.address]).toEqual([first.address, first.address]);
    expect(await addressesOf(order.order_pk)).toEqual(['EVM', 'TRON']);
    expect(await rowOf(order.order_pk)).toMatchObject({
      chain: 'ETH_SEPOLIA',
      symbol: 'USDC',
      amount: SEPOLIA.amount,
      address: first.address,
      choices: 3,
    });
  });

  test('waits for one in another tab, and shares its address', async () => {
    const order = await anOrderWithOptions(admin.kysely, OPTIONS);
    const second = await other.kysely.transaction().execute(async (tx) => {
      const first = await choose(tx, order, SEPOLIA);
      const waiting = choose(admin.kysely, order, BSC);
      await waitUntil('the other choice waits', async () => isAnyWaitingOn(tx));
      return { first, waiting };
    });
    expect((await second.waiting).address).toBe(second.first.address);
    expect(await addressesOf(order.order_pk)).toEqual(['EVM']);
    expect(await rowOf(order.order_pk)).toMatchObject({ chain: 'BSC_TEST', choices: 2 });
  });

  test.each([
    ['EXPIRED', 'CLOSED'],
    ['PENDING_CONFIRMATION', 'CLOSED'],
    ['PENDING', 'CHOSEN'],
  ])('that meets a change to %s ends as %s', async (status, outcome) => {
    const order = await anOrderWithOptions(admin.kysely, OPTIONS);
    await choose(admin.kysely, order, TRON);
    const waiting = await other.kysely.transaction().execute(async (tx) => {
      await sql`update orders set status = ${status} where order_pk = ${order.order_pk}`.execute(tx);
      const choice = choose(admin.kysely, order, SEPOLIA);
      await waitUntil('the other choice waits', async () => isAnyWaitingOn(tx));
      return { choice };
    });
    expect((await waiting.choice).outcome).toBe(outcome);
    // The current coin can be asked for in every state.
    const { chain } = await rowOf(order.order_pk);
    expect((await choose(admin.kysely, order, outcome === 'CHOSEN' ? SEPOLIA : TRON)).outcome).toBe('CHOSEN');
    expect((await rowOf(order.order_pk)).chain).toBe(chain);
  });

  test('is refused after the expiry, in an unlisted coin, and for an order of one coin', async () => {
    const past = { created_at: new Date(Date.now() - 120_000), expires_at: new Date(Date.now() - 60_000) };
    const over = await anOrderWithOptions(admin.kysely, OPTIONS, past);
    expect((await choose(admin.kysely, over, TRON)).outcome).toBe('CLOSED');
    const open = await anOrderWithOptions(admin.kysely, [TRON, SEPOLIA]);
    expect((await choose(admin.kysely, open, BSC)).outcome).toBe('NOT_OFFERED');
    const ordinary = await aCollection(admin.kysely);
    expect((await choose(admin.kysely, ordinary, SEPOLIA)).outcome).toBe('NOT_OFFERED');
    expect(await addressesOf(over.order_pk)).toEqual([]);
  });

  test('needs an address only for the first coin of a family', async () => {
    const order = await anOrderWithOptions(admin.kysely, OPTIONS);
    const without = async (symbol: string, chain: string) =>
      (
        await sql<{ outcome: string }>`
          select choose_option(${order.order_pk}, ${chain}, ${symbol}, null, null) as outcome`.execute(
          api.kysely,
        )
      ).rows[0]?.outcome;
    expect(await without('USDC', 'ETH_SEPOLIA')).toBe('NEEDS_ADDRESS');
    expect(await rowOf(order.order_pk)).toMatchObject({ address: null, choices: 0 });
    await choose(admin.kysely, order, SEPOLIA);
    expect(await without('USDT', 'BSC_TEST')).toBe('CHOSEN');
  });
});

/** Within a transaction that holds a lock. */
async function isAnyWaitingOn(tx: Database['kysely']): Promise<boolean> {
  const { rows } = await sql`select from pg_stat_activity a
    where pg_backend_pid() = any(pg_blocking_pids(a.pid))`.execute(tx);
  return rows.length > 0;
}

describe('the database', () => {
  test('counts what an amount is worth as the domain does', async () => {
    const amounts = [1n, 20_000_000n, 53_899_999n, 53_900_000n, 2n ** 256n - 1n];
    const { rows } = await sql<{ worth: string }>`
      select order_worth(a, 53900000)::text as worth from unnest(${amounts.map(String)}::numeric[]) a`.execute(
      admin.kysely,
    );
    expect(rows.map(({ worth }) => BigInt(worth))).toEqual(
      amounts.map((amount) => sharesOf(amount, TRON.amount)),
    );
  });

  test('lets the api add no option to an order of an earlier transaction', async () => {
    const order = await anOrderWithOptions(admin.kysely, [TRON, SEPOLIA]);
    const { rate_id } = order;
    await expect(
      sql`insert into order_option (order_pk, place, chain, family, symbol, contract_address, decimals, display_decimals, amount,
          currency, rate, rate_id)
        values (${order.order_pk}, 9, 'BSC_TEST', 'EVM', 'USDT', 'c', 6, 2, 1, 'EUR', '0.920500000000', ${rate_id})`.execute(
        api.kysely,
      ),
    ).rejects.toMatchObject({ code: 'DATABASE_FORBIDDEN' });
    await expect(
      sql`update order_option set amount = 1 where order_pk = ${order.order_pk}`.execute(api.kysely),
    ).rejects.toMatchObject({ code: 'DATABASE_FORBIDDEN' });
  });

  test('accepts no order of one coin without an address, and no choice without one', async () => {
    const order = await anOrderWithOptions(admin.kysely, OPTIONS);
    for (const change of [{ choices: null }, { choices: 1 }, { address: anEvmAddress() }])
      await expect(
        admin.kysely.updateTable('orders').set(change).where('order_pk', '=', order.order_pk).execute(),
      ).rejects.toThrow(/orders_options/);
  });
});

test('a chain is awaited from the choice of its coin on, until the order ends', async () => {
  const isAwaited = async (chain: string) =>
    (await sql<{ is: boolean }>`select is_chain_awaited(${chain}) as is`.execute(scanner.kysely)).rows[0]?.is;
  await sql`update orders set status = 'FAILED' where status <> 'SUCCESS'`.execute(admin.kysely);
  const order = await anOrderWithOptions(admin.kysely, OPTIONS);
  const awaited = () => Promise.all(OPTIONS.map(({ chain }) => isAwaited(chain)));
  expect(await awaited()).toEqual([false, false, false]);
  await choose(admin.kysely, order, TRON);
  expect(await awaited()).toEqual([true, false, false]);
  await choose(admin.kysely, order, SEPOLIA);
  expect(await awaited()).toEqual([true, true, false]);
  await sql`update orders set status = 'EXPIRED' where order_pk = ${order.order_pk}`.execute(admin.kysely);
  expect(await awaited()).toEqual([false, false, false]);
});
