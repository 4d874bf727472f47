import { sql } from 'kysely';
import type { Db } from './database.ts';

/** Rows that died after its start cannot be vacuumed. 0 if none is open; null if other sessions are not visible. */
export async function oldestTransactionSeconds(db: Db): Promise<number | null> {
  const { rows } = await sql<{
    seconds: number | null;
  }>`select oldest_transaction_seconds() as seconds`.execute(db);
  return rows[0]?.seconds ?? null;
}

/** Number by `schema.table`, only above 100. Sessions report up to a second late. */
export async function deadRows(db: Db): Promise<ReadonlyMap<string, number>> {
  const { rows } = await sql<{ name: string; dead: number }>`
    select schemaname || '.' || relname as name, n_dead_tup as dead from pg_stat_user_tables
    where n_dead_tup > 100 order by n_dead_tup desc limit 50`.execute(db);
  return new Map(rows.map((row) => [row.name, row.dead]));
}

export interface DatabaseFigures {
  /** Sessions of this server, by role. */
  readonly connections: ReadonlyMap<string, number>;
  /** `max_connections` less those reserved for superusers. */
  readonly connectionsMax: number;
  readonly bytes: number;
  /** Transactions since the oldest row that is not frozen. Postgres stops writing at 2.1 billion. */
  readonly transactionIdAge: number;
}

export async function databaseFigures(db: Db): Promise<DatabaseFigures> {
  const { rows } = await sql<{
    connections: Record<string, number>;
    connectionsMax: number;
    bytes: number;
    transactionIdAge: number;
  }>`
    select (
        select coalesce(jsonb_object_agg(usename, sessions), '{}')
        from (select usename, count(*) as sessions from pg_stat_activity where usename is not null group by 1) role
      ) as connections,
      current_setting('max_connections')::int8 - current_setting('superuser_reserved_connections')::int8 as "connectionsMax",
      pg_database_size(oid) as bytes, age(datfrozenxid)::int8 as "transactionIdAge"
    from pg_database where datname = current_database()`.execute(db);
  const row = rows[0];
  if (row === undefined) throw new RangeError('pg_database does not list the current database');
  return { ...row, connections: new Map(Object.entries(row.connections)) };
}
