import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { sql } from 'kysely';
import pg from 'pg';
import { openDatabase, type Database, type DatabaseOptions } from '@opentill/db/database';
import { handleOnce } from '@opentill/db/inbox';
import { assertLease, keepLease } from '@opentill/db/lease';
import { migrate } from '@opentill/db/migrate';
import { appendToOutbox, createOutboxStore, newEvent } from '@opentill/db/outbox';
import { systemClock } from '@opentill/runtime/clock';
import { newId } from '@opentill/runtime/ids';
import { findFreePort } from '@opentill/test-servers/free-port';
import { startPgBouncer, type PgBouncer } from '@opentill/test-servers/pgbouncer';
import { scratchParent } from '@opentill/test-servers/scratch-directory';
import { createTestDatabase, type TestDatabase } from '../src/test-database.ts';

/** More clients than connections to Postgres, so that transactions of one client use different sessions. */
const POOL_SIZE = 3;
const CLIENTS = 20;
/** A busy machine is slow, and 20 clients wait for 3 sessions. */
const PATIENCE_MS = 90_000;
const USERS = ['opentill', 'opentill_tracker', 'opentill_webhook'];

let dir: string;
let database: TestDatabase;
let bouncer: PgBouncer;
let admin: Database;
const opened: Database[] = [];

beforeAll(async () => {
  dir = mkdtempSync(join(scratchParent(), 'opentill-pgbouncer-'));
  chmodSync(dir, 0o711);
  database = await createTestDatabase();
  admin = database.open('admin');
  bouncer = await startPgBouncer({
    dir: join(dir, 'pgbouncer'),
    port: await findFreePort(),
    postgresPort: Number(new URL(database.adminUrl).port),
    poolSize: POOL_SIZE,
    users: USERS,
    ignoredParameters: ['statement_timeout', 'idle_in_transaction_session_timeout'],
  });
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((one) => one.close()));
});
afterAll(async () => {
  await bouncer.stop();
  await admin.close();
  await database.drop();
  rmSync(dir, { recursive: true });
});

function through(url: string): string {
  const changed = new URL(url);
  changed.port = `${bouncer.port}`;
  return changed.href;
}
function open(options: Partial<DatabaseOptions> = {}): Database {
  const one = openDatabase({
    url: through(database.url('tracker')),
    applicationName: 'behind pgbouncer',
    poolMax: CLIENTS,
    connectTimeoutMs: PATIENCE_MS,
    statementTimeoutMs: PATIENCE_MS,
    ...options,
  });
  opened.push(one);
  return one;
}
const atOnce = <T>(work: (n: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: CLIENTS * 5 }, (_, n) => work(n)));

