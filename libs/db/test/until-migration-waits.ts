import { waitUntil } from '@opentill/testkit/wait-until';
import type pg from 'pg';

export async function untilMigrationWaits(client: pg.Client): Promise<void> {
  await waitUntil('the migration waits for a lock', async () => {
    const { rowCount } = await client.query(`select from pg_stat_activity
      where datname = current_database() and application_name = 'opentill-migrate' and wait_event_type = 'Lock'`);
    return rowCount !== 0;
  });
}
