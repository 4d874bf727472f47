import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import pg from 'pg';
import { migrate } from '../src/migrate.ts';
import { roleUrl } from '../src/roles.ts';
import { waitUntil } from '@opentill/testkit/wait-until';
import { BASELINE, SINCE_BASELINE, WITH_EXAMPLE } from './example-migration.ts';
import { untilMigrationWaits } from './until-migration-waits.ts';

let server: pg.Client;
let url: string;
let name: string;
const clients: pg.Client[] = [];
beforeAll(async () => {
  const own = new URL(process.env['OPENTILL_TEST_DATABASE_URL'] ?? '');
  server = new pg.Client({ connectionString: own.toString() });
  await server.connect();
  name = `opentill_test_${Math.floor(Date.now() / 1_000)}_${randomBytes(6).toString('hex')}`;
  await server.query(`create database ${name}`);
  own.pathname = `/${name}`;
  url = own.toString();
});
afterAll(async () => {
  for (const client of clients) await client.end();
  await server.query(`drop database ${name} with (force)`);
  await server.end();
});

async function connect(connectionString = url): Promise<pg.Client> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  clients.push(client);
  return client;
}

function newId(): string {
  const time = Date.now().toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}

const HELD_ROWS = 5_000;
/** Only rows whose commit the database confirmed. */
const written = { settled: [] as string[], delivered: [] as string[] };
const subject = randomUUID();
let sequence = HELD_ROWS;

/** One transaction over inbox, ledger and notification, as in the tracker. */
async function settle(tracker: pg.Client): Promise<void> {
  const eventId = newId();
  const place = (sequence += 1);
  await tracker.query('begin');
  await tracker.query(
    `insert into tracker.inbox (consumer, event_id) values ('c', $1) on conflict do nothing returning event_id`,
    [eventId],
  );
  const { rows } = await tracker.query<{ tx: string; a: string; b: string }>(
    `with tx as (insert into ledger_transaction (ref, kind) values ($1, 'DEPOSIT') returning ledger_tx_id)
     select ledger_tx_id as tx, ledger_account_for('DEPOSIT', 'ETH', 'USDT', null) as a,
       ledger_account_for('SUSPENSE', 'ETH', 'USDT', null) as b from tx`,
    [eventId],
  );
  const { tx, a, b } = rows[0]!;
  await tracker.query(
    'insert into ledger_posting (ledger_tx_id, account_id, amount) values ($1, $2, 5), ($1, $3, -5)',
    [tx, a, b],
  );
  await tracker.query(
    `insert into notification (event_id, merchant_id, subject_id, sequence, notify_type, data, occurred_at)
     values ($1, 'm', $2, $3, 'ORDER_PENDING', '{}', now())`,
    [eventId, subject, place],
  );
  await tracker.query('commit');
  written.settled.push(eventId);
}

/** Records the attempt in the statement that ends its delivery, as webhook-sender does. */
async function deliver(webhook: pg.Client, eventId: string): Promise<void> {
  await webhook.query('begin');
  await webhook.query(
    `insert into webhook.inbox (consumer, event_id) values ('c', $1) on conflict do nothing returning event_id`,
    [eventId],
  );
  await webhook.query(
    `insert into delivery (event_id, merchant_id, subject_id, sequence, next_attempt_at)
     select event_id, merchant_id, subject_id, sequence, now() from notification where event_id = $1`,
    [eventId],
  );
  await webhook.query('commit');
  await webhook.query(
    `with finished as (update delivery set state = 'DELIVERED', attempts = 1, finished_at = now() where event_id = $1 returning *),
     recorded as (insert into delivery_attempt (event_id, attempt, started_at, duration_ms) values ($1, 1, now(), 5) on conflict do nothing)
     select event_id from finished`,
    [eventId],
  );
  written.delivered.push(eventId);
}

