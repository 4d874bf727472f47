import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sql } from 'kysely';
import type { EventData } from '@opentill/contracts/event-catalog';
import { TRANSFER_IDS_PER_EVENT } from '@opentill/contracts/event-catalog';
import { openDatabase } from '@opentill/db/database';
import {
  at,
  createTrackerScenario,
  envelope,
  handle,
  T0,
  TTL,
  type TrackerScenario,
} from './tracker-scenario.ts';

/*
 * A block with a thousand payments on tables with many earlier rows: no statement of the tracker scans a table. Prints
 * the times. ROWS=1000000 measures with a million rows.
 */
const ROWS = Number(process.env['ROWS'] ?? 200_000);
const PAYMENTS = 1_000;
const ROUNDS = 6;

let s: TrackerScenario;
let merchantId: string;
beforeAll(async () => {
  s = await createTrackerScenario();
  merchantId = (await s.merchant()).merchantId;
  await s.chainAt(1_000, 200);
  await history(ROWS);
}, 600_000);
afterAll(() => s.close());

/** Old orders, each paid, notified and settled. Inserted without triggers, which would take minutes. */
async function history(count: number): Promise<void> {
  const patient = openDatabase({
    url: s.database.adminUrl,
    applicationName: 'test history',
    statementTimeoutMs: 300_000,
  });
  await patient.kysely.connection().execute(async (db) => {
    await sql`set session_replication_role = replica`.execute(db);
    await sql`create temporary table old as
      select gen_random_uuid() as order_pk, i, '0x' || encode(sha256(i::text::bytea), 'hex') as hash from generate_series(1, ${count}::int) i`.execute(
      db,
    );
    await sql`insert into orders (order_pk, merchant_id, order_id, order_type, status, chain, family, symbol, contract_address,
        decimals, display_decimals, amount, accepted_amount, detected_amount, actual_amount, address, created_at, expires_at)
      select order_pk, ${merchantId}, 'old-' || i, 'COLLECTION', case when i % 20 = 0 then 'EXPIRED' else 'SUCCESS' end, 'ETH_SEPOLIA', 'EVM',
        'USDT', '0x1c7d4b196cb0c7b01d743fbc6116a902379c7238', 6, 2, 100, 100, 100, 100, substr(hash, 1, 42), ${at(-86_400)}, ${at(-80_000)} from old`.execute(
      db,
    );
    await sql`insert into deposit_address (family, address, derivation_index, order_pk)
      select 'EVM', substr(hash, 1, 42), i + 1000000, order_pk from old`.execute(db);
    await sql`insert into notification (event_id, merchant_id, subject_id, sequence, notify_type, data, occurred_at)
      select gen_random_uuid(), ${merchantId}, order_pk, sequence, 'ORDER_PENDING', '{}', ${at(-86_400)}
      from old, generate_series(1, 3) sequence`.execute(db);
    await sql`insert into transfer (chain, family, tx_hash, position, contract_address, symbol, from_address, to_address, amount,
        block_height, block_hash, block_time, first_block_time, state, updated_at)
      select 'ETH_SEPOLIA', 'EVM', hash, 'log:0', '0x1c7d4b196cb0c7b01d743fbc6116a902379c7238', 'USDT', '0x52908400098527886e0f7030069857d2e4169ee7', substr(hash, 1, 42), 100, i / 100, '0xb10c', ${at(-85_000)},
        ${at(-85_000)}, 'VERIFIED', ${at(-85_000)} from old`.execute(db);
    await sql`insert into transfer_settlement (transfer_id, settled_version, order_pk, booked_amount, booked_symbol, bookings, credited)
      select t.transfer_id, 1, o.order_pk, 100, 'USDT', 1, true from transfer t join old o on o.hash = t.tx_hash`.execute(
      db,
    );
    await sql`drop table old`.execute(db);
    await sql`set session_replication_role = origin`.execute(db);
  });
  for (const table of BIG) await sql`vacuum analyze ${sql.table(table)}`.execute(patient.kysely);
  await patient.close();
}
const BIG = ['orders', 'deposit_address', 'notification', 'transfer', 'transfer_settlement'] as const;

