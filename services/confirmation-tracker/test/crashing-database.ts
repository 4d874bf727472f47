import { Kysely, PostgresDialect, sql, type PostgresPoolClient } from 'kysely';
import type { Database, Db } from '@opentill/db/database';
import type { Tables } from '@opentill/db/tables';
import { waitUntil } from '@opentill/testkit/wait-until';

/** The process died here. */
export class Crash extends Error {
  override readonly name = 'Crash';
}

/** A database handle of a process that can die before or after any of its statements, begin and commit included. */
export interface CrashingDatabase {
  readonly db: Db;
  /** Lets the process die at the point of this number, counted from now: 1 is before the first statement, 2 after it. */
  crashAt(point: number): void;
  /** Points passed since `crashAt`. */
  readonly passed: number;
  /** `before <statement>` or `after <statement>` of the crash; undefined while there was none. */
  readonly crashedAt: string | undefined;
  /** Resolves when Postgres has ended the sessions of the dead: until then their locks stand, and sweeps pass those rows by. */
  buried(): Promise<void>;
}

/**
 * Wraps a pool. At a crash the connection is closed without another word, as the kernel does for a dead process: what
 * was not committed is rolled back by Postgres, what was committed stays although nobody heard of it.
 */
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
      // What kysely asks of a dead connection (its rollback) is never sent.
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
    async buried() {
      const pids = dying.splice(0);
      await waitUntil('the sessions of the dead are over', async () => {
        const { rows } = await sql`select from pg_stat_activity where pid = any(${pids}::int[])`.execute(
          database.kysely,
        );
        return rows.length === 0;
      });
    },
  };
}