test('services of the previous version lose no write while a migration runs', async () => {
  await migrate(url, { migrations: BASELINE });
  const admin = await connect();
  await admin.query(`insert into merchant (merchant_id, name, version, token_sealed, webhook_secret_sealed, callback_url)
    values ('m', 'm', 'V3', '', '', 'https://shop.example/')`);
  await admin.query(`
    create temporary table held as select overlay(gen_random_uuid()::text placing '0189aaaa-aaaa-7' from 1 for 15)::uuid as id, n
      from generate_series(1, ${HELD_ROWS}) n;
    insert into tracker.inbox (consumer, event_id) select 'c', id from held;
    insert into notification (event_id, merchant_id, subject_id, sequence, notify_type, data, occurred_at)
      select id, 'm', '${subject}', n, 'ORDER_PENDING', '{}', now() - interval '40 days' from held;
    insert into delivery (event_id, merchant_id, subject_id, sequence, state, next_attempt_at, finished_at)
      select id, 'm', '${subject}', n, 'DELIVERED', now(), now() - interval '40 days' from held;
    insert into delivery_attempt (event_id, attempt, started_at, duration_ms) select id, 1, now(), 5 from held`);

  let working = true;
  const errors: unknown[] = [];
  const slowest = { ms: 0 };
  const loop = async (role: 'tracker' | 'webhook', work: (client: pg.Client) => Promise<unknown>) => {
    const client = await connect(roleUrl(url, role));
    await client.query("set lock_timeout = '60s'");
    while (working) {
      const began = performance.now();
      await work(client).catch(async (error: unknown) => {
        errors.push(error, (error as pg.DatabaseError).detail, (error as pg.DatabaseError).where);
        await client.query('rollback');
      });
      slowest.ms = Math.max(slowest.ms, performance.now() - began);
    }
  };
  const queue = { next: 0 };
  const deliverNext = async (webhook: pg.Client) => {
    const eventId = written.settled[queue.next];
    if (eventId === undefined) return new Promise((resolve) => setTimeout(resolve, 1));
    queue.next += 1;
    return deliver(webhook, eventId);
  };
  const loops = [
    loop('tracker', settle),
    loop('tracker', settle),
    loop('webhook', deliverNext),
    loop('webhook', deliverNext),
  ];
  await waitUntil('all are at work', () => written.delivered.length > 5);
  // A session reads the ledger in the opposite order and keeps its locks: the migration gives up its own and retries.
  const reader = await connect();
  await reader.query('begin; select count(*) from ledger_posting');
  const migrated = migrate(url, { migrations: WITH_EXAMPLE, waitMs: 300_000 });
  await untilMigrationWaits(admin);
  const meanwhile = written.delivered.length;
  await waitUntil('no service waits as long as the reader', () => written.delivered.length > meanwhile + 5);
  await reader.query('select count(*) from ledger_transaction; commit');
  expect(await migrated).toEqual(SINCE_BASELINE);
  const before = written.delivered.length;
  await waitUntil('all are at work on the new schema', () => written.delivered.length > before + 10);
  working = false;
  await Promise.all(loops);

  expect(errors).toEqual([]);
  expect(slowest.ms).toBeLessThan(30_000);
  const idsOf = async (text: string) =>
    new Set((await admin.query<{ id: string }>(text)).rows.map((row) => row.id));
  const missing = (ids: ReadonlySet<string>, wanted: readonly string[]) =>
    wanted.filter((id) => !ids.has(id));
  expect(missing(await idsOf('select event_id as id from tracker.inbox'), written.settled)).toEqual([]);
  expect(missing(await idsOf('select event_id as id from notification'), written.settled)).toEqual([]);
  expect(
    missing(
      await idsOf('select ref as id from ledger_transaction join ledger_posting using (ledger_tx_id)'),
      written.settled,
    ),
  ).toEqual([]);
  expect(
    missing(await idsOf(`select event_id as id from delivery where state = 'DELIVERED'`), written.delivered),
  ).toEqual([]);
  expect(missing(await idsOf('select event_id as id from delivery_attempt'), written.delivered)).toEqual([]);
  for (const table of ['tracker.inbox', 'notification', 'delivery', 'delivery_attempt'])
    expect((await admin.query(`select from ${table}, held where event_id = id`)).rowCount).toBe(HELD_ROWS);
  const { rows } = await admin.query<{ n: number }>('select count(*)::int as n from notification');
  expect(rows).toEqual([{ n: HELD_ROWS + written.settled.length }]);
  const invalid = await admin.query('select indexrelid::regclass from pg_index where not indisvalid');
  expect(invalid.rows).toEqual([]);
  console.info(
    `${written.settled.length} payments beside the migration, the longest held up for ${slowest.ms.toFixed(0)} ms`,
  );
});

test('a migration of steps completes after a failure at each step', async () => {
  const admin = await connect();
  const example = WITH_EXAMPLE.at(-1)!;
  const steps = [example.sql].flat();
  expect(steps.length).toBeGreaterThan(5);
  const indexOf = (step = '') => /create index concurrently if not exists (\w+)/.exec(step)?.slice(1) ?? [];
  await admin.query('delete from schema_migration where name = $1', [example.name]);
  for (const place of steps.keys()) {
    const brokenOff = { name: example.name, sql: [...steps.slice(0, place), 'select broken_off'] };
    const migrations = [...WITH_EXAMPLE.slice(0, -1), brokenOff];
    await expect(migrate(url, { migrations })).rejects.toMatchObject({ code: 'MIGRATION_FAILED' });
    // The state in which an interrupted creation leaves an index.
    for (const index of indexOf(steps[place - 1]))
      await admin.query('update pg_index set indisvalid = false where indexrelid = $1::regclass', [index]);
  }
  expect(await migrate(url, { migrations: WITH_EXAMPLE })).toEqual([example.name]);
  expect(await migrate(url, { migrations: WITH_EXAMPLE })).toEqual([]);
  const indexes = steps.flatMap(indexOf);
  const { rows } = await admin.query<{ valid: boolean }>(
    'select indisvalid as valid from pg_index where indexrelid = any($1::regclass[])',
    [indexes],
  );
  expect(rows).toEqual(indexes.map(() => ({ valid: true })));
});
