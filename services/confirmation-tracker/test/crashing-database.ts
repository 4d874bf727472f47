import { Kysely, PostgresDialect, sql, type PostgresPoolClient } from 'kysely';
import type { Database, Db } from '@opentill/db/database';
import type { Tables } from '@opentill/db/tables';
import { waitUntil } from '@opentill/testkit/wait-until';

export class Crash extends Error {
  override readonly name = 'Crash';
}

/** The process can die before or after any of its statements, including begin and commit. */
export interface CrashingDatabase {
  readonly db: Db;
  /** Counted from now: 1 is before the first statement, 2 after it. */
  crashAt(point: number): void;
  readonly passed: number;
  /** `before <statement>` or `after <statement>`. */
  readonly crashedAt: string | undefined;
  /** Until Postgres has ended the sessions of crashed processes, their locks hold, and sweeps skip those rows. */
  sessionsEnded(): Promise<void>;
}

/** A crash closes the connection as the kernel does for a dead process: Postgres rolls back uncommitted changes. */
export function createCrashingDatabase(database: Database): CrashingDatabase {
  let point = Number.POSITIVE_INFINITY;
  let passed = 0;
  let crashedAt: string | undefined;
  const dying: number[] = [];

  function pass(where: string): void {
    passed += 1;
    if (passed !== point) return;
    crashedAt = where;
    throw new Crash(where);
  }

  async function connect(): Promise<PostgresPoolClient> {
    const client = await database.pool.connect();
    let dead = false;
    const query = async (text: string, values: readonly unknown[]) => {
      // A dead connection sends no rollback.
      if (dead) return { command: 'ROLLBACK', rowCount: 0, rows: [], fields: [], oid: 0 };
      const name = text.trim().replaceAll(/\s+/g, ' ').slice(0, 60);
      try {
        pass(`before ${name}`);
        const result = await client.query(text, [...values]);
        pass(`after ${name}`);
        return result;
      } catch (error) {
        dead = error instanceof Crash;
        throw error;
      }
    };
    return {
      query: query as unknown as PostgresPoolClient['query'],
      release: () => {
        if (dead) dying.push((client as unknown as { processID: number }).processID);
        client.release(dead);
      },
    };
  }

  return {
    db: new Kysely<Tables>({
      dialect: new PostgresDialect({
        pool: { options: database.pool.options, connect, end: () => Promise.resolve() },
      }),
    }),
    crashAt(at) {
      point = at;
      passed = 0;
      crashedAt = undefined;
    },
    get passed() {
      return passed;
    },
    get crashedAt() {
      return crashedAt;
    },
    async sessionsEnded() {
      const pids = dying.splice(0);
      await waitUntil('the crashed sessions have ended', async () => {
        const { rows } = await sql`select from pg_stat_activity where pid = any(${pids}::int[])`.execute(
          database.kysely,
        );
        return rows.length === 0;
      });
    },
  };
}
