import type { ReaderErrorCode } from '@opentill/chain/reader-error';

/** The reader's code for an HTTP status that came without an answer of the node itself; undefined for a success. */
export function codeOfHttpStatus(status: number): ReaderErrorCode | undefined {
  if (status >= 200 && status < 300) return undefined;
  if (status === 429) return 'RPC_RATE_LIMITED';
  if (status === 413) return 'RPC_RANGE_TOO_LARGE';
  // 402: the account's plan is used up, which only its owner can mend.
  if (status === 401 || status === 402 || status === 403) return 'RPC_FORBIDDEN';
  // A redirect is not followed; where it comes from, another path or another host serves by now.
  if (status >= 300 && status < 400) return 'RPC_UNAVAILABLE';
  return status >= 500 || status === 408 ? 'RPC_UNAVAILABLE' : 'RPC_REFUSED';
}
