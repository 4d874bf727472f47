import { Kysely, PostgresDialect, type PostgresPool, type PostgresPoolClient } from 'kysely';
import type { Database, Db } from '@opentill/db/database';
import type { Tables } from '@opentill/db/tables';

export function failQueries(database: Database, errorFor: (text: string) => Error | undefined): Db {
  return withQueries(database, (text) => {
    const error = errorFor(text);
    if (error !== undefined) throw error;
    return text;
  });
}

export function rewriteQueries(database: Database, rewrite: (text: string) => string): Db {
  return withQueries(database, rewrite);
}

function withQueries(database: Database, rewrite: (text: string) => string): Db {
  const pool: PostgresPool = {
    options: database.pool.options,
    end: async () => undefined,
    async connect() {
      const client = await database.pool.connect();
      const query = async (text: string, values: readonly unknown[]) => {
        return client.query(rewrite(text), [...values]);
      };
      return {
        query: query as unknown as PostgresPoolClient['query'],
        release: () => client.release(),
      };
    },
  };
  return new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
}
