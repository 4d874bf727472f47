import { createHash, randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterAll } from 'vitest';
import { PRESET_CHAINS } from '@opentill/domain/chains';
import { openDatabase, type Database } from '@opentill/db/database';
import { checksum, migrate } from '@opentill/db/migrate';
import { MIGRATIONS } from '@opentill/db/migrations';
import { configureDatabase, roleUrl } from '@opentill/db/roles';
import type { RoleName } from '@opentill/db/service-schema';

export interface TestDatabase {
  readonly adminUrl: string;
  url(role: RoleName): string;
  /** Opens a pool for a service's role or the owner. Close it before `drop`. */
  open(role: RoleName | 'admin'): Database;
  /** Rejects if a connection is still open after `closingMs`, because a test did not close a pool. */
  drop(closingMs?: number): Promise<void>;
}

const TEMPLATE_LOCK = '5123907745120934';
/** Maximum time until Postgres no longer lists closed connections. */
const CLOSING_MS = 30_000;
/** Generous, for busy machines. Tests of timeouts open the database with their own limits. */
const TIMEOUT_MS = 60_000;
const STALE_AFTER_SECONDS = 3_600;

/** Superuser's URL of the test server. Roles connect without a password (trust). */
function serverUrl(): string {
  const url = process.env['OPENTILL_TEST_DATABASE_URL'];
  if (url === undefined || url === '') {
    throw new Error(
      'OPENTILL_TEST_DATABASE_URL is not set: run the tests by `npm test`, which starts Postgres',
    );
  }
  return url;
}

function databaseUrl(name: string): string {
  const url = new URL(serverUrl());
  url.pathname = `/${name}`;
  return url.toString();
}

async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, application_name: 'opentill-testkit' });
  client.on('error', () => undefined); // the current query rejects
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** The name depends on migrations and chains, so that a change creates a new template. */
function templateName(): string {
  const hash = createHash('sha256');
  for (const migration of MIGRATIONS) hash.update(`${migration.name} ${checksum(migration)}\n`);
  hash.update(PRESET_CHAINS.join());
  return `opentill_template_${hash.digest('hex').slice(0, 16)}`;
}

/** Creates the template if it does not exist. Concurrent test files wait for the first one. */
async function ensureTemplate(server: pg.Client): Promise<string> {
  const name = templateName();
  const exists = async () =>
    (await server.query('select from pg_database where datname = $1 and datistemplate', [name])).rowCount ===
    1;
  if (await exists()) return name;
  await server.query(`select pg_advisory_lock(${TEMPLATE_LOCK})`);
  try {
    if (await exists()) return name;
    await server.query(`drop database if exists ${name} with (force)`); // incomplete after a killed run
    await dropStaleDatabases(server);
    await server.query(`create database ${name}`);
    await migrate(databaseUrl(name));
    await server.query(`alter database ${name} with is_template true allow_connections false`);
    return name;
  } finally {
    await server.query(`select pg_advisory_unlock(${TEMPLATE_LOCK})`);
  }
}

/** Drops databases of killed runs, whose names contain their time of creation. */
async function dropStaleDatabases(server: pg.Client): Promise<void> {
  const { rows } = await server.query<{ datname: string }>(
    `select datname from pg_database d where datname ~ '^opentill_test_[0-9]+_'
       and split_part(datname, '_', 3)::bigint < extract(epoch from now()) - ${STALE_AFTER_SECONDS}
       and not exists (select from pg_stat_activity a where a.datname = d.datname)`,
  );
  for (const { datname } of rows) await server.query(`drop database if exists ${datname}`);
}

/** Takes about 0.1 s if the server's data are in memory (scratchParent). Call `drop` in afterAll. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const name = `opentill_test_${Math.floor(Date.now() / 1000)}_${randomBytes(6).toString('hex')}`;
  const adminUrl = databaseUrl(name);
  await withClient(serverUrl(), async (server) => {
    await server.query(`create database ${name} template ${await ensureTemplate(server)}`);
  });
  await withClient(adminUrl, configureDatabase);
  const url = (role: RoleName): string => roleUrl(adminUrl, role);
  return {
    adminUrl,
    url,
    open: (role) =>
      openDatabase({
        url: role === 'admin' ? adminUrl : url(role),
        applicationName: `test ${role}`,
        poolMax: 20,
        statementTimeoutMs: TIMEOUT_MS,
        idleInTransactionTimeoutMs: TIMEOUT_MS,
        connectTimeoutMs: TIMEOUT_MS,
        prepareStatements: role.startsWith('scanner_'), // as the scanners do
      }),
    drop: (closingMs = CLOSING_MS) => dropDatabase(name, closingMs),
  };
}

/**
 * For one test file, which calls it before its own hooks. After them closes `admin` and the pools of the returned
 * `open`, and drops the database.
 */
export async function openTestDatabase(): Promise<
  Pick<TestDatabase, 'open'> & { readonly testDatabase: TestDatabase; readonly admin: Database }
> {
  const testDatabase = await createTestDatabase();
  const opened: Database[] = [];
  const open: TestDatabase['open'] = (role) => {
    const database = testDatabase.open(role);
    opened.push(database);
    return database;
  };
  afterAll(async () => {
    await Promise.all(opened.map((database) => database.close()));
    await testDatabase.drop();
  });
  return { testDatabase, admin: open('admin'), open };
}

async function dropDatabase(name: string, closingMs: number): Promise<void> {
  await withClient(serverUrl(), async (server) => {
    const left = await connectionsLeft(server, name, closingMs);
    await server.query(`drop database if exists ${name} with (force)`);
    if (left.length > 0) throw new Error(`connections left open at the end of the test: ${left.join('; ')}`);
  });
}

/** Connections that remain after closing ones had time to close. */
async function connectionsLeft(
  server: pg.Client,
  name: string,
  closingMs: number,
): Promise<readonly string[]> {
  const deadline = Date.now() + closingMs;
  for (;;) {
    const { rows } = await server.query<{ who: string }>(
      `select format('%s as %s, %s: %s', application_name, usename, state, left(query, 80)) as who
       from pg_stat_activity where datname = $1 and backend_type = 'client backend'`,
      [name],
    );
    if (rows.length === 0 || Date.now() > deadline) return rows.map((row) => row.who);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
