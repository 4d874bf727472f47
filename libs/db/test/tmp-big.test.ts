import { expect, test } from 'vitest';
import { sql } from 'kysely';
import { createTestDatabase } from '@opentill/testkit/test-database';

test('tmp big', { timeout: 900_000 }, async () => {
  const database = await createTestDatabase();
  const admin = database.open('admin');
  const db = admin.kysely;
  await sql`insert into merchant (merchant_id, name, version, token_sealed, webhook_secret_sealed) values ('big', 'm', 'V3', '', '')`.execute(db);
  await sql`insert into chain_cursor (chain, family, head_height, head_hash, head_time, seen_height, seen_hash, verified_height, verified_hash, verified_time, fencing_token)
    values ('ETH', 'EVM', 1000000, 'x', now(), 1000000, 'x', 999990, 'x', now(), 1)`.execute(db);
  const t0 = Date.now();
  await sql`insert into orders (order_pk, merchant_id, order_id, order_type, chain, family, symbol, decimals, display_decimals, amount, accepted_amount, address, status, created_at, expires_at)
    select gen_random_uuid(), 'big', 'o' || n, case when n % 10 = 0 then 'PAYOUT' else 'COLLECTION' end, 'ETH', 'EVM', 'USDT', 6, 2, 1, 1, 'a' || n,
      (array['SUCCESS','SUCCESS','SUCCESS','EXPIRED'])[1 + n % 4], now(), now() from generate_series(1, 1000000) n`.execute(db);
  await sql`insert into transfer (chain, family, tx_hash, position, symbol, from_address, to_address, amount, block_height, block_hash, block_time, first_block_time, state)
    select 'ETH', 'EVM', 't' || n, 'log:0', 'USDT', 'f', 'a' || n, 1, n, 'h', now(), now(), 'VERIFIED' from generate_series(1, 300000) n`.execute(db);
  await sql`insert into payout (order_pk, chain, wallet, state, expires_at, authorised_at, obstacle, obstacle_at, waiting_since)
    select order_pk, 'ETH', 'w', case when right(order_id, 2) = '00' then 'REQUESTED' else 'SIGNED' end, now(), case when right(order_id, 2) = '00' then null else now() end,
      case when right(order_id, 2) = '00' then 'NEEDS_APPROVAL' end, now(), case when right(order_id, 2) = '00' then now() end from orders where order_type = 'PAYOUT'`.execute(db);
  console.log('loaded', Date.now() - t0);
  await sql`vacuum analyze orders`.execute(db);
  await sql`vacuum analyze payout`.execute(db);
  await sql`vacuum analyze transfer`.execute(db);
  const scanner = database.open('scanner_evm');
  const show = async (title: string) => {
    const lines: string[] = [];
    for (let i = 0; i < 8; i += 1) {
      const { rows } = await sql<{ 'QUERY PLAN': string }>`explain (analyze, buffers) select is_chain_awaited('ETH')`.execute(scanner.kysely);
      lines.push(rows.map((row) => row['QUERY PLAN']).join(' | '));
    }
    console.log(title, '\n', lines.join('\n'));
  };
  await show('quiet');
  await sql`update orders set status = 'INIT' where order_id = 'o3'`.execute(db);
  await show('one open');
  await sql`update orders set status = 'EXPIRED' where order_id = 'o3'`.execute(db);
  // 100,000 opened and ended without vacuum
  await sql`update orders set status = 'INIT' where status = 'EXPIRED' and order_type = 'COLLECTION' and order_id < 'o6'`.execute(db);
  await sql`analyze orders`.execute(db);
  await sql`update orders set status = 'EXPIRED' where status = 'INIT'`.execute(db);
  await show('after a wave, statistics say open');
  await sql`set enable_seqscan = off`.execute(db);
  for (const q of [
    "select exists (select from orders o where o.chain = 'ETH' and o.order_type = 'COLLECTION' and o.status in ('INIT', 'PENDING'))",
    "select exists (select from orders o where o.chain = 'ETH' and o.order_type = 'COLLECTION' and o.status = 'PENDING_CONFIRMATION')",
    "select exists (select from payout p where p.chain = 'ETH' and p.state = 'REQUESTED' and p.obstacle is not null and (p.obstacle <> 'NEEDS_APPROVAL' or p.obstacle_at is null))",
    "select exists (select from transfer t where t.chain = 'ETH' and t.state = 'DETECTED' and t.block_height > (select c.verified_height from chain_cursor c where c.chain = 'ETH'))",
  ]) {
    const { rows } = await sql<{ 'QUERY PLAN': string }>`${sql.raw('explain (analyze, buffers, costs off) ' + q)}`.execute(db);
    console.log(rows.map((row) => row['QUERY PLAN']).join('\n'));
  }
  await scanner.close();
  await admin.close();
  await database.drop();
  expect(1).toBe(1);
});
