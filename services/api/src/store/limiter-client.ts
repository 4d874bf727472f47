import { CompiledQuery } from 'kysely';
import type { Db } from '@opentill/db/database';

interface Statement {
  readonly text: string;
  readonly values: readonly unknown[];
}

interface Result {
  readonly rows: readonly unknown[];
  readonly rowCount: number;
}

/** What rate-limiter-flexible uses of pg's pool. */
export function createLimiterClient(db: Db): { query(statement: Statement): Promise<Result> } {
  return {
    async query({ text, values }) {
      const { rows } = await db.executeQuery(CompiledQuery.raw(text, [...values]));
      return { rows, rowCount: rows.length };
    },
  };
}
