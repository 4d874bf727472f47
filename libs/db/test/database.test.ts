import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createServer, connect, type AddressInfo, type Server, type Socket } from 'node:net';
import { sql } from 'kysely';
import { isDatabaseUnavailable, openDatabase, type Database, type DatabaseOptions } from '../src/database.ts';
import { aCollection } from '@opentill/testkit/scenario';
import { startTcpProxy } from '@opentill/testkit/tcp-proxy';
import { openTestDatabase } from '@opentill/testkit/test-database';
import { waitUntil } from '@opentill/testkit/wait-until';

const { testDatabase, admin } = await openTestDatabase();
const opened: Database[] = [];
const open = (options: Partial<DatabaseOptions> = {}): Database => {
  const database = openDatabase({
    url: testDatabase.url('tracker'),
    applicationName: 'under test',
    ...options,
  });
  opened.push(database);
  return database;
};
afterEach(async () => {
  await Promise.all(opened.splice(0).map((database) => database.close()));
});

const unavailable = { code: 'DATABASE_UNAVAILABLE', retryable: true };
const one = (database: Database) =>
  sql<{ one: number }>`select 1 as one`.execute(database.kysely).then(({ rows }) => rows[0]?.one);
const pidOf = async (database: Pick<Database, 'kysely'>) =>
  (await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(database.kysely)).rows[0]!.pid;
const terminate = (pid: number) => sql`select pg_terminate_backend(${pid}, 60000)`.execute(admin.kysely);

describe('values', () => {
  test('numeric maps to bigint, int8 to number, timestamptz to Date, also in arrays', async () => {
    const { rows } = await sql`
      select ${2n ** 255n}::numeric as big, ${-1n}::numeric as negative, ${9_007_199_254_740_991}::bigint as safe,
        ${new Date(1_700_000_000_123)}::timestamptz as at, array[1, null, 3]::numeric[] as numerics,
        array[1, 2]::bigint[] as ints, array[]::bigint[] as none, null::numeric as nothing`.execute(
      admin.kysely,
    );
    expect(rows[0]).toEqual({
      big: 2n ** 255n,
      negative: -1n,
      safe: 9_007_199_254_740_991,
      at: new Date(1_700_000_000_123),
      numerics: [1n, null, 3n],
      ints: [1, 2],
      none: [],
      nothing: null,
    });
  });

  test('a number that does not fit is an error and never rounded', async () => {
    for (const expression of ['9007199254740992::bigint', '0.5::numeric', "'NaN'::numeric"]) {
      await expect(sql.raw(`select ${expression} as x`).execute(admin.kysely)).rejects.toMatchObject({
        code: 'DATABASE_VALUE_UNREADABLE',
        retryable: false,
      });
    }
    expect(await one(admin)).toBe(1);
  });

  test('the parsers of a pool leave other users of pg in the process unchanged', async () => {
    const { default: pg } = await import('pg');
    const client = new pg.Client({ connectionString: testDatabase.adminUrl });
    await client.connect();
    expect((await client.query('select 1::numeric as n, 2::bigint as b')).rows).toEqual([{ n: '1', b: '2' }]);
    await client.end();
  });
});

