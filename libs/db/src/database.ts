import type { Socket } from 'node:net';
import {
  Kysely,
  PostgresDialect,
  type PostgresPool,
  type PostgresPoolClient,
  type Transaction,
} from 'kysely';
import pg from 'pg';
import { guardClient } from './guard-client.ts';
import { isDatabaseUnavailable, isOutOfConnections, translateDatabaseError } from './database-error.ts';
import { keepPrimary, type PrimaryKeeper, type PrimaryNews } from './primary-keeper.ts';
import { createStatementNames, UNPREPARED, type StatementNames } from './statement-names.ts';
import type { Tables } from './tables.ts';
import { valueParsers } from './value-parsers.ts';

export { isDatabaseUnavailable } from './database-error.ts';

export type Db = Kysely<Tables>;
export type Tx = Transaction<Tables>;

export interface DatabaseOptions {
  /** May name several hosts: `postgres://user@one:5432,two:5432/database`. Connections go to the primary. */
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
   * Saves a quarter of Postgres' CPU time for create_collections, and a third for a scanner's commit. Not for many
   * different statements, nor behind a pooler in transaction mode. Default false.
   */
  readonly prepareStatements?: boolean;
  readonly onConnectionLost?: (error: Error) => void;
  /** Another server became the primary, or two accept writes. */
  readonly onPrimary?: (news: PrimaryNews) => void;
  /** Pause between searches for a newer primary. Default 15 000. */
  readonly primaryWatchMs?: number;
  /** For tests that end a process between two statements. */
  readonly wrapPool?: (pool: PostgresPool) => PostgresPool;
}

export interface Database {
  readonly kysely: Db;
  /** For tests: errors are pg's own, and do not start the search for the primary. */
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
  const connectTimeoutMs = options.connectTimeoutMs ?? 5_000;
  const clients = new Set<pg.PoolClient>();
  const primary = keepPrimary({
    url: options.url,
    applicationName: options.applicationName,
    limitMs: connectTimeoutMs,
    watchMs: options.primaryWatchMs ?? 15_000,
    onPrimary: options.onPrimary,
    onSeen: () => endSuperseded(clients, primary),
  });
  const pool = new pg.Pool({
    connectionString: options.url,
    onConnect: primary.verify as (client: pg.ClientBase) => void, // awaited, although pg's type does not say so
    application_name: options.applicationName,
    max: options.poolMax ?? 10,
    statement_timeout: statementTimeoutMs,
    query_timeout: statementTimeoutMs + QUERY_TIMEOUT_MARGIN_MS,
    idle_in_transaction_session_timeout: options.idleInTransactionTimeoutMs ?? 15_000,
    connectionTimeoutMillis: connectTimeoutMs,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    types: valueParsers,
  });
  // Without a listener, the loss of an idle connection would end the process.
  pool.on('error', (error) => options.onConnectionLost?.(error));
  pool.on('connect', (client) => clients.add(client));
  pool.on('remove', (client) => clients.delete(client));
  const names = options.prepareStatements === true ? createStatementNames() : UNPREPARED;
  const guarded = guardPool(pool, primary, names);
  const kysely: Db = new Kysely<Tables>({
    dialect: new PostgresDialect({ pool: options.wrapPool?.(guarded) ?? guarded }),
  });
  let closing: Promise<void> | undefined;
  return {
    kysely,
    pool,
    stats: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    async close(limitMs) {
      primary.stop();
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

/** Destroys their sockets: an old primary may not answer. */
function endSuperseded(clients: ReadonlySet<pg.PoolClient>, primary: PrimaryKeeper): void {
  for (const client of clients) {
    if (!primary.isSuperseded(client)) continue;
    const { stream } = (client as unknown as { readonly connection: { readonly stream: Socket } }).connection;
    stream.destroy();
  }
}

function guardPool(pool: pg.Pool, primary: PrimaryKeeper, names: StatementNames): PostgresPool {
  const guarded = new WeakMap<pg.PoolClient, PostgresPoolClient>();

  /** The known primary may have ended just now; then the second try searches. */
  async function connect(triesLeft: number): Promise<pg.PoolClient> {
    pool.options.connectionString = await primary.find();
    try {
      return await pool.connect();
    } catch (error) {
      const translated = translateDatabaseError(error);
      if (isOutOfConnections(error) || primary.isAlone || !isDatabaseUnavailable(translated))
        throw translated;
      primary.lost();
      if (triesLeft === 0) throw translated;
    }
    return connect(triesLeft - 1);
  }

  return {
    options: pool.options,
    end: () => pool.end(),
    async connect() {
      const client = await connect(1);
      const known = guarded.get(client) ?? guardClient(client, primary, names);
      guarded.set(client, known);
      return known;
    },
  };
}
