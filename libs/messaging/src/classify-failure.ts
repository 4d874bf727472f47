import { GatewayError, isRetryable } from '@opentill/domain/gateway-error';

/** wait: infrastructure is down, retry without limit or counting. retry: this failure counts. dead: give up. */
export type Verdict = 'wait' | 'retry' | 'dead';

/** After so many failures a delivery becomes a dead letter. */
export const MAX_FAILURES = 8;

/**
 * Infrastructure by code: `…_UNAVAILABLE` (database, broker, node), `…_BLOCKED`, `LEASE_…`, always retryable. An
 * unknown error is retryable: a bug must not discard work at once. `countedFailures` includes this failure.
 */
export function classifyFailure(error: unknown, countedFailures: number): Verdict {
  if (!isRetryable(error)) return 'dead';
  if (error instanceof GatewayError && /_UNAVAILABLE$|_BLOCKED$|^LEASE_/.test(error.code)) return 'wait';
  return countedFailures >= MAX_FAILURES ? 'dead' : 'retry';
}
