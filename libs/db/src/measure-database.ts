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
