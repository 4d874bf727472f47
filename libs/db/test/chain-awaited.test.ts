import { expect, test } from 'vitest';
import { sql } from 'kysely';
import { anOption, anOrderWithOptions, choose } from '@opentill/testkit/order-options';
import { aPayout } from '@opentill/testkit/scenario';
import { openTestDatabase } from '@opentill/testkit/test-database';

const CHAIN = 'ETH_SEPOLIA';

const { admin, open } = await openTestDatabase();
const scanner = open('scanner_evm');

async function isAwaited(): Promise<boolean | undefined> {
  const { rows } = await sql<{ awaited: boolean }>`select is_chain_awaited(${CHAIN}) as awaited`.execute(
    scanner.kysely,
  );
  return rows[0]?.awaited;
}

test('awaits a payout from its request on, except while it waits for approval', async () => {
  expect(await isAwaited()).toBe(false);
  const { order_pk, source_address } = await aPayout(admin.kysely, { chain: CHAIN });
  await sql`insert into payout (order_pk, chain, wallet, expires_at)
    values (${order_pk}, ${CHAIN}, ${source_address}, now() + interval '1 hour')`.execute(admin.kysely);
  const after = async (change: Record<string, unknown>): Promise<boolean | undefined> => {
    await admin.kysely.updateTable('payout').set(change).execute();
    return isAwaited();
  };
  expect(await isAwaited()).toBe(true);
  expect(await after({ obstacle: 'INSUFFICIENT_FUNDS', obstacle_at: new Date() })).toBe(true);
  expect(await after({ obstacle: 'NEEDS_APPROVAL', waiting_since: new Date() })).toBe(false);
  const approved = { state: 'AUTHORISED', authorised_at: new Date(), obstacle: null, waiting_since: null };
  expect(await after(approved)).toBe(true);
  expect(await after({ state: 'SIGNED' })).toBe(false); // its nonce or attempt is awaited from then on
});

test('reads no row of other chains or of ended orders, also with old statistics', async () => {
  await admin.kysely.transaction().execute(async (tx) => {
    await sql`insert into merchant (merchant_id, name, version, token_sealed, webhook_secret_sealed)
      values ('big', 'm', 'V3', '', '')`.execute(tx);
    const orders = (from: number, to: number, chain: string) =>
      sql`insert into orders (order_pk, merchant_id, order_id, order_type, chain, family, symbol, decimals,
          display_decimals, amount, accepted_amount, address, created_at, expires_at)
        select gen_random_uuid(), 'big', 'o' || n, 'COLLECTION', ${chain}, 'EVM', 'USDT', 6, 2, 1, 1, 'a', now(), now()
        from generate_series(${from}::int, ${to}::int) n`.execute(tx);
    await orders(1, 1_000, CHAIN);
    await orders(1_001, 2_000, 'POLYGON_AMOY');
    await sql`analyze orders`.execute(tx);
    await sql`delete from orders where merchant_id = 'big' and chain = ${CHAIN}`.execute(tx);
    const read = async (): Promise<number> => {
      const { rows } = await sql<{ read: number }>`
        select (pg_stat_get_xact_tuples_returned('orders'::regclass)
          + pg_stat_get_xact_tuples_returned('payout'::regclass)
          + pg_stat_get_xact_tuples_returned('transfer'::regclass))::int as read`.execute(tx);
      return rows[0]!.read;
    };
    const before = await read();
    for (let i = 0; i < 7; i += 1) await sql`select is_chain_awaited(${CHAIN})`.execute(tx); // past the generic plan
    expect((await read()) - before).toBe(0); // sequential scans would have returned 1,000 rows each
  });
});

test('reads no order before the choice of its coin, and no ended one', async () => {
  const other = anOption('BSC_TEST', 'USDT', 1n);
  const order = await anOrderWithOptions(admin.kysely, [anOption(CHAIN, 'USDT', 1n), other]);
  await admin.kysely.transaction().execute(async (tx) => {
    const copies = (count: number, name: string, status: string) =>
      sql`with copy as (
          insert into orders (order_pk, merchant_id, order_id, order_type, chain, family, symbol, decimals, display_decimals, amount,
            accepted_amount, address, created_at, expires_at, currency, price, rate, rate_id, markup_bps, choices, status)
          select gen_random_uuid(), merchant_id, ${name} || n, order_type, chain, family, symbol, decimals, display_decimals, amount,
            accepted_amount, address, created_at, expires_at, currency, price, rate, rate_id, markup_bps, choices, ${status}
          from orders, generate_series(1, ${count}::int) n where order_pk = ${order.order_pk} returning order_pk
        )
        insert into order_option select c.order_pk, place, chain, family, symbol, contract_address, decimals, display_decimals, amount,
          confirmations_required, currency, rate, rate_id, chosen_at
        from copy c, order_option x where x.order_pk = ${order.order_pk}`.execute(tx);
    await copies(1_000, 'open', 'INIT');
    await choose(tx, order, anOption(CHAIN, 'USDT', 1n));
    await choose(tx, order, other);
    await copies(1_000, 'ended', 'EXPIRED');
    await sql`update orders set status = 'EXPIRED' where order_pk = ${order.order_pk}`.execute(tx);
    const fetched = async (): Promise<number> => {
      const { rows } = await sql<{ n: number }>`
        select sum(idx_tup_fetch + seq_tup_read)::int as n from pg_stat_xact_user_tables
        where relname in ('orders', 'order_option')`.execute(tx);
      return rows[0]!.n;
    };
    for (const analyzed of [false, true]) {
      if (analyzed) await sql`analyze orders, order_option`.execute(tx);
      const before = await fetched();
      for (let i = 0; i < 7; i += 1) await sql`select is_chain_awaited(${CHAIN})`.execute(tx);
      expect((await fetched()) - before).toBe(0);
    }
  });
});
