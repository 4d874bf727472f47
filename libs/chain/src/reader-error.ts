import { GatewayError } from '@opentill/domain/gateway-error';

/** Why a ChainReader could not answer. Whatever the node says, one of these comes out; nothing is ever guessed. */
export type ReaderErrorCode =
  /** No usable answer: refused, reset, timed out, HTTP 5xx, the node's internal error. Retryable. */
  | 'RPC_UNAVAILABLE'
  /** The provider asks to slow down. Retryable; `context.retryAfterMs` when it said how long. */
  | 'RPC_RATE_LIMITED'
  /** More blocks or more results than the provider gives in one answer, even for one block. Retryable. */
  | 'RPC_RANGE_TOO_LARGE'
  /** The node does not offer the method, or not to this account. Not retryable: another URL is needed. */
  | 'RPC_METHOD_MISSING'
  /** The node refused the key or the origin (HTTP 401, 403). Not retryable. */
  | 'RPC_FORBIDDEN'
  /** The node refused the request for a reason this adapter does not know. Retryable, and worth an alert. */
  | 'RPC_REFUSED'
  /** The node does not have that block: it lags, or a reorganisation took the block away. Retryable. */
  | 'BLOCK_NOT_FOUND'
  /** The node knows no finalized block now (Polygon says so while milestones are stuck). Retryable. */
  | 'FINALITY_UNAVAILABLE'
  /** Parts of an answer contradict one another, or are not what was asked for. Retryable. */
  | 'INCONSISTENT_ANSWER'
  /** The node serves another network than the configured one. Not retryable. */
  | 'WRONG_CHAIN'
  /** A configured token is not a contract there, or has other decimals. Not retryable. */
  | 'TOKEN_MISMATCH'
  /** The caller's signal was aborted. Retryable. */
  | 'READ_ABORTED';

const PERMANENT: ReadonlySet<ReaderErrorCode> = new Set<ReaderErrorCode>([
  'RPC_METHOD_MISSING',
  'RPC_FORBIDDEN',
  'WRONG_CHAIN',
  'TOKEN_MISMATCH',
]);

export type ReaderError = GatewayError<ReaderErrorCode>;

/** Makes a reader's error; whether it is retryable follows from the code. `context` must not hold a whole URL. */
export function readerError(
  code: ReaderErrorCode,
  message: string,
  context: Readonly<Record<string, unknown>> = {},
  cause?: unknown,
): ReaderError {
  return new GatewayError(code, message, { retryable: !PERMANENT.has(code), context, cause });
}

/** Whether `error` is a GatewayError with this code of a reader. */
export function isReaderError(error: unknown, code: ReaderErrorCode): error is ReaderError {
  return error instanceof GatewayError && error.code === code;
}
