export interface BackoffOptions {
  /** Delay after the first failure, before jitter. */
  readonly firstMs: number;
  /** No delay is longer, jitter included. */
  readonly maxMs: number;
  /** A number in [0, 1); tests pass their own. */
  readonly random?: () => number;
}

/**
 * How long to wait after the `failures`-th failure in a row (1, 2, …): doubling from `firstMs` up to `maxMs`, of
 * which the upper half is random, so that replicas that failed together do not come back together.
 */
export function backoffMs(failures: number, options: BackoffOptions): number {
  const ceilingMs = Math.min(options.maxMs, options.firstMs * 2 ** Math.min(failures - 1, 30));
  return Math.round(ceilingMs / 2 + (ceilingMs / 2) * (options.random ?? Math.random)());
}
