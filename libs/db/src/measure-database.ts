import { sql } from 'kysely';
import type { Db } from './database.ts';

/**
 * Age of the oldest transaction of this database: what died since it began can't be vacuumed away, and queues get slow by
 * what is dead in them. 0 when none is open; null when the database's owner may not see the sessions of others. Any
 * service's role.
 */
export async function oldestTransactionSeconds(db: Db): Promise<number | null> {
  const { rows } = await sql<{
    seconds: number | null;
  }>`select oldest_transaction_seconds() as seconds`.execute(db);
  return rows[0]?.seconds ?? null;
}

/** Dead rows of each table that has any to speak of, by `schema.table`; as of the last report of the sessions, a second ago. */
export async function deadRows(db: Db): Promise<ReadonlyMap<string, number>> {
  const { rows } = await sql<{ name: string; dead: number }>`
    select schemaname || '.' || relname as name, n_dead_tup as dead from pg_stat_user_tables
    where n_dead_tup > 100 order by n_dead_tup desc limit 50`.execute(db);
  return new Map(rows.map((row) => [row.name, row.dead]));
}
