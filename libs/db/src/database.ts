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
  /** postgres://role@host:port/database */
  readonly url: string;
  /** Shown in pg_stat_activity. */
  readonly applicationName: string;
  /** Most connections at once. Default 10. */
  readonly poolMax?: number;
  /** Postgres ends a statement after this; the client gives up a second later. Default 10 000. */
  readonly statementTimeoutMs?: number;
  /** Postgres ends a session that leaves a transaction open and idle so long. Default 15 000. */
  readonly idleInTransactionTimeoutMs?: number;
  /** How long to wait for a new connection, or for a free one of the pool. Default 5 000. */
  readonly connectTimeoutMs?: number;
  /**
   * Has Postgres parse and plan each text of kysely's once per connection: a quarter of its CPU for create_collections.
   * For services whose texts are few; not behind a pooler that hands out connections by transaction. A statement that the
   * server refuses because its tables were altered is prepared anew the next time, on every connection. Default false.
   */
  readonly prepareStatements?: boolean;
  /** Told of connections that died while nobody used them; the pool replaces them itself. */
  readonly onConnectionLost?: (error: Error) => void;
  /** Stands between the query builder and its connections: for tests that end a process between two statements. */
  readonly wrapPool?: (pool: PostgresPool) => PostgresPool;
}

export interface Database {
  readonly kysely: Db;
  /** For libraries that bring their own SQL by `pool.query`. Its errors are pg's own. */
  readonly pool: pg.Pool;
  /** Connections open, idle of these, and callers that wait for one. */
  stats(): { readonly total: number; readonly idle: number; readonly waiting: number };
  /**
   * Closes every connection once what is under way has ended; what has not within `limitMs` is broken off, so that
   * Postgres rolls it back. Without a limit it waits as long as it takes. Safe to call twice.
   */
  close(limitMs?: number): Promise<void>;
}

/** How much later than Postgres the client gives up, so that its own answer comes first. */
const QUERY_TIMEOUT_MARGIN_MS = 1_000;
/** How long connections that were broken off may take to be gone. */
const BREAK_OFF_MS = 500;

/**
 * Opens a pool. No connection is made before the first query. Every error is a GatewayError with a
 * DatabaseErrorCode; after a timeout or a lost connection the connection is discarded, never used again.
 */
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
  // Without a listener the loss of an idle connection would end the process.
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
      // pg destroys the socket of a client that has a query under way.
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
  /** The same on every connection; undefined for what is not worth preparing. */
  of(text: string): string | undefined;
  /** What is prepared on any connection is out of date: all texts get new names. */
  renew(): void;
}

const CONTROL_STATEMENT = /^(begin|start|commit|rollback|savepoint|release)\b/i;
/** Beyond so many texts the next ones are not prepared: who makes new texts all the time gains nothing by it. */
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

/** Puts one connection under guard: errors are translated, and once it broke it answers nothing and is not reused. */
function guardClient(client: pg.PoolClient, names: StatementNames): PostgresPoolClient {
  let broken: unknown;
  // The pool listens only while the connection is idle; a loss between two queries of a transaction ends up here.
  client.on('error', (error) => (broken ??= error));

  async function query(text: string, values: readonly unknown[]): Promise<pg.QueryResult> {
    if (broken !== undefined) {
      // Postgres rolls back by itself when the session ends; so the error that broke it is the one that is seen.
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
      // Once for each change: another connection may refuse the same statement by its old name a moment later.
      if (isPlanOutdated(error) && name !== undefined && name === names.of(text)) names.renew();
      if (breaksConnection(error)) broken = error;
      throw translateDatabaseError(error);
    }
  }

  return {
    query: query as unknown as PostgresPoolClient['query'], // without its overload for cursors, which nothing uses
    release: (discard?: boolean) => client.release(broken !== undefined || discard === true),
  };
}
