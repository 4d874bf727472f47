import { sql, type RawBuilder } from 'kysely';
import type { Db } from '@opentill/db/database';

const BATCH_ROWS = 1_000;
/** Postgres then ends the transaction. send-csv.ts has a shorter limit for the client. */
const IDLE_LIMIT = '60s';

/** Batches of a database cursor, from one snapshot. `db` needs a long statement timeout for the first row. */
export async function* readRows<Row>(
  db: Db,
  query: RawBuilder<Row>,
  signal: AbortSignal,
): AsyncIterable<readonly Row[]> {
  const transaction = await db
    .startTransaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute();
  try {
    await sql`select set_config('idle_in_transaction_session_timeout', ${IDLE_LIMIT}, true)`.execute(
      transaction,
    );
    await sql`declare exported no scroll cursor for ${query}`.execute(transaction);
    for (;;) {
      const { rows } = await sql<Row>`fetch ${sql.lit(BATCH_ROWS)} from exported`.execute(transaction);
      if (rows.length > 0) yield rows;
      if (rows.length < BATCH_ROWS || signal.aborted) return;
    }
  } finally {
    await transaction.rollback().execute(); // read-only
  }
}
