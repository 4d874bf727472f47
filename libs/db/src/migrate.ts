import { createHash } from 'node:crypto';
import type pg from 'pg';
import { PRESETS, type Preset } from '@opentill/domain/chains';
import { GatewayError } from '@opentill/domain/gateway-error';
import { translateDatabaseError } from './database-error.ts';
import { connectToPrimary } from './find-primary.ts';
import { isBeforeRelease, MIGRATIONS, type Migration } from './migrations.ts';
import { configureDatabase } from './roles.ts';

/**
 * All are permanent.
 * - `MIGRATION_CHANGED`: an applied migration has a different checksum now.
 * - `MIGRATION_UNKNOWN`: the database has a migration that this version lacks, so it is newer.
 * - `MIGRATION_BEFORE_RELEASE`: the database is of a version before 0.1.0, which cannot be upgraded.
 * - `MIGRATION_FAILED`: Postgres rejected a migration and rolled it back; earlier steps of a migration of steps remain.
 */
export type MigrationErrorCode =
  'MIGRATION_CHANGED' | 'MIGRATION_UNKNOWN' | 'MIGRATION_BEFORE_RELEASE' | 'MIGRATION_FAILED';

export interface MigrateOptions {
  readonly migrations?: readonly Migration[];
  /** Waits this long for the migration lock, and retries this long while writers block a migration. Default 60 000. */
  readonly waitMs?: number;
}

export const MIGRATOR_LOCK = '7350192744501138';

/**
 * Lock timeout; sessions that need the table queue behind it. Below the second after which Postgres looks for
 * deadlocks: in a deadlock with a service, the migration must give way.
 */
const TABLE_LOCK_MS = 300;
const PAUSE_MS = 200;

export function checksum({ sql }: Migration): string {
  const text = typeof sql === 'string' ? sql : sql.join('\n');
  return createHash('sha256').update(text, 'utf8').digest('hex');
}

/**
 * Safe while services run and from several places at once: one migrates, the others wait and find no work. `adminUrl`
 * is a role that owns the database and may create roles. @returns the names of the migrations applied now
 */
