import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { MIGRATOR_LOCK, migrate } from '../src/migrate.ts';
import { MIGRATIONS, type Migration } from '../src/migrations.ts';
import { PRESET_CHAINS, presetOf } from '@opentill/domain/chains';
import { roleUrl, setRolePasswords } from '../src/roles.ts';
import { createTestDatabase, type TestDatabase } from '@opentill/testkit/test-database';

let testDatabase: TestDatabase;
let server: pg.Client;
let name: string;
let url: string;
const migrated: TestDatabase[] = [];
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  server = new pg.Client({ connectionString: testDatabase.adminUrl });
  await server.connect();
});
beforeEach(async () => {
  if (name) await server.query(`drop database ${name} with (force)`);
  name = `opentill_test_${Math.floor(Date.now() / 1000)}_${randomBytes(6).toString('hex')}`;
  await server.query(`create database ${name}`);
  const own = new URL(testDatabase.adminUrl);
  own.pathname = `/${name}`;
  url = own.toString();
});
afterEach(async () => {
  for (const database of migrated.splice(0)) await database.drop();
});
afterAll(async () => {
  await server.query(`drop database ${name} with (force)`);
  await server.end();
  await testDatabase.drop();
});

/** Takes a copy of the migrated template, which is cheaper than to migrate. */
async function useMigrated(): Promise<void> {
  const database = await createTestDatabase();
  migrated.push(database);
  url = database.adminUrl;
}

async function query<T extends object>(text: string): Promise<T[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<T>(text)).rows;
  } finally {
    await client.end();
  }
}
const names = MIGRATIONS.map((migration) => migration.name);
const later: Migration = { name: '0002-later', sql: 'create table later (x integer)' };

