import { isReaderError } from './reader-error.ts';

export interface CheckFailure {
  readonly code: string;
  readonly detail: string;
}

/** The failure that leaves a chain out; undefined for a temporary error, such as a node that is down. */
export function checkFailureOf(error: unknown): CheckFailure | undefined {
  return isReaderError(error, 'WRONG_CHAIN') || isReaderError(error, 'TOKEN_MISMATCH')
    ? { code: error.code, detail: error.message }
    : undefined;
}