export async function migrate(adminUrl: string, options: MigrateOptions = {}): Promise<readonly string[]> {
  const { migrations = MIGRATIONS, waitMs = 60_000 } = options;
  const client = await connectToPrimary({
    connectionString: adminUrl,
    application_name: 'opentill-migrate',
    connectionTimeoutMillis: 10_000,
    lock_timeout: lockTimeoutMs(waitMs),
  });
  try {
    await client.query('set search_path = public, pg_temp');
    await untilNoConflict(waitMs, () => lockOutMigrators(client));
    const applied = await applyMissing(client, migrations, waitMs);
    if (migrations[0] === MIGRATIONS[0]) await untilNoConflict(waitMs, () => addChains(client));
    await untilNoConflict(waitMs, () => configureDatabase(client));
    return applied;
  } catch (error) {
    throw translateDatabaseError(error);
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Polls: creating an index concurrently waits for every running statement, also for one that waits for this lock. */
async function lockOutMigrators(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ locked: boolean }>(
    `select pg_try_advisory_lock(${MIGRATOR_LOCK}) as locked`,
  );
  if (rows[0]?.locked === true) return;
  const holder = await lockHolder(client);
  const who =
    holder === undefined
      ? 'another session'
      : `"${holder.application}" of the role ${holder.role} (process ${holder.pid})`;
  const what =
    holder === undefined
      ? ''
      : ` Wait for its end if it migrates. If it does not, any role can take this lock: end it with "select pg_terminate_backend(${holder.pid})" and migrate again.`;
  throw new GatewayError('DATABASE_CONFLICT', `${who} holds the migration lock of this database.${what}`, {
    retryable: true,
    context: { holder },
  });
}

interface LockHolder {
  readonly pid: number;
  readonly role: string;
  readonly application: string;
}

/** Undefined if the lock was released meanwhile. */
async function lockHolder(client: pg.Client): Promise<LockHolder | undefined> {
  const { rows } = await client.query<LockHolder>(
    `select l.pid, coalesce(a.usename, '?') as role, coalesce(a.application_name, '') as application
     from pg_locks l left join pg_stat_activity a on a.pid = l.pid
     where l.locktype = 'advisory' and l.objsubid = 1 and l.granted
       and l.database = (select oid from pg_database where datname = current_database())
       and (l.classid::bigint << 32 | l.objid::bigint) = ${MIGRATOR_LOCK}`,
  );
  return rows[0];
}

async function untilNoConflict<T>(waitMs: number, work: () => Promise<T>): Promise<T> {
  const endsAt = performance.now() + waitMs;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const translated = translateDatabaseError(error);
      if (translated.code !== 'DATABASE_CONFLICT' || performance.now() > endsAt) throw translated;
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}

async function applyMissing(
  client: pg.Client,
  migrations: readonly Migration[],
  waitMs: number,
): Promise<string[]> {
  await client.query(`create table if not exists schema_migration (
    name text primary key,
    checksum text not null,
    applied_at timestamptz not null default now()
  )`);
  const { rows } = await client.query<{ name: string; checksum: string }>(
    'select name, checksum from schema_migration order by name',
  );
  if (isBeforeRelease(rows)) {
    throw new GatewayError<MigrationErrorCode>(
      'MIGRATION_BEFORE_RELEASE',
      'the database is of a version before 0.1.0, which cannot be upgraded: set up a new, empty database',
      { retryable: false },
    );
  }
  const known = new Set(migrations.map((migration) => migration.name));
  for (const row of rows) {
    if (!known.has(row.name)) {
      throw new GatewayError<MigrationErrorCode>(
        'MIGRATION_UNKNOWN',
        `the database has the migration ${row.name}, which this version lacks. Use the version that migrated the database, or a newer one.`,
        { retryable: false, context: { migration: row.name } },
      );
    }
  }
  const seen = new Map(rows.map((row) => [row.name, row.checksum]));
  const applied: string[] = [];
  for (const migration of migrations) {
    const sum = checksum(migration);
    const before = seen.get(migration.name);
    if (before === undefined) {
      await untilNoConflict(waitMs, () => apply(client, migration, sum, waitMs));
      applied.push(migration.name);
    } else if (before !== sum) {
      throw new GatewayError<MigrationErrorCode>(
        'MIGRATION_CHANGED',
        `the migration ${migration.name} was changed after it was applied to this database. Write a later migration instead.`,
        { retryable: false, context: { migration: migration.name, applied: before, present: sum } },
      );
    }
  }
  return applied;
}

/** $1 is the part before `concurrently`. */
export const CONCURRENTLY = /^((?:\s|--.*\n)*create (?:unique )?index) concurrently/;

/** Creating an index concurrently waits for running transactions and blocks no session, so it may wait long. */
async function applyStep(client: pg.Client, step: string, waitMs: number): Promise<void> {
  const waits = CONCURRENTLY.test(step);
  if (waits) await client.query(`set lock_timeout = ${waitMs}`);
  try {
    await client.query(step);
  } finally {
    if (waits) await client.query(`set lock_timeout = ${lockTimeoutMs(waitMs)}`);
  }
}

const lockTimeoutMs = (waitMs: number): number => Math.min(TABLE_LOCK_MS, waitMs);

async function apply(client: pg.Client, migration: Migration, sum: string, waitMs: number): Promise<void> {
  const record = () =>
    client.query('insert into schema_migration (name, checksum) values ($1, $2)', [migration.name, sum]);
  try {
    if (typeof migration.sql === 'string') {
      await client.query('begin');
      await client.query(migration.sql);
      await record();
      await client.query('commit');
    } else {
      for (const step of migration.sql) await applyStep(client, step, waitMs);
      await record();
    }
  } catch (error) {
    if (typeof migration.sql === 'string') await client.query('rollback').catch(() => undefined);
    const translated = translateDatabaseError(error);
    if (translated.code === 'DATABASE_UNAVAILABLE' || translated.code === 'DATABASE_CONFLICT')
      throw translated;
    throw new GatewayError<MigrationErrorCode>(
      'MIGRATION_FAILED',
      `${migration.name}: ${translated.message}`,
      {
        retryable: false,
        context: { migration: migration.name, ...translated.context },
        cause: error,
      },
    );
  }
}

/**
 * Row policies read them. Chains that are no presets of this version keep their rows. A preset has no chain id where a
 * configured chain has it: its payments would count twice.
 */
export async function addChains(client: pg.Client): Promise<void> {
  const chains = Object.entries<Preset>(PRESETS).map(([chain, preset]) => ({ chain, ...preset }));
  const presets = `jsonb_to_recordset($1) as known (chain text, family text, "chainId" bigint, kind text)`;
  await client.query(
    `insert into chain_family (chain, family) select chain, family from ${presets} on conflict (chain) do nothing`,
    [JSON.stringify(chains)],
  );
  const { rowCount } = await client.query(
    `select from pg_attribute where attrelid = 'chain_family'::regclass and attname = 'chain_id'`,
  );
  if (rowCount === 0) return; // before migration 0002
  await client.query(
    `update chain_family c set chain_id = known."chainId", kind = known.kind from ${presets}
     where c.chain = known.chain and c.kind is null
       and not exists (select from chain_family o where o.chain_id = known."chainId")`,
    [JSON.stringify(chains)],
  );
}
