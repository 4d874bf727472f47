import { GatewayError } from '@opentill/domain/gateway-error';

/**
 * - `DATABASE_UNAVAILABLE`: not reachable, shutting down, out of connections or too slow. The transaction may have been
 *   committed, so a retry needs a natural key. Retryable.
 * - `DATABASE_CONFLICT`: a deadlock, serialization failure, lock timeout, or a prepared statement made invalid by
 *   altered tables. Rolled back. Retryable.
 * - `DATABASE_CONSTRAINT`: a constraint rejects the row; context has `constraint`, `table`, `sqlState`. Permanent.
 * - `DATABASE_FORBIDDEN`: the role lacks the permission. Permanent.
 * - `DATABASE_VALUE_UNREADABLE`: a stored number does not fit its type in code. Permanent.
 * - `DATABASE_QUERY_FAILED`: any other error of Postgres; most likely a bug. Retryable, so that no work is lost.
 */
export type DatabaseErrorCode =
  | 'DATABASE_UNAVAILABLE'
  | 'DATABASE_CONFLICT'
  | 'DATABASE_CONSTRAINT'
  | 'DATABASE_FORBIDDEN'
  | 'DATABASE_VALUE_UNREADABLE'
  | 'DATABASE_QUERY_FAILED';

interface PgFields {
  readonly code?: unknown;
  readonly constraint?: unknown;
  readonly table?: unknown;
  readonly severity?: unknown;
}

const NETWORK_CODES = /^(ECONN|EPIPE|ETIMEDOUT|EHOST|ENET|ENOTFOUND|EAI_|EADDR|ERR_SOCKET|ERR_STREAM|ENOENT)/;
/** The server's certificate is refused: https://nodejs.org/api/tls.html#x509-certificate-error-codes */
const CERTIFICATE_CODES =
  /^(ERR_TLS_CERT|CERT_|UNABLE_TO_|SELF_SIGNED_CERT|DEPTH_ZERO|HOSTNAME_MISMATCH|INVALID_(CA|PURPOSE)$|PATH_LENGTH)/;
/** Errors of pg without a code when the connection or the pool failed. */
const DRIVER_MESSAGES =
  /Connection terminated|Query read timeout|timeout exceeded when trying to connect|timeout expired|Client has encountered a connection error|not queryable|Client was closed|Cannot use a pool after calling end|connection has been discarded|does not support SSL/;
/** 57P0x shutdown, 57014 statement timeout, 25P03/25P04/57P05 idle timeouts, 25006 read-only. */
const UNAVAILABLE_STATES = new Set([
  '57P01',
  '57P02',
  '57P03',
  '57P04',
  '57P05',
  '57014',
  '25P03',
  '25P04',
  '25006',
]);
const CONFLICT_STATES = new Set(['40001', '40P01', '55P03', '40003']);

function sqlStateOf(error: unknown): string | undefined {
  const code = (error as PgFields | null)?.code;
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : undefined;
}

function codeOf(error: unknown, sqlState: string | undefined): DatabaseErrorCode {
  if (sqlState === undefined) {
    const { code } = error as PgFields;
    const network = typeof code === 'string' && (NETWORK_CODES.test(code) || CERTIFICATE_CODES.test(code));
    const driver = error instanceof Error && DRIVER_MESSAGES.test(error.message);
    const aggregate = error instanceof AggregateError;
    return network || driver || aggregate ? 'DATABASE_UNAVAILABLE' : 'DATABASE_QUERY_FAILED';
  }
  // 08 connection, 53 resources (disk, memory, connections), 58 system
  if (UNAVAILABLE_STATES.has(sqlState) || /^(08|53|58)/.test(sqlState)) return 'DATABASE_UNAVAILABLE';
  if (CONFLICT_STATES.has(sqlState) || MIXED_UP_STATES.has(sqlState) || isPlanOutdated(error))
    return 'DATABASE_CONFLICT';
  if (sqlState.startsWith('23')) return 'DATABASE_CONSTRAINT';
  if (sqlState === '42501' || sqlState.startsWith('28')) return 'DATABASE_FORBIDDEN';
  return 'DATABASE_QUERY_FAILED';
}

const PERMANENT: ReadonlySet<DatabaseErrorCode> = new Set(['DATABASE_CONSTRAINT', 'DATABASE_FORBIDDEN']);

export function translateDatabaseError(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  const sqlState = sqlStateOf(error);
  const code = codeOf(error, sqlState);
  const { constraint, table } = (error ?? {}) as PgFields;
  return new GatewayError<DatabaseErrorCode>(code, error instanceof Error ? error.message : String(error), {
    retryable: !PERMANENT.has(code),
    context: {
      ...(sqlState === undefined ? {} : { sqlState }),
      ...(typeof constraint === 'string' ? { constraint } : {}),
      ...(typeof table === 'string' ? { table } : {}),
    },
    cause: error,
  });
}

/** 26000 and 42P05: client and server disagree about the prepared statements of this connection. */
const MIXED_UP_STATES = new Set(['26000', '42P05']);

/** The statement's tables were altered: every connection that prepared it rejects it permanently. */
export function isPlanOutdated(error: unknown): boolean {
  return sqlStateOf(error) === '0A000' && /cached plan must not change/.test((error as Error).message);
}

/** The server became a standby, or was made read-only. */
const READ_ONLY = '25006';

export function breaksConnection(error: unknown): boolean {
  const sqlState = sqlStateOf(error);
  if (sqlState === READ_ONLY || isPlanOutdated(error) || MIXED_UP_STATES.has(sqlState ?? '')) return true;
  if (sqlState === undefined) return codeOf(error, sqlState) === 'DATABASE_UNAVAILABLE';
  return (error as PgFields).severity === 'FATAL' || sqlState.startsWith('08');
}

/** All connections of the pool or of the server (53300) are in use: the server is not lost. */
export function isOutOfConnections(error: unknown): boolean {
  const isPoolFull = error instanceof Error && error.message === 'timeout exceeded when trying to connect';
  return isPoolFull || sqlStateOf(error) === '53300';
}

/** False if the database rejected a statement. */
export function isDatabaseUnavailable(error: unknown): boolean {
  return error instanceof GatewayError && error.code === 'DATABASE_UNAVAILABLE';
}

export function violates(error: unknown, constraint: string): boolean {
  return (
    error instanceof GatewayError &&
    error.code === 'DATABASE_CONSTRAINT' &&
    error.context['constraint'] === constraint
  );
}
