import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sql } from 'kysely';
import { openDatabase, type Database } from '../src/database.ts';
import { deleteExpiredNonces, rollInbox } from '../src/housekeeping.ts';
import { handleTogetherOnce } from '../src/inbox.ts';
import { aMerchant } from '@opentill/testkit/scenario';
import { createTestDatabase, type TestDatabase } from '@opentill/testkit/test-database';

/* SECONDS=240 RATE=2500 runs it for longer. */
const SECONDS = Number(process.env['SECONDS'] ?? 45);
const RATE = Number(process.env['RATE'] ?? 1_000);
/** Validity of a nonce; ten minutes in production. So short that one run replaces the rows many times. */
const WINDOW_SECONDS = 8;

let testDatabase: TestDatabase;
let admin: Database;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  admin = openDatabase({ url: testDatabase.adminUrl, applicationName: 'test', statementTimeoutMs: 120_000 });
});
afterAll(async () => {
  await admin.close();
  await testDatabase.drop();
});

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function sizeOf(table: string) {
  const { rows } = await sql<{ heap: number; indexes: number; dead: number; live: number }>`
    select pg_relation_size(relid) as heap, pg_indexes_size(relid) as indexes, n_dead_tup as dead, n_live_tup as live
    from pg_stat_user_tables where relid = ${table}::regclass`.execute(admin.kysely);
  return rows[0]!;
}

test(
  `the nonce table keeps its size at ${RATE}/s`,
  async () => {
    const api = testDatabase.open('api');
    const { merchantId } = await aMerchant(admin.kysely);
    // Vacuums at the table's autovacuum thresholds, but checks more often than the server would.
    const vacuum = async () => {
      const { dead, live } = await sizeOf('request_nonce');
      if (dead > 5_000 + 0.02 * live) await sql`vacuum request_nonce`.execute(admin.kysely);
    };
    const sizes: { heap: number; indexes: number; dead: number }[] = [];
    const deletes: number[] = [];
    const ends = Date.now() + SECONDS * 1_000;
    let inserted = 0;
    const write = async () => {
      const began = Date.now();
      while (Date.now() < ends) {
        const due = Math.floor(((Date.now() - began) / 1_000) * RATE) - inserted;
        if (due > 0) {
          const some = Math.min(due, 200);
          await sql`insert into request_nonce (merchant_id, nonce, expires_at)
          select ${merchantId}, n, now() + ${WINDOW_SECONDS} * interval '1 second' from unnest(${Array.from({ length: some }, () => randomUUID())}::text[]) n`.execute(
            api.kysely,
          );
          inserted += some;
        }
        await pause(10);
      }
    };
    const forget = async () => {
      while (Date.now() < ends) {
        const began = performance.now();
        const forgotten = await deleteExpiredNonces(api.kysely);
        if (forgotten > 0) deletes.push(performance.now() - began);
        if (forgotten < 10_000) await pause(2_000);
      }
    };
    const look = async () => {
      while (Date.now() < ends) {
        await pause((SECONDS * 1_000) / 15);
        await vacuum();
        sizes.push(await sizeOf('request_nonce'));
      }
    };
    await Promise.all([write(), forget(), look()]);
    await api.close();
    const megabytes = sizes.map(
      ({ heap, indexes, dead }) => `${((heap + indexes) / 2 ** 20).toFixed(1)} (${dead} dead)`,
    );
    console.info(
      `${inserted} nonces in ${SECONDS} s; MB: ${megabytes.join(', ')}; slowest delete ${Math.max(...deletes).toFixed(0)} ms`,
    );
    expect(inserted).toBeGreaterThan(SECONDS * RATE * 0.2); // otherwise the load was too small to prove anything
    const total = (size: (typeof sizes)[number]) => size.heap + size.indexes;
    const firstLives = Math.max(...sizes.slice(0, 8).map(total));
    expect(total(sizes.at(-1)!)).toBeLessThan(firstLives * 1.5);
  },
  (SECONDS + 60) * 1_000,
);

test('dropping a partition of a million events delays no insert and frees its disk', async () => {
  await sql`create table tracker.inbox_old (like tracker.inbox including all)`.execute(admin.kysely);
  await sql`insert into tracker.inbox_old (consumer, event_id)
    select 'c', overlay(gen_random_uuid()::text placing '00000000-0000' from 1 for 13)::uuid from generate_series(1, 1000000)`.execute(
    admin.kysely,
  );
  await sql`alter table tracker.inbox attach partition tracker.inbox_old
    for values from (minvalue) to ('01000000-0000-0000-0000-000000000000')`.execute(admin.kysely);
  const tracker = testDatabase.open('tracker');
  const before = (
    await sql<{ size: number }>`select pg_database_size(current_database()) as size`.execute(admin.kysely)
  ).rows[0]!.size;
  const waits: number[] = [];
  let rolling = true;
  const handle = async () => {
    while (rolling) {
      const began = performance.now();
      const eventIds = Array.from({ length: 20 }, () => randomUUID());
      await handleTogetherOnce(tracker.kysely, { schema: 'tracker', consumer: 'c', eventIds }, () =>
        Promise.resolve(),
      );
      waits.push(performance.now() - began);
    }
  };
  const handling = Promise.all([handle(), handle(), handle()]);
  await pause(300);
  const began = performance.now();
  let dropped = 0;
  while (dropped === 0) ({ dropped } = await rollInbox(tracker.kysely, 'tracker', 86_400));
  const tookMs = performance.now() - began;
  await pause(300);
  rolling = false;
  await handling;
  await tracker.close();
  const after = (
    await sql<{ size: number }>`select pg_database_size(current_database()) as size`.execute(admin.kysely)
  ).rows[0]!.size;
  console.info(
    `dropped in ${tookMs.toFixed(0)} ms; ${waits.length} handlings meanwhile, the longest ${Math.max(...waits).toFixed(0)} ms; ${((before - after) / 2 ** 20).toFixed(0)} MB back`,
  );
  expect(before - after).toBeGreaterThan(50 * 2 ** 20);
  expect(Math.max(...waits)).toBeLessThan(30_000);
});