describe('errors', () => {
  test('a constraint violation names the constraint; it and a missing right are final', async () => {
    const { cutoff_at: _, ...order } = await aCollection(admin.kysely);
    await expect(admin.kysely.insertInto('orders').values(order).execute()).rejects.toMatchObject({
      code: 'DATABASE_CONSTRAINT',
      retryable: false,
      context: { sqlState: '23505', constraint: 'orders_pkey', table: 'orders' },
    });
    await expect(sql`delete from orders`.execute(open().kysely)).rejects.toMatchObject({
      code: 'DATABASE_FORBIDDEN',
      retryable: false,
    });
    await expect(sql`select nonsense`.execute(open().kysely)).rejects.toMatchObject({
      code: 'DATABASE_QUERY_FAILED',
      retryable: true,
    });
  });

  test('a deadlock is a conflict for one of the two transactions', async () => {
    const [a, b] = [await aCollection(admin.kysely), await aCollection(admin.kysely)];
    const database = open();
    const locked = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
    const lock = (
      tx: Parameters<Parameters<ReturnType<Database['kysely']['transaction']>['execute']>[0]>[0],
      pk: string,
    ) => tx.selectFrom('orders').select('order_pk').where('order_pk', '=', pk).forUpdate().execute();
    const cross = (first: string, second: string, mine: 0 | 1) =>
      database.kysely.transaction().execute(async (tx) => {
        await lock(tx, first);
        locked[mine].resolve();
        await locked[1 - mine]!.promise;
        await lock(tx, second);
      });
    const results = await Promise.allSettled([
      cross(a.order_pk, b.order_pk, 0),
      cross(b.order_pk, a.order_pk, 1),
    ]);
    const failures = results.flatMap((result) =>
      result.status === 'rejected' ? [result.reason as unknown] : [],
    );
    expect(failures).toMatchObject([{ code: 'DATABASE_CONFLICT', retryable: true }]);
  });

  test('no server, an unknown host and an exhausted pool are reported as unavailable', async () => {
    await expect(one(open({ url: 'postgres://x@127.0.0.1:1/none' }))).rejects.toMatchObject(unavailable);
    await expect(one(open({ url: 'postgres://x@name.invalid/none' }))).rejects.toMatchObject(unavailable);
    const small = open({ poolMax: 1, connectTimeoutMs: 3_000 });
    const holding = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const transaction = small.kysely.transaction().execute(async (tx) => {
      await sql`select 1`.execute(tx);
      begun.resolve();
      await holding.promise;
    });
    await begun.promise;
    await expect(one(small)).rejects.toMatchObject(unavailable);
    expect(small.stats()).toEqual({ total: 1, idle: 0, waiting: 0 });
    holding.resolve();
    await transaction;
    expect(await one(small)).toBe(1);
    await small.close();
    await expect(one(small)).rejects.toMatchObject(unavailable);
  });
});

describe('several hosts', () => {
  const withDeadHost = (url: string): string => url.replace('127.0.0.1:', '127.0.0.1:1,127.0.0.1:');

  test('connects to the host that accepts writes and reports it', async () => {
    const news: unknown[] = [];
    const database = open({
      url: withDeadHost(testDatabase.url('tracker')),
      onPrimary: (primary) => news.push(primary),
    });
    expect(await Promise.all([one(database), one(database), one(database)])).toEqual([1, 1, 1]);
    const { port } = new URL(testDatabase.url('tracker'));
    expect(news).toEqual([{ host: `127.0.0.1:${port}`, timeline: expect.any(Number), conflicts: [] }]);
    await terminate(await pidOf(database));
    await waitUntil('connected again', async () => (await one(database)) === 1);
    expect(news).toHaveLength(1);
  });

  test('names every host when none accepts writes within the limit', async () => {
    const database = open({ url: 'postgres://x:secret@127.0.0.1:1,127.0.0.1:2/none', connectTimeoutMs: 200 });
    const error: unknown = await one(database).catch((reason: unknown) => reason);
    expect(error).toMatchObject(unavailable);
    expect(String(error)).toMatch(/127.0.0.1:1: .*ECONNREFUSED.*; 127.0.0.1:2: .*ECONNREFUSED/);
    expect(String(error)).not.toContain('secret');
  });
});