describe('migrate', () => {
  test('migrates an empty database to the schema and applies none the second time', async () => {
    expect(await migrate(url)).toEqual(names);
    expect(await migrate(url)).toEqual([]);
    expect((await query('select name from schema_migration')).length).toBe(names.length);
  });

  test('adds chains that a later version knows, without a migration', async () => {
    await useMigrated();
    const chains = () =>
      query<{ chain: string; family: string; chain_id: string | null; kind: string | null }>(
        'select * from chain_family order by chain',
      );
    const known = await chains();
    expect(known).toEqual(
      PRESET_CHAINS.map((chain) => presetOf(chain)!)
        .map(({ family, chainId, kind }, at) => ({
          chain: PRESET_CHAINS[at],
          family,
          chain_id: chainId === undefined ? null : String(chainId),
          kind,
        }))
        .toSorted((a, b) => (a.chain! < b.chain! ? -1 : 1)),
    );
    await query(`delete from chain_family where chain = 'POLYGON'`); // as if this version were the first to know it
    await query(`insert into chain_family values ('ACME', 'EVM', 31337, 'test')`); // and the networks file had this one
    await migrate(url);
    expect(await chains()).toEqual(
      [{ chain: 'ACME', family: 'EVM', chain_id: '31337', kind: 'test' }, ...known].toSorted((a, b) =>
        a.chain < b.chain ? -1 : 1,
      ),
    );
  });

  test('keeps a configured chain whose chain id a later preset has', async () => {
    await useMigrated();
    await query(`delete from chain_family where chain = 'POLYGON'`);
    await query(`insert into chain_family values ('MATIC', 'EVM', 137, 'main')`);
    await migrate(url);
    expect(await query(`select chain from chain_family where chain_id = 137`)).toEqual([{ chain: 'MATIC' }]);
  });

  test('migrates as the owner of the database, without a superuser', async () => {
    await migrate(testDatabase.adminUrl); // the roles exist
    const owner = `opentill_owner_${randomBytes(4).toString('hex')}`;
    await server.query(`create role ${owner} login createrole`);
    try {
      await server.query(`alter database ${name} owner to ${owner}`);
      const asOwner = new URL(url);
      asOwner.username = owner;
      expect(await migrate(asOwner.toString())).toEqual(names);
      expect(await migrate(asOwner.toString())).toEqual([]);
      const settings = `select setconfig from pg_db_role_setting s join pg_database d on d.oid = s.setdatabase
        where d.datname = current_database() and setrole = 0`;
      expect(await query(settings)).toEqual([{ setconfig: ['jit=off'] }]); // the test server has it off anyway
    } finally {
      await server.query(`drop database ${name} with (force)`);
      await server.query(`create database ${name}`);
      await server.query(`drop role ${owner}`);
    }
  });

  test('one of several concurrent migrators works and the others wait', async () => {
    const applied = await Promise.all(Array.from({ length: 5 }, () => migrate(url)));
    expect(applied.filter((list) => list.length > 0)).toEqual([names]);
  });

  test('concurrent migrations of two databases on one server create the roles once', async () => {
    const other = `${name}b`;
    await server.query(`create database ${other}`);
    try {
      await Promise.all([migrate(url), migrate(url.replace(name, other))]);
    } finally {
      await server.query(`drop database ${other} with (force)`);
    }
  });

  test('gives up waiting for the migration lock after the time limit', async () => {
    const blocker = new pg.Client({ connectionString: url });
    await blocker.connect();
    const { rows } = await blocker.query<{ key: string }>(
      `select (classid::bigint << 32 | objid::bigint)::text as key from pg_locks where locktype = 'advisory'
         and database = (select oid from pg_database where datname = current_database())`,
    );
    expect(rows).toEqual([]);
    await blocker.query('begin');
    await migrate(url, { migrations: [] }); // creates the table of migrations
    await blocker.query('lock table schema_migration in access exclusive mode');
    await expect(migrate(url, { waitMs: 100 })).rejects.toMatchObject({
      code: 'DATABASE_CONFLICT',
      retryable: true,
    });
    await blocker.end();
    expect(await migrate(url)).toEqual(names);
  });

  test('names the session that holds the lock and how to end it', async () => {
    await useMigrated();
    const holder = new pg.Client({ connectionString: url, application_name: 'somebody' });
    await holder.connect();
    const { rows } = await holder.query<{ pid: number; role: string }>(
      `select pg_backend_pid() as pid, current_user as role from pg_advisory_lock(${MIGRATOR_LOCK})`,
    );
    const { pid, role } = rows[0]!;
    await expect(migrate(url, { waitMs: 100 })).rejects.toMatchObject({
      code: 'DATABASE_CONFLICT',
      message: expect.stringContaining(
        `"somebody" of the role ${role} (process ${pid}) holds the migration lock of this database`,
      ),
      context: { holder: { pid, role, application: 'somebody' } },
    });
    await holder.end();
  });

  test('applies new migrations in list order', async () => {
    await useMigrated();
    const third = { name: '0003-after', sql: 'alter table later add column y integer' };
    expect(await migrate(url, { migrations: [...MIGRATIONS, later, third] })).toEqual([
      '0002-later',
      '0003-after',
    ]);
  });

  test('refuses a migration that was changed after it was applied', async () => {
    await migrate(url, { migrations: [later] });
    const changed = { ...later, sql: `${later.sql} -- better` };
    await expect(migrate(url, { migrations: [changed] })).rejects.toMatchObject({
      code: 'MIGRATION_CHANGED',
      retryable: false,
      message: expect.stringContaining('0002-later'),
    });
  });

  test('refuses a database that is newer than itself', async () => {
    await migrate(url, { migrations: [later] });
    await expect(migrate(url, { migrations: [] })).rejects.toMatchObject({
      code: 'MIGRATION_UNKNOWN',
      retryable: false,
    });
  });

  test('rejects a database of a version before 0.1.0 and leaves it unchanged', async () => {
    const before = { name: '0001-foundations', sql: 'create table orders (x integer)' };
    await migrate(url, { migrations: [before] });
    const tables = () => query('select c.oid::regclass::text as name from pg_class c where oid >= 16384');
    const found = await tables();
    await expect(migrate(url)).rejects.toMatchObject({
      code: 'MIGRATION_BEFORE_RELEASE',
      retryable: false,
      message: expect.stringMatching(/version before 0\.1\.0, which cannot be upgraded: set up a new, empty/),
    });
    expect(await tables()).toEqual(found);
    expect(await query('select name from schema_migration')).toEqual([{ name: '0001-foundations' }]);
  });

  test('rolls back a failed migration and keeps the earlier ones', async () => {
    const broken = { name: '0003-broken', sql: 'create table half (x integer); select 1/0' };
    await expect(migrate(url, { migrations: [later, broken] })).rejects.toMatchObject({
      code: 'MIGRATION_FAILED',
      retryable: false,
      message: expect.stringContaining('division by zero'),
    });
    expect(
      await query(
        "select to_regclass('later') is not null as later, to_regclass('half') is not null as half",
      ),
    ).toEqual([{ later: true, half: false }]);
    expect(await migrate(url, { migrations: [later] })).toEqual([]);
  });

  test('an unreachable server is a retryable error', async () => {
    await expect(migrate('postgres://nobody@127.0.0.1:1/none')).rejects.toMatchObject({
      code: 'DATABASE_UNAVAILABLE',
      retryable: true,
    });
  });

  test('migration names are ordered and unique', () => {
    expect(names).toEqual(names.toSorted());
    expect(new Set(names).size).toBe(names.length);
  });
});

