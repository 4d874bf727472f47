import { sql } from 'kysely';
import type { Db } from '@opentill/db/database';

export async function databaseAnswers(db: Db): Promise<void> {
  await sql`select 1`.execute(db);
}