describe('one host name that leads to another server', () => {
  interface Server {
    /** Null: hidden by the provider. */
    readonly timeline: number | null;
    readonly startedAt: string;
    readonly isStandby?: boolean;
  }
  const PRIMARY: Server = { timeline: 1, startedAt: '2026-01-01' };
  const PROMOTED: Server = { timeline: 2, startedAt: '2026-01-02' };

  /**
   * Each new session asks these functions instead of Postgres' own, because of its search_path. A session stays with
   * the server to which the name led at its first question, as a real connection does.
   */
  beforeAll(async () => {
    await sql`
      create schema named;
      grant usage on schema named to opentill_tracker;
      create sequence named.asked;
      create table named.server (timeline int, started_at timestamptz, is_standby bool);
      insert into named.server default values;
      create function named.of_session() returns named.server language plpgsql security definer as $$
        begin
          if coalesce(current_setting('named.server', true), '') = '' then
            perform set_config('named.server', (select row_to_json(s)::text from named.server s), false);
          end if;
          return json_populate_record(null::named.server, current_setting('named.server')::json);
        end $$;
      create function named.pg_postmaster_start_time() returns timestamptz language sql security definer
        as 'select nextval(''named.asked''); select started_at from named.of_session()';
      create function named.pg_is_in_recovery() returns bool language sql security definer
        as 'select is_standby from named.of_session()';
      create function named.pg_walfile_name(lsn pg_lsn) returns text language plpgsql security definer as $$
        declare known int := (select s.timeline from named.of_session() s);
        begin
          if known is null then raise insufficient_privilege; end if;
          return lpad(to_hex(known), 8, '0') || '0000000000000001';
        end $$;
      grant execute on all functions in schema named to opentill_tracker`.execute(admin.kysely);
  });

  const leadTo = ({ timeline, startedAt, isStandby = false }: Server) =>
    sql`update named.server set timeline = ${timeline}, started_at = ${startedAt}, is_standby = ${isStandby}`.execute(
      admin.kysely,
    );
  const asked = async () =>
    Number(
      (await sql<{ n: number }>`select last_value as n from named.asked`.execute(admin.kysely)).rows[0]!.n,
    );
  /** Of three looks the second began after the call, and ended before the third. */
  const looks = async () => {
    const before = await asked();
    await waitUntil('it looked', async () => (await asked()) >= before + 3);
  };
  const isConnected = async (pid: number) =>
    (await sql`select from pg_stat_activity where pid = ${pid}`.execute(admin.kysely)).rows.length > 0;

  const start = async (server: Server, through = (url: string) => url) => {
    await leadTo(server);
    const news: unknown[] = [];
    const url = new URL(through(testDatabase.url('tracker')));
    url.searchParams.set('options', '-c search_path=named,pg_catalog');
    const database = open({
      url: url.href,
      primaryWatchMs: 20,
      poolMax: 1,
      onPrimary: (primary) => news.push(primary),
    });
    return { database, news, host: url.host, pid: await pidOf(database) };
  };

  test('ends sessions to the old primary, also in a transaction', async () => {
    const { database, news, host, pid } = await start(PRIMARY);
    await looks();
    expect(await pidOf(database)).toBe(pid);
    expect(news).toEqual([]);

    const eventId = '00000000-0000-4000-8000-000000000001';
    const written = database.kysely.transaction().execute(async (tx) => {
      await sql`insert into tracker.inbox (consumer, event_id) values ('x', ${eventId})`.execute(tx);
      await leadTo(PROMOTED);
      await waitUntil('the session ended', async () => !(await isConnected(pid)));
    });
    await expect(written).rejects.toMatchObject(unavailable);
    expect(
      (await sql`select from tracker.inbox where event_id = ${eventId}`.execute(admin.kysely)).rows,
    ).toEqual([]);
    expect(await pidOf(database)).not.toBe(pid);
    expect(news).toEqual([{ host, timeline: 2, conflicts: [] }]);
  });

  test('ends sessions to another server also when the provider hides timelines', async () => {
    const { pid } = await start({ ...PRIMARY, timeline: null });
    await leadTo({ ...PROMOTED, timeline: null });
    await waitUntil('the session ended', async () => !(await isConnected(pid)));
  });

  test('refuses an old primary and keeps its sessions to the new one', async () => {
    const { database, news, host, pid } = await start(PROMOTED);
    await leadTo(PRIMARY);
    await looks();
    expect(await pidOf(database)).toBe(pid);
    const conflicts = [expect.stringMatching(/it is an old primary \(timeline 1, the newest is 2\)/)];
    expect(news).toEqual([{ host, timeline: 1, conflicts }]);
    await terminate(pid);
    await waitUntil('the pool noticed', () => database.stats().total === 0);
    await expect(one(database)).rejects.toMatchObject({
      ...unavailable,
      message: expect.stringMatching(/refused: it is an old primary/),
    });
    await leadTo(PROMOTED);
    expect(await one(database)).toBe(1);
  });

  test('keeps its sessions while the name leads to a standby or nowhere', async () => {
    const proxy = await startTcpProxy(Number(new URL(testDatabase.url('tracker')).port));
    const { database, news, pid } = await start(PRIMARY, proxy.through);
    await leadTo({ ...PROMOTED, isStandby: true });
    await looks();
    proxy.mode = 'refuse';
    const before = proxy.refused;
    await waitUntil('it looked', () => proxy.refused >= before + 2);
    expect(await pidOf(database)).toBe(pid);
    await leadTo(PROMOTED);
    proxy.mode = 'pass';
    await waitUntil('the session ended', async () => !(await isConnected(pid)));
    await database.close();
    await proxy.close();
    expect(news).toMatchObject([{ timeline: 2, conflicts: [] }]);
  });
});