describe('roles', () => {
  test('setting passwords stores SCRAM verifiers, and only for the named roles', async () => {
    await useMigrated();
    const before = await query<{ rolpassword: string | null }>(
      "select rolpassword from pg_authid where rolname = 'opentill_api'",
    );
    // No other test connects as 'ops' with a password.
    await setRolePasswords(url, { ops: "it's a secret" });
    const [ops] = await query<{ rolpassword: string }>(
      "select rolpassword from pg_authid where rolname = 'opentill_ops'",
    );
    expect(ops!.rolpassword).toMatch(/^SCRAM-SHA-256\$4096:[^$]+\$[^:]+:.+$/);
    expect(await query("select rolpassword from pg_authid where rolname = 'opentill_api'")).toEqual(before);
    // Postgres stores the text unchanged as a verifier and does not hash it as a password.
    await setRolePasswords(url, { ops: "it's a secret" });
    const [again] = await query<{ rolpassword: string }>(
      "select rolpassword from pg_authid where rolname = 'opentill_ops'",
    );
    expect(again!.rolpassword).not.toBe(ops!.rolpassword); // another salt
    await query('alter role opentill_ops password null'); // roles belong to the server, not to this database
  });

  test('the URL of a role keeps server and database', () => {
    expect(roleUrl('postgres://admin:x@db:5433/till?sslmode=require', 'scanner_evm', 'p@ss/word')).toBe(
      'postgres://opentill_scanner_evm:p%40ss%2Fword@db:5433/till?sslmode=require',
    );
    expect(roleUrl('postgres://admin:x@db/till', 'api')).toBe('postgres://opentill_api@db/till');
  });

  test('service roles can connect to this database and other roles cannot', async () => {
    await migrate(url);
    const stranger = `opentill_stranger_${randomBytes(4).toString('hex')}`;
    await server.query(`create role ${stranger} login`);
    try {
      const connect = async (as: string) => {
        const client = new pg.Client({ connectionString: as });
        await client.connect();
        await client.end();
      };
      await connect(roleUrl(url, 'tracker'));
      const foreign = new URL(url);
      foreign.username = stranger;
      await expect(connect(foreign.toString())).rejects.toThrow(/permission denied for database/);
    } finally {
      await server.query(`drop role ${stranger}`);
    }
  });
});
