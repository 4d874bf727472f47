import { Kysely, PostgresDialect, type PostgresPool, type PostgresPoolClient } from 'kysely';
import type { Database, Db } from '@opentill/db/database';
import type { Tables } from '@opentill/db/tables';

/** The end of a process, thrown by whatever it does from then on. */
export class Crash extends Error {}

/** A process that dies before or after one of its side effects, counted from 0; two steps per side effect. */
export interface CrashPoints {
  /** Steps so far. */
  readonly steps: number;
  readonly crashed: boolean;
  /** The database as this process sees it: every statement is a side effect, `begin` and `commit` too. */
  readonly db: Db;
  /** A side effect of another kind. */
  around<Result>(effect: () => Promise<Result>): Promise<Result>;
}

/** @param crashAt the step to die at; never by default, for counting */
export function createCrashPoints(database: Database, crashAt = Number.POSITIVE_INFINITY): CrashPoints {
  let steps = 0;
  let crashed = false;
  const step = (): void => {
    if (!crashed && steps === crashAt) crashed = true;
    if (crashed) throw new Crash(`at step ${crashAt}`);
    steps += 1;
  };
  async function around<Result>(effect: () => Promise<Result>): Promise<Result> {
    step();
    const result = await effect();
    step();
    return result;
  }
  const pool: PostgresPool = {
    options: database.pool.options,
    end: async () => undefined,
    async connect() {
      const client = await database.pool.connect();
      const query = async (text: string, values: readonly unknown[]) => {
        // What a dead process left open, Postgres rolls back when the connection ends.
        if (crashed && text === 'rollback')
          return { command: 'ROLLBACK', rowCount: 0, rows: [], fields: [], oid: 0 };
        return around(() => client.query(text, [...values]));
      };
      return {
        query: query as unknown as PostgresPoolClient['query'],
        release: () => client.release(crashed),
      };
    },
  };
  return {
    get steps() {
      return steps;
    },
    get crashed() {
      return crashed;
    },
    db: new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) }),
    around,
  };
}
