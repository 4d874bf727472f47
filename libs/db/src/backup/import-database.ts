import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { translateDatabaseError } from '../database-error.ts';
import { connectToPrimary } from '../find-primary.ts';
import { addChains, checksum, CONCURRENTLY, MIGRATOR_LOCK } from '../migrate.ts';
import { isBeforeRelease, MIGRATIONS, type Migration } from '../migrations.ts';
import { configureDatabase } from '../roles.ts';
import { SERVICE_SCHEMAS } from '../service-schema.ts';
import { backupError } from './backup-error.ts';
import { describeTables } from './describe-tables.ts';
import type { Manifest, TableEntry } from './manifest.ts';

const APPLICATION = 'opentill-restore';
/** Bytes per COPY statement: Postgres keeps a statement's rows in memory until its end. */
const CHUNK_BYTES = 4 * 1024 * 1024;

/**
 * Restores into an empty database in one transaction: the old schema, the rows, later migrations, and `hold`. So no
 * service sees rows without the hold, and a failure leaves the database empty. References are checked per row, the
 * ledger's sums at the end. @throws GatewayError RESTORE_NOT_EMPTY, BACKUP_OF_ANOTHER_VERSION, RESTORE_FAILED or a DatabaseErrorCode
 */
export async function importDatabase<T>(
  adminUrl: string,
  directory: string,
  manifest: Manifest,
  hold: (client: pg.ClientBase) => Promise<T>,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<T> {
  const { past, later } = splitMigrations(manifest, migrations);
  const client = await connectToPrimary({ connectionString: adminUrl, application_name: APPLICATION });
  try {
    await client.query("set search_path = public, pg_temp; set timezone = 'UTC'; set datestyle = 'ISO'");
    await requireAlone(client);
    await requireEmpty(client);
    await client.query('begin');
    await client.query(
      'create table schema_migration (name text primary key, checksum text not null, applied_at timestamptz not null default now())',
    );
    await applyAll(client, past);
    await loadTables(client, directory, manifest);
    await setSequences(client, manifest);
    await requireSoundLedger(client);
    await applyAll(client, later);
    await addChains(client);
    const held = await hold(client);
    await configureDatabase(client);
    await client.query('commit');
    return held;
  } catch (error) {
    throw translateDatabaseError(error);
  } finally {
    await client.end().catch(() => undefined); // rolls back uncommitted work
  }
}

function splitMigrations(
  { migrations, gatewayVersion }: Manifest,
  known: readonly Migration[],
): { readonly past: readonly Migration[]; readonly later: readonly Migration[] } {
  if (isBeforeRelease(migrations)) {
    const message = 'the backup was made by a version before 0.1.0, which this version cannot restore';
    throw backupError('BACKUP_OF_ANOTHER_VERSION', message);
  }
  for (const [place, { name, checksum: sum }] of migrations.entries()) {
    const own = known[place];
    if (own?.name === name && checksum(own) === sum) continue;
    const message = `the backup (of version ${gatewayVersion}) has the migration ${name}, which differs in this version. Restore with version ${gatewayVersion} or a newer one.`;
    throw backupError('BACKUP_OF_ANOTHER_VERSION', message);
  }
  return { past: known.slice(0, migrations.length), later: known.slice(migrations.length) };
}

async function requireAlone(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ locked: boolean }>(
    `select pg_try_advisory_lock(${MIGRATOR_LOCK}) as locked`,
  );
  if (rows[0]?.locked === true) return;
  throw backupError('RESTORE_NOT_EMPTY', 'a setup or another restore is running on this database', {
    retryable: true,
  });
}

async function requireEmpty(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ what: string }>(
    `select c.oid::regclass::text as what from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = any($1) and c.relkind in ('r', 'p', 'S', 'v', 'm', 'f') limit 1`,
    [['public', ...SERVICE_SCHEMAS]],
  );
  const [found] = rows;
  if (found !== undefined)
    throw backupError(
      'RESTORE_NOT_EMPTY',
      `the database is not empty: it has ${found.what}. Restore into an empty one.`,
    );
}

/** Within the current transaction. There are no concurrent writers, so indexes need not be created concurrently. */
async function applyAll(client: pg.Client, migrations: readonly Migration[]): Promise<void> {
  for (const migration of migrations) {
    const steps = typeof migration.sql === 'string' ? [migration.sql] : migration.sql;
    for (const step of steps) await client.query(step.replace(CONCURRENTLY, '$1'));
    await client.query('insert into schema_migration (name, checksum) values ($1, $2)', [
      migration.name,
      checksum(migration),
    ]);
  }
}

/** Loads rows unchanged: user triggers are disabled, which the owner of the tables may do. */
async function loadTables(client: pg.Client, directory: string, manifest: Manifest): Promise<void> {
  const known = new Map((await describeTables(client)).map(({ name }) => [name, name]));
  const strange = manifest.tables.find(({ name }) => !known.has(name));
  if (strange !== undefined)
    throw backupError(
      'RESTORE_FAILED',
      `the backup has the table ${strange.name}, which its migrations do not create`,
    );
  const names = [...known.keys()];
  for (const name of names) await client.query(`alter table ${name} disable trigger user`);
  for (const name of names.toReversed()) await client.query(`delete from ${name}`); // rows inserted by migrations
  for (const table of manifest.tables) await loadTable(client, directory, table);
  for (const name of names) await client.query(`alter table ${name} enable trigger user`);
}

async function loadTable(client: pg.Client, directory: string, table: TableEntry): Promise<void> {
  const columns = table.columns.map((column) => client.escapeIdentifier(column)).join(', ');
  const statement = `copy ${table.name} (${columns}) from stdin`;
  let rows = 0;
  const load = async (text: Buffer): Promise<void> => {
    const into = client.query(copyFrom(statement));
    await pipeline([text], into);
    rows += into.rowCount;
  };
  const unpacked = createReadStream(join(directory, table.file)).pipe(createGunzip());
  let waiting: Buffer = Buffer.alloc(0);
  for await (const piece of unpacked as AsyncIterable<Buffer>) {
    waiting = Buffer.concat([waiting, piece]);
    if (waiting.length < CHUNK_BYTES) continue;
    const end = waiting.lastIndexOf(10) + 1;
    if (end === 0) continue;
    await load(waiting.subarray(0, end));
    waiting = waiting.subarray(end);
  }
  if (waiting.length > 0) await load(waiting);
  if (rows !== table.rows)
    throw backupError('RESTORE_FAILED', `${table.name} has ${rows} rows, the backup has ${table.rows}`);
}

async function setSequences(client: pg.Client, { sequences }: Manifest): Promise<void> {
  for (const { name, lastValue, isCalled } of sequences)
    await client.query('select setval($1::regclass, $2, $3)', [name, lastValue, isCalled]);
}

/** Triggers enforce these invariants for single writes; the load disabled them. */
async function requireSoundLedger(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ wrong: string }>(`
    select 'the balance of account ' || a.account_id as wrong from ledger_account a
      left join (select account_id, sum(amount) as amount from ledger_posting group by 1) p using (account_id)
      where a.balance <> coalesce(p.amount, 0)
    union all
    select 'transaction ' || p.ledger_tx_id from ledger_posting p join ledger_account a using (account_id)
      group by p.ledger_tx_id, a.chain, a.symbol having sum(p.amount) <> 0
    limit 1`);
  const [found] = rows;
  if (found !== undefined)
    throw backupError('RESTORE_FAILED', `the ledger of the backup does not add up: ${found.wrong}`);
}
