import { GatewayError } from '@opentill/domain/gateway-error';

/** Failures of a ChainReader. Every node error maps to one of these; an unclear answer is never interpreted. */
export type ReaderErrorCode =
  /** No usable answer: refused, reset, timed out, HTTP 5xx, internal error of the node. Retryable. */
  | 'RPC_UNAVAILABLE'
  /** The provider's rate limit. Retryable; `context.retryAfterMs` when the provider names a delay. */
  | 'RPC_RATE_LIMITED'
  /** More blocks or results than the provider returns in one answer, even for one block. Retryable. */
  | 'RPC_RANGE_TOO_LARGE'
  /** The node does not offer the method, or not to this account. Not retryable: configure another URL. */
  | 'RPC_METHOD_MISSING'
  /** The node rejected the key or the origin (HTTP 401, 403). Not retryable. */
  | 'RPC_FORBIDDEN'
  /** The node rejected the request for a reason unknown to this adapter. Retryable; raise an alert. */
  | 'RPC_REFUSED'
  /** The node does not have that block: it lags, or a reorganisation removed the block. Retryable. */
  | 'BLOCK_NOT_FOUND'
  /** The node reports no finalized block (Polygon does so while milestones are stuck). Retryable. */
  | 'FINALITY_UNAVAILABLE'
  /** Parts of an answer contradict each other, or do not match the request. Retryable. */
  | 'INCONSISTENT_ANSWER'
  /** The node serves another network than the configured one. Not retryable. */
  | 'WRONG_CHAIN'
  /** A configured token is not a contract on the chain, or has other decimals. Not retryable. */
  | 'TOKEN_MISMATCH'
  /** The caller aborted its signal. Retryable. */
  | 'READ_ABORTED';

const PERMANENT: ReadonlySet<ReaderErrorCode> = new Set<ReaderErrorCode>([
  'RPC_METHOD_MISSING',
  'RPC_FORBIDDEN',
  'WRONG_CHAIN',
  'TOKEN_MISMATCH',
]);

export type ReaderError = GatewayError<ReaderErrorCode>;

/** `context` must not contain a whole URL: its path may contain a provider's key. */
export function readerError(
  code: ReaderErrorCode,
  message: string,
  context: Readonly<Record<string, unknown>> = {},
  cause?: unknown,
): ReaderError {
  return new GatewayError(code, message, { retryable: !PERMANENT.has(code), context, cause });
}

export function isReaderError(error: unknown, code: ReaderErrorCode): error is ReaderError {
  return error instanceof GatewayError && error.code === code;
}
