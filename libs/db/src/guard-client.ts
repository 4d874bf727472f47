import type { PostgresPoolClient } from 'kysely';
import type pg from 'pg';
import { breaksConnection, isPlanOutdated, translateDatabaseError } from './database-error.ts';
import type { PrimaryKeeper } from './primary-keeper.ts';
import { unavailable } from './server-state.ts';
import { CONTROL_STATEMENT, type StatementNames } from './statement-names.ts';

/**
 * The statement timeout would also end a commit's wait for the synchronous standby. Postgres then reports success, and
 * other sessions see rows that a failover loses.
 */
const COMMIT_WITHOUT_TIMEOUT = 'set local statement_timeout = 0; commit';
/** Function of Postgres that warns of a commit without its standby; unlike the text it is not translated. */
const UNREPLICATED_COMMIT = 'SyncRepWaitForLSN';

/** Translates errors. After a fatal one it rejects further queries and discards the connection. */
export function guardClient(
  client: pg.PoolClient,
  primary: PrimaryKeeper,
  names: StatementNames,
): PostgresPoolClient {
  let broken: unknown;
  let inTransaction = false;
  // The pool listens only while the connection is idle. This catches a loss between two queries of a transaction.
  client.on('error', (error) => (broken ??= error));
  client.on('notice', ({ routine, message }) => {
    if (routine !== UNREPLICATED_COMMIT) return;
    primary.foundSynchronous();
    broken ??= new Error(message);
  });

  async function send(text: string, values: readonly unknown[]): Promise<pg.QueryResult> {
    const name = names.of(text);
    try {
      const result = await client.query({ text, values: [...values], ...(name !== undefined && { name }) });
      if (broken === undefined) return result;
      throw unavailable('the standby did not confirm the commit: it may be lost in a failover', broken);
    } catch (error) {
      // Only once per change: another connection may still fail with the old name.
      if (isPlanOutdated(error) && name !== undefined && name === names.of(text)) names.renew();
      if (breaksConnection(error)) {
        broken = error;
        primary.lost();
      }
      throw translateDatabaseError(error);
    }
  }

  const commit = () => send(primary.isSynchronous() ? COMMIT_WITHOUT_TIMEOUT : 'commit', []);

  /** A single statement commits itself under the statement timeout, so it gets a transaction. */
  async function sendInTransaction(text: string, values: readonly unknown[]): Promise<pg.QueryResult> {
    await send('begin', []);
    try {
      const result = await send(text, values);
      await commit();
      return result;
    } catch (error) {
      if (broken === undefined) await send('rollback', []).catch((failure: unknown) => (broken ??= failure));
      throw error;
    }
  }

  async function query(text: string, values: readonly unknown[]): Promise<pg.QueryResult> {
    if (broken !== undefined) {
      // Postgres rolls back when the session ends, so the rollback succeeds and the original error is reported.
      if (text === 'rollback') return { command: 'ROLLBACK', rowCount: 0, rows: [], fields: [], oid: 0 };
      throw unavailable('the connection was lost', broken);
    }
    const isControl = CONTROL_STATEMENT.test(text);
    if (!isControl && !inTransaction && primary.isSynchronous()) return sendInTransaction(text, values);
    if (isControl)
      inTransaction = /^(begin|start|savepoint|release)\b/i.test(text) || /^rollback to/i.test(text);
    return text === 'commit' ? commit() : send(text, values);
  }

  return {
    query: query as unknown as PostgresPoolClient['query'], // without the cursor overload, which is unused
    release: (discard?: boolean) => client.release(broken !== undefined || discard === true),
  };
}