describe('a service behind PgBouncer in transaction mode', () => {
  test('uses several sessions of Postgres and few of them', async () => {
    const { kysely } = open();
    const pids = await atOnce(async () => {
      const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid from pg_sleep(0.01)`.execute(
        kysely,
      );
      return rows[0]?.pid;
    });
    expect(new Set(pids).size).toBe(POOL_SIZE);
  });

  test('handles each event once', async () => {
    const { kysely } = open();
    const events = Array.from({ length: CLIENTS }, newId);
    const handled = await atOnce((n) =>
      handleOnce(kysely, { schema: 'tracker', consumer: 'x', eventId: events[n % CLIENTS]! }, (tx) =>
        sql`select pg_sleep(0.001)`.execute(tx),
      ),
    );
    expect(handled.filter((one) => one.handled)).toHaveLength(CLIENTS);
  });

  test('drains its outbox in order, one relay at a time', async () => {
    const { kysely } = open();
    const published: string[] = [];
    const events = Array.from({ length: 100 }, () =>
      newEvent('order.created', '_', { orderPk: newId(), eventId: newId() }, { newId, clock: systemClock }),
    );
    await kysely.transaction().execute((tx) => appendToOutbox(tx, 'tracker', events));
    const store = createOutboxStore(kysely, 'tracker');
    while ((await store.backlog()).events > 0)
      await atOnce(() =>
        store.drain(7, async (rows) => {
          await Promise.resolve();
          published.push(...rows.map((row) => row.eventId));
        }),
      );
    expect(published).toEqual(events.map(({ envelope }) => envelope.id));
  });

  test('gives a lease to one holder and fences its writes', async () => {
    const { kysely } = open();
    const keepers = Array.from({ length: CLIENTS }, (_, n) =>
      keepLease({ db: kysely, schema: 'tracker', name: 'x', holder: `h${n}`, ttlMs: 60_000 }),
    );
    const held = (await Promise.all(keepers.map((keeper) => keeper.acquire()))).filter(
      (one) => one !== undefined,
    );
    expect(held).toHaveLength(1);
    await atOnce(() => kysely.transaction().execute((tx) => assertLease(tx, 'tracker', held[0]!)));
    // The time limit of that transaction does not stay with the session.
    const limits = await atOnce(async () => {
      const { rows } = await sql<{
        limit: string;
      }>`select current_setting('idle_in_transaction_session_timeout') as limit`.execute(kysely);
      return rows[0]?.limit;
    });
    expect(new Set(limits)).toEqual(new Set(['0']));
  });

  test('keeps advisory locks and planner settings within a transaction', async () => {
    const { kysely } = open();
    let inside = 0;
    let most = 0;
    await atOnce(() =>
      kysely.transaction().execute(async (tx) => {
        await sql`set local enable_hashjoin = off`.execute(tx);
        await sql`select pg_advisory_xact_lock(42)`.execute(tx);
        inside += 1;
        most = Math.max(most, inside);
        await sql`select 1`.execute(tx);
        inside -= 1;
      }),
    );
    expect(most).toBe(1);
    const { rows } = await sql`select from pg_locks where locktype = 'advisory' and objid = 42`.execute(
      admin.kysely,
    );
    expect(rows).toEqual([]);
  });

  test('reads a cursor of a transaction to its end', async () => {
    const { kysely } = open();
    const read = await atOnce(() =>
      kysely.transaction().execute(async (tx) => {
        await sql`declare exported no scroll cursor for select generate_series(1, 25) as n`.execute(tx);
        const rows: number[] = [];
        for (;;) {
          const batch = await sql<{ n: number }>`fetch 10 from exported`.execute(tx);
          rows.push(...batch.rows.map(({ n }) => n));
          if (batch.rows.length < 10) return rows;
        }
      }),
    );
    const all = Array.from({ length: 25 }, (_, n) => n + 1);
    expect(read.every((rows) => rows.join() === all.join())).toBe(true);
  });

  test('has the time limits of its role', async () => {
    await sql`alter role opentill_webhook set statement_timeout = '300ms'`.execute(admin.kysely);
    try {
      const limited = open({ url: through(database.url('webhook')) });
      await expect(sql`select pg_sleep(60)`.execute(limited.kysely)).rejects.toMatchObject({
        code: 'DATABASE_UNAVAILABLE',
        context: { sqlState: '57014' },
      });
    } finally {
      await sql`alter role opentill_webhook reset statement_timeout`.execute(admin.kysely);
    }
  });
});

test('the setup refuses to run behind PgBouncer before it changes anything', async () => {
  await expect(migrate(through(database.adminUrl))).rejects.toThrow(
    /unsupported startup parameter: lock_timeout/,
  );
});

test('PgBouncer without the setting names the start-up parameter to ignore', async () => {
  const strict = await startPgBouncer({
    dir: join(dir, 'strict'),
    port: await findFreePort(),
    postgresPort: Number(new URL(database.adminUrl).port),
    poolSize: POOL_SIZE,
    users: USERS,
    ignoredParameters: [],
  });
  try {
    const client = new pg.Client({
      connectionString: through(database.url('tracker')).replace(`:${bouncer.port}/`, `:${strict.port}/`),
      statement_timeout: 1_000,
    });
    await expect(client.connect()).rejects.toThrow(/unsupported startup parameter: statement_timeout/);
  } finally {
    await strict.stop();
  }
});
