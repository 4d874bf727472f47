import type { PostgresPoolClient } from 'kysely';
import type pg from 'pg';
import { breaksConnection, isPlanOutdated, translateDatabaseError } from './database-error.ts';
import type { PrimaryKeeper } from './primary-keeper.ts';
import { unavailable } from './server-state.ts';
import type { StatementNames } from './statement-names.ts';

/**
 * Function of Postgres that warns when an operator cancels a commit's wait for the standby. The commit then succeeds,
 * but a failover loses it. Unlike the warning's text the name is not translated.
 */
const UNREPLICATED_COMMIT = 'SyncRepWaitForLSN';

/** Translates errors. After a fatal one it rejects further queries and discards the connection. */
export function guardClient(
  client: pg.PoolClient,
  primary: Pick<PrimaryKeeper, 'lost'>,
  names: StatementNames,
): PostgresPoolClient {
  let broken: unknown;
  // The pool listens only while the connection is idle. This catches a loss between two queries of a transaction.
  client.on('error', (error) => (broken ??= error));
  client.on('notice', ({ routine, message }) => {
    if (routine === UNREPLICATED_COMMIT) broken ??= new Error(message);
  });

  async function query(text: string, values: readonly unknown[]): Promise<pg.QueryResult> {
    if (broken !== undefined) {
      // Postgres rolls back when the session ends, so the rollback succeeds and the original error is reported.
      if (text === 'rollback') return { command: 'ROLLBACK', rowCount: 0, rows: [], fields: [], oid: 0 };
      throw unavailable('the connection was lost', broken);
    }
    const name = names.of(text, values);
    try {
      const result = await client.query({ text, values: [...values], ...(name !== undefined && { name }) });
      if (broken === undefined) return result;
    } catch (error) {
      // Only once per change: another connection may still fail with the old name.
      if (isPlanOutdated(error) && name !== undefined && name === names.of(text, values)) names.renew();
      if (breaksConnection(error)) {
        broken = error;
        primary.lost();
      }
      throw translateDatabaseError(error);
    }
    throw unavailable('the standby did not confirm the commit: a failover may lose it', broken);
  }

  return {
    query: query as unknown as PostgresPoolClient['query'], // without the cursor overload, which is unused
    release: (discard?: boolean) => client.release(broken !== undefined || discard === true),
  };
}