describe('a server that becomes read-only', () => {
  const write = (database: Database) =>
    sql`insert into tracker.inbox (consumer, event_id) values ('x', gen_random_uuid())`.execute(
      database.kysely,
    );

  test('refuses new connections and says why', async () => {
    const name = new URL(testDatabase.adminUrl).pathname.slice(1);
    const setting = sql.raw(
      `alter role opentill_tracker in database ${name} set default_transaction_read_only`,
    );
    await sql`${setting} = on`.execute(admin.kysely);
    try {
      const error: unknown = await write(open()).catch((reason: unknown) => reason);
      expect(error).toMatchObject({
        ...unavailable,
        message: expect.stringMatching(/refused: it is read-only/),
      });
    } finally {
      await sql`alter role opentill_tracker in database ${sql.raw(name)} reset default_transaction_read_only`.execute(
        admin.kysely,
      );
    }
  });

  test('drops a connection that became read-only', async () => {
    const database = open({ poolMax: 1 });
    await sql`set default_transaction_read_only = on`.execute(database.kysely);
    const pid = await pidOf(database);
    await expect(write(database)).rejects.toMatchObject({ ...unavailable, context: { sqlState: '25006' } });
    await write(database);
    expect(await pidOf(database)).not.toBe(pid);
  });
});

