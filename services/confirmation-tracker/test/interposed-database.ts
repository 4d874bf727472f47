import { Kysely, PostgresDialect, type PostgresPoolClient } from 'kysely';
import type { Database, Db } from '@opentill/db/database';
import type { Tables } from '@opentill/db/tables';

/** Calls `then` after every statement, including begin and commit, before it returns the result. */
export function interpose(database: Database, then: (statement: string) => Promise<void>): Db {
  async function connect(): Promise<PostgresPoolClient> {
    const client = await database.pool.connect();
    const query = async (text: string, values: readonly unknown[]) => {
      const result = await client.query(text, [...values]);
      await then(text);
      return result;
    };
    return {
      query: query as unknown as PostgresPoolClient['query'],
      release: () => client.release(),
    };
  }
  return new Kysely<Tables>({
    dialect: new PostgresDialect({
      pool: { options: database.pool.options, connect, end: () => Promise.resolve() },
    }),
  });
}