/** As the api and a scanner write them: one statement each. */
async function aBlock(count: number, round: number): Promise<string[]> {
  const tag = randomUUID();
  const { rows } = await sql<{ transfer_id: number }>`
    with fresh as materialized (
      select gen_random_uuid() as order_pk, i, '0x' || substr(encode(sha256((${tag} || i)::bytea), 'hex'), 1, 40) as address
      from generate_series(1, ${count}::int) i
    ), o as (
      insert into orders (order_pk, merchant_id, order_id, order_type, chain, family, symbol, contract_address, decimals,
        display_decimals, amount, accepted_amount, address, created_at, expires_at)
      select order_pk, ${merchantId}, substr(${tag}, 1, 8) || i, 'COLLECTION', 'ETH_SEPOLIA', 'EVM', 'USDT', '0x1c7d4b196cb0c7b01d743fbc6116a902379c7238', 6, 2, 100, 100, address, ${at(0)},
        ${at(TTL)} from fresh
    ), d as (
      insert into deposit_address (family, address, derivation_index, order_pk)
      select 'EVM', address, ${round * 10_000}::bigint + i, order_pk from fresh
    ), n as (
      insert into notification (event_id, merchant_id, subject_id, sequence, notify_type, data, occurred_at)
      select gen_random_uuid(), ${merchantId}, order_pk, 1, 'ORDER_PENDING', '{}', ${at(0)} from fresh
    )
    insert into transfer (chain, family, tx_hash, position, contract_address, symbol, from_address, to_address, amount,
      block_height, block_hash, block_time, first_block_time, state)
    select 'ETH_SEPOLIA', 'EVM', ${tag} || i, 'log:0', '0x1c7d4b196cb0c7b01d743fbc6116a902379c7238', 'USDT', '0x52908400098527886e0f7030069857d2e4169ee7', address, 100, 990, '0xb10c', ${at(60)}, ${at(60)}, 'DETECTED'
    from fresh returning transfer_id`.execute(s.admin);
  return rows.map((row) => String(row.transfer_id));
}

async function deliver(
  type: 'transfer.detected' | 'block.verified',
  ids: readonly string[],
): Promise<number> {
  const events = [];
  for (let i = 0; i < ids.length; i += TRANSFER_IDS_PER_EVENT) {
    const data = { chain: 'ETH_SEPOLIA' as const, transferIds: ids.slice(i, i + TRANSFER_IDS_PER_EVENT) };
    events.push(
      type === 'block.verified'
        ? envelope(type, { ...data, height: 990, blockTimeSeconds: T0 } satisfies EventData['block.verified'])
        : envelope(type, data),
    );
  }
  const began = performance.now();
  await Promise.all(events.map((event) => handle(event, s.deps)));
  return performance.now() - began;
}

async function sequentialScans(): Promise<Record<string, number>> {
  // Sessions report statistics when next idle, at most once a second.
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  await Promise.all(
    Array.from({ length: 4 }, () => sql`select pg_stat_force_next_flush()`.execute(s.deps.db)),
  );
  const { rows } = await sql<{ relname: string; seq_scan: number }>`
    select relname, seq_scan from pg_stat_user_tables where relname = any(${BIG}::text[]) order by relname`.execute(
    s.admin,
  );
  return Object.fromEntries(rows.map((row) => [row.relname, row.seq_scan]));
}

test(`settles a block of ${PAYMENTS} payments over ${ROWS} earlier ones in batches`, async () => {
  const took: Record<string, number[]> = { detected: [], verified: [] };
  const paid: string[] = [];
  const before = await sequentialScans();
  for (let round = 0; round < ROUNDS; round += 1) {
    const ids = await aBlock(PAYMENTS, round);
    took['detected']?.push(await deliver('transfer.detected', ids));
    await sql`update transfer set state = 'VERIFIED', version = version + 1, updated_at = now()
      where transfer_id = any(${ids}::bigint[])`.execute(s.admin);
    took['verified']?.push(await deliver('block.verified', ids));
    paid.push(...ids);
  }
  expect(await sequentialScans()).toEqual(before);
  const { rows } = await sql<{ credited: number; callbacks: number }>`
    select count(*) filter (where credited) as credited,
      (select count(*) from notification n where n.subject_id = any(array_agg(o.order_pk))) as callbacks
    from transfer_settlement s join orders o on o.order_pk = s.order_pk and o.status = 'SUCCESS'
    where transfer_id = any(${paid}::bigint[])`.execute(s.admin);
  expect(rows).toEqual([{ credited: ROUNDS * PAYMENTS, callbacks: ROUNDS * 3 * PAYMENTS }]);
  const ms = (times: readonly number[] = []) => times.map((time) => Math.round(time)).join(', ');
  console.info(
    `ms until all ${PAYMENTS} are committed: detected ${ms(took['detected'])}; verified ${ms(took['verified'])}`,
  );
}, 300_000);
