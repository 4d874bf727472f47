import { GatewayError, isRetryable } from '@opentill/domain/gateway-error';

/** What becomes of a message whose handler failed. */
export type Verdict =
  /** Nobody's fault here: try again for as long as it takes, without counting. */
  | 'wait'
  /** Try again, this one counts. */
  | 'retry'
  /** Trying again would change nothing, or has been tried enough. */
  | 'dead';

/** Failures of one delivery that count before it goes to the dead letters. */
export const MAX_FAILURES = 8;

/**
 * The one table from error to acknowledgement. `countedFailures` includes this one. Infrastructure is known by its
 * code: `…_UNAVAILABLE` (database, broker, node), `…_BLOCKED`, `LEASE_…`, always retryable. An unknown error counts
 * as retryable: a bug must not lose work at once.
 */
export function judgeFailure(error: unknown, countedFailures: number): Verdict {
  if (!isRetryable(error)) return 'dead';
  if (error instanceof GatewayError && /_UNAVAILABLE$|_BLOCKED$|^LEASE_/.test(error.code)) return 'wait';
  return countedFailures >= MAX_FAILURES ? 'dead' : 'retry';
}
