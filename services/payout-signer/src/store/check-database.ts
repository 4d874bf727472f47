import { sql } from 'kysely';
import type { Db } from '@opentill/db/database';

export async function checkDatabase(db: Db): Promise<void> {
  await sql`select 1 from chain_cursor limit 1`.execute(db);
}
