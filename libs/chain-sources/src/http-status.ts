import type { ReaderErrorCode } from '@opentill/chain/reader-error';

/** For an HTTP status without an answer of the node itself; undefined for a success. */
export function codeOfHttpStatus(status: number): ReaderErrorCode | undefined {
  if (status >= 200 && status < 300) return undefined;
  if (status === 429) return 'RPC_RATE_LIMITED';
  if (status === 413) return 'RPC_RANGE_TOO_LARGE';
  // 402: the account's plan is used up; only its owner can change that.
  if (status === 401 || status === 402 || status === 403) return 'RPC_FORBIDDEN';
  // Redirects are not followed: the node has moved to another path or host.
  if (status >= 300 && status < 400) return 'RPC_UNAVAILABLE';
  return status >= 500 || status === 408 ? 'RPC_UNAVAILABLE' : 'RPC_REFUSED';
}