describe('connections that break', () => {
  test('Postgres cancels a statement that takes too long and keeps the connection', async () => {
    const database = open({ statementTimeoutMs: 500, poolMax: 1 });
    // On a loaded machine the client's own limit may end first; that round does not count.
    await waitUntil('Postgres was first', async () => {
      const pid = await pidOf(database);
      const error: unknown = await sql`select pg_sleep(5)`
        .execute(database.kysely)
        .catch((failure: unknown) => failure);
      expect(error).toMatchObject({ ...unavailable, context: { sqlState: '57014' } });
      expect(isDatabaseUnavailable(error)).toBe(true);
      expect(await pidOf(database)).toBe(pid);
      return true;
    });
  });

  test('a lost idle connection is replaced and reported', async () => {
    const lost = Promise.withResolvers<Error>();
    const database = open({ poolMax: 1, onConnectionLost: lost.resolve });
    await terminate(await pidOf(database));
    expect((await lost.promise).message).toMatch(/terminat/);
    expect(await one(database)).toBe(1);
  });

  test('a connection lost between two statements fails the transaction without a crash', async () => {
    const database = open({ poolMax: 1 });
    const transaction = database.kysely.transaction().execute(async (tx) => {
      await terminate(await pidOf({ kysely: tx }));
      await new Promise((resolve) => setImmediate(resolve));
      await sql`select 1`.execute(tx);
    });
    await expect(transaction).rejects.toMatchObject(unavailable);
    expect(await one(database)).toBe(1);
  });

  test('a connection lost before the commit fails the commit', async () => {
    const database = open({ poolMax: 1 });
    await expect(
      database.kysely.transaction().execute(async (tx) => {
        await terminate(await pidOf({ kysely: tx }));
        return 'not committed';
      }),
    ).rejects.toMatchObject(unavailable);
  });

  test('an error of the work is rethrown also when the connection was lost', async () => {
    const database = open({ poolMax: 1 });
    await expect(
      database.kysely.transaction().execute(async (tx) => {
        await terminate(await pidOf({ kysely: tx }));
        await sql`select 1`.execute(tx).catch(() => undefined);
        throw new Error('the reason');
      }),
    ).rejects.toThrow('the reason');
    expect(await one(database)).toBe(1);
  });

  test('Postgres ends a transaction left open and it never commits', async () => {
    const order = await aCollection(admin.kysely);
    const database = open({ poolMax: 1, idleInTransactionTimeoutMs: 3_000 });
    const transaction = database.kysely.transaction().execute(async (tx) => {
      await tx
        .updateTable('orders')
        .set({ reason: 'left open' })
        .where('order_pk', '=', order.order_pk)
        .execute();
      // Postgres releases the lock when it ends the session.
      await admin.kysely
        .updateTable('orders')
        .set({ version: 7 })
        .where('order_pk', '=', order.order_pk)
        .execute();
    });
    await expect(transaction).rejects.toMatchObject(unavailable);
    const row = await admin.kysely
      .selectFrom('orders')
      .selectAll()
      .where('order_pk', '=', order.order_pk)
      .executeTakeFirstOrThrow();
    expect(row).toMatchObject({ reason: null, version: 7 });
  });

  test('a pool recovers from a network that drops every packet', async () => {
    const tunnel = await startTunnel(testDatabase.url('tracker'));
    const database = open({
      url: tunnel.url,
      poolMax: 1,
      statementTimeoutMs: 1_000,
      connectTimeoutMs: 2_000,
    });
    try {
      let pid = 0;
      await waitUntil('connected', async () => (pid = await pidOf(database)) > 0);
      tunnel.swallow(true);
      const began = Date.now();
      await expect(one(database)).rejects.toMatchObject(unavailable); // statement timeout + 1 s
      expect(Date.now() - began).toBeLessThan(60_000);
      await expect(one(database)).rejects.toMatchObject(unavailable); // a new connection gets no answer either
      tunnel.swallow(false);
      await waitUntil('recovered', async () => (await pidOf(database)) !== pid);
      // If it waited for the rollback too, every round would fail; on a loaded machine the first rounds may.
      await waitUntil('the rollback does not wait again', async () => {
        tunnel.swallow(false);
        let beganMs = 0;
        const transaction = database.kysely.transaction().execute(async (tx) => {
          await sql`select 1`.execute(tx);
          tunnel.swallow(true);
          beganMs = performance.now();
          await sql`select 2`.execute(tx);
        });
        await expect(transaction).rejects.toMatchObject(unavailable);
        return beganMs > 0 && performance.now() - beganMs < 4_000; // a statement gives up after two seconds
      });
      tunnel.swallow(false);
      await waitUntil('recovered again', async () => (await one(database)) === 1);
      expect(database.stats().total).toBe(1);
    } finally {
      await database.close();
      await tunnel.stop();
    }
  });
});

