import { sql } from 'kysely';
import { openDatabase } from '@opentill/db/database';

/** Ends its connections. `databaseUrl` is a superuser's. */
export async function dropDatabase(databaseUrl: string): Promise<void> {
  const url = new URL(databaseUrl);
  const name = url.pathname.slice(1);
  url.pathname = '/postgres';
  const server = openDatabase({ url: url.toString(), applicationName: 'e2e', poolMax: 1 });
  await sql`drop database ${sql.id(name)} with (force)`.execute(server.kysely);
  await server.close();
}
