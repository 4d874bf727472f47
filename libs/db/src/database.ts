import {
  Kysely,
  PostgresDialect,
  type PostgresPool,
  type PostgresPoolClient,
  type Transaction,
} from 'kysely';
import pg from 'pg';
import { GatewayError } from '@opentill/domain/gateway-error';
import {
  breaksConnection,
  isPlanOutdated,
  translateDatabaseError,
  type DatabaseErrorCode,
} from './database-error.ts';
import type { Tables } from './tables.ts';
import { valueParsers } from './value-parsers.ts';

export { isDatabaseUnavailable } from './database-error.ts';

export type Db = Kysely<Tables>;
export type Tx = Transaction<Tables>;

export interface DatabaseOptions {
  readonly url: string;
  readonly applicationName: string;
  /** Default 10. */
  readonly poolMax?: number;
  /** Postgres cancels a statement after this time; the client gives up one second later. Default 10 000. */
  readonly statementTimeoutMs?: number;
  /** Postgres ends a session whose transaction is idle for this long. Default 15 000. */
  readonly idleInTransactionTimeoutMs?: number;
  /** Timeout for a new connection, or for a free one of the pool. Default 5 000. */
  readonly connectTimeoutMs?: number;
  /**
   * Saves a quarter of Postgres' CPU time for create_collections. Not for many different statements, nor behind a
   * pooler in transaction mode. Default false.
   */
  readonly prepareStatements?: boolean;
  readonly onConnectionLost?: (error: Error) => void;
  /** For tests that end a process between two statements. */
  readonly wrapPool?: (pool: PostgresPool) => PostgresPool;
}

export interface Database {
  readonly kysely: Db;
  /** For libraries with their own SQL. Errors are pg's own. */
  readonly pool: pg.Pool;
  stats(): { readonly total: number; readonly idle: number; readonly waiting: number };
  /** Ends running work first; after `limitMs` aborts it and rolls it back. Default: no limit. Idempotent. */
  close(limitMs?: number): Promise<void>;
}

/** The client gives up this much later than Postgres, so that the server's error arrives first. */
const QUERY_TIMEOUT_MARGIN_MS = 1_000;
const BREAK_OFF_MS = 500;

/** Does not connect yet. Every error is a GatewayError with a DatabaseErrorCode. */
export function openDatabase(options: DatabaseOptions): Database {
  const statementTimeoutMs = options.statementTimeoutMs ?? 10_000;
  const pool = new pg.Pool({
    connectionString: options.url,
    application_name: options.applicationName,
    max: options.poolMax ?? 10,
    statement_timeout: statementTimeoutMs,
    query_timeout: statementTimeoutMs + QUERY_TIMEOUT_MARGIN_MS,
    idle_in_transaction_session_timeout: options.idleInTransactionTimeoutMs ?? 15_000,
    connectionTimeoutMillis: options.connectTimeoutMs ?? 5_000,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    types: valueParsers,
  });
  // Without a listener, the loss of an idle connection would end the process.
  pool.on('error', (error) => options.onConnectionLost?.(error));
  const clients = new Set<pg.PoolClient>();
  pool.on('connect', (client) => clients.add(client));
  pool.on('remove', (client) => clients.delete(client));
  const guarded = guardPool(pool, options.prepareStatements === true ? createStatementNames() : UNPREPARED);
  const kysely: Db = new Kysely<Tables>({
    dialect: new PostgresDialect({ pool: options.wrapPool?.(guarded) ?? guarded }),
  });
  let closing: Promise<void> | undefined;
  return {
    kysely,
    pool,
    stats: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    async close(limitMs) {
      closing ??= pool.end();
      if (limitMs === undefined) return closing;
      if (await endsWithin(closing, limitMs)) return;
      // pg destroys the socket of a client with a running query.
      for (const client of clients) void (client as unknown as pg.Client).end();
      await endsWithin(closing, BREAK_OFF_MS);
    },
  };
}

async function endsWithin(work: Promise<void>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => (timer = setTimeout(resolve, ms, false)));
  return Promise.race([work.then(() => true), late]).finally(() => clearTimeout(timer));
}

interface StatementNames {
  /** The same on every connection; undefined for statements that are not prepared. */
  of(text: string): string | undefined;
  /** Gives all statements new names, because prepared ones are invalid on every connection. */
  renew(): void;
}

const CONTROL_STATEMENT = /^(begin|start|commit|rollback|savepoint|release)\b/i;
/** More texts are not prepared: ever-changing statements gain no time by it. */
const PREPARED_TEXTS_MAX = 200;
const UNPREPARED: StatementNames = { of: () => undefined, renew: () => undefined };

function createStatementNames(): StatementNames {
  const names = new Map<string, string>();
  let generation = 0;
  return {
    of(text) {
      const known = names.get(text);
      if (known !== undefined || names.size >= PREPARED_TEXTS_MAX || CONTROL_STATEMENT.test(text))
        return known;
      const name = `s${generation}_${names.size}`;
      names.set(text, name);
      return name;
    },
    renew() {
      generation += 1;
      names.clear();
    },
  };
}

function guardPool(pool: pg.Pool, names: StatementNames): PostgresPool {
  const guarded = new WeakMap<pg.PoolClient, PostgresPoolClient>();
  return {
    options: pool.options,
    end: () => pool.end(),
    async connect() {
      const client = await pool.connect().catch((error: unknown) => {
        throw translateDatabaseError(error);
      });
      const known = guarded.get(client) ?? guardClient(client, names);
      guarded.set(client, known);
      return known;
    },
  };
}

/** Translates errors. After a fatal one it rejects further queries and discards the connection. */
function guardClient(client: pg.PoolClient, names: StatementNames): PostgresPoolClient {
  let broken: unknown;
  // The pool listens only while the connection is idle. This catches a loss between two queries of a transaction.
  client.on('error', (error) => (broken ??= error));

  async function query(text: string, values: readonly unknown[]): Promise<pg.QueryResult> {
    if (broken !== undefined) {
      // Postgres rolls back when the session ends, so the rollback succeeds and the original error is reported.
      if (text === 'rollback') return { command: 'ROLLBACK', rowCount: 0, rows: [], fields: [], oid: 0 };
      throw new GatewayError<DatabaseErrorCode>('DATABASE_UNAVAILABLE', 'the connection was lost', {
        retryable: true,
        cause: broken,
      });
    }
    const name = names.of(text);
    try {
      return await client.query({ text, values: [...values], ...(name === undefined ? {} : { name }) });
    } catch (error) {
      // Only once per change: another connection may still fail with the old name.
      if (isPlanOutdated(error) && name !== undefined && name === names.of(text)) names.renew();
      if (breaksConnection(error)) broken = error;
      throw translateDatabaseError(error);
    }
  }

  return {
    query: query as unknown as PostgresPoolClient['query'], // without the cursor overload, which is unused
    release: (discard?: boolean) => client.release(broken !== undefined || discard === true),
  };
}