/** Drops all traffic on demand, without closing a connection. */
async function startTunnel(
  target: string,
): Promise<{ url: string; swallow(on: boolean): void; stop(): Promise<void> }> {
  const url = new URL(target);
  const [port, host] = [Number(url.port), url.hostname];
  let swallowing = false;
  const sockets = new Set<Socket>();
  const server: Server = createServer((client) => {
    const upstream = connect(port, host);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('data', (data) => void (swallowing || to.write(data)));
      from.on('error', () => to.destroy());
      from.on('close', () => to.destroy());
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url.hostname = '127.0.0.1';
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.toString(),
    swallow: (on) => (swallowing = on),
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

describe('closing', () => {
  test('closing waits for running work and breaks off what exceeds the time limit', async () => {
    const quick = open({});
    const answered = sql`select pg_sleep(0.2)`.execute(quick.kysely);
    await waitUntil('it runs', () => quick.stats().total === 1);
    await quick.close(60_000);
    await answered;

    const stuck = open({ statementTimeoutMs: 300_000 });
    const locker = open({ statementTimeoutMs: 300_000, idleInTransactionTimeoutMs: 300_000 });
    await sql`create table closing (x int)`.execute(admin.kysely);
    await sql`grant select, insert, update on closing to opentill_tracker`.execute(admin.kysely);
    await locker.kysely.transaction().execute(async (tx) => {
      await sql`lock table closing`.execute(tx);
      const waiting = stuck.kysely
        .transaction()
        .execute((other) => sql`insert into closing values (1)`.execute(other));
      const refused = expect(waiting).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' });
      await waitUntil('it waits for the lock', async () => {
        const { rows } =
          await sql`select from pg_locks where not granted and relation = 'closing'::regclass`.execute(tx);
        return rows.length === 1;
      });
      const began = Date.now();
      await stuck.close(300);
      expect(Date.now() - began).toBeLessThan(60_000); // and not only when its statement times out
      await refused;
    });
    const { rows } = await sql<{ n: number }>`select count(*) as n from closing`.execute(locker.kysely);
    expect(rows[0]?.n).toBe(0);
  });
});

describe('prepared statements', () => {
  const prepared = async (database: Database) => {
    const { rows } = await database.pool.query<{ statement: string }>(
      'select statement from pg_prepared_statements',
    );
    return rows.map((row) => row.statement).toSorted();
  };
  const ask = async (database: Database) => {
    for (const value of ['a', 'b']) {
      const { rows } = await sql<{ text: string }>`select ${value}::text as text`.execute(database.kysely);
      expect(rows).toEqual([{ text: value }]);
    }
    await database.kysely.transaction().execute((tx) => sql`select 1`.execute(tx));
  };

  test('statements are prepared once per text outside transactions when enabled', async () => {
    const database = open({ poolMax: 1, prepareStatements: true });
    await ask(database);
    expect(await prepared(database)).toEqual(['select $1::text as text', 'select 1']);
  });

  test('statements with long array parameters are planned for their length', async () => {
    const database = open({ poolMax: 1, prepareStatements: true });
    const count = (length: number) =>
      sql`select count(*) from unnest(${Array.from({ length }, (_, index) => index)}::int[])`.execute(
        database.kysely,
      );
    await count(500);
    expect(await prepared(database)).toEqual([]);
    await count(2);
    expect(await prepared(database)).toEqual(['select count(*) from unnest($1::int[])']);
  });

  test('statements are not prepared by default, and their number is bounded', async () => {
    const plain = open({ poolMax: 1 });
    await ask(plain);
    expect(await prepared(plain)).toEqual([]);
    const many = open({ poolMax: 1, prepareStatements: true });
    for (let i = 0; i < 250; i += 1) await sql.raw(`select ${i}`).execute(many.kysely);
    expect(await prepared(many)).toHaveLength(200);
  });

  test('after a change of a table one call with a prepared statement fails as retryable', async () => {
    await sql`create table altered (x integer)`.execute(admin.kysely);
    await sql`grant select on altered to public`.execute(admin.kysely);
    const database = open({ poolMax: 3, prepareStatements: true });
    const read = (db: typeof database.kysely) => sql`select * from altered`.execute(db);
    /** Releases no connection before all of the pool have read. */
    const onAll = () => {
      const allHave = Promise.withResolvers<void>();
      let missing = 3;
      return Promise.allSettled(
        [1, 2, 3].map(() =>
          database.kysely.connection().execute(async (connection) => {
            try {
              await read(connection);
            } finally {
              missing -= 1;
              if (missing === 0) allHave.resolve();
              await allHave.promise;
            }
          }),
        ),
      );
    };
    await onAll();
    await sql`alter table altered add column y integer`.execute(admin.kysely);
    await expect(read(database.kysely)).rejects.toMatchObject({ code: 'DATABASE_CONFLICT', retryable: true });
    for (const result of await onAll()) expect(result.status).toBe('fulfilled');
  });

  test('an unknown or duplicate prepared statement closes only its connection', async () => {
    const database = open({ poolMax: 1, prepareStatements: true });
    const pid = await pidOf(database);
    for (const meddle of [sql`deallocate all`, sql.raw('prepare s0_2 as select 1')]) {
      await one(database).catch(() => undefined);
      await meddle.execute(database.kysely);
      const results = await Promise.allSettled([one(database), sql`select 2`.execute(database.kysely)]);
      for (const result of results)
        if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'DATABASE_CONFLICT' });
      expect(await one(database)).toBe(1);
    }
    expect(await pidOf(database)).not.toBe(pid);
  });
});
