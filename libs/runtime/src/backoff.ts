export interface BackoffOptions {
  /** Delay after the first failure, before jitter. */
  readonly firstMs: number;
  /** Jitter included. */
  readonly maxMs: number;
  /** Random number in [0, 1). */
  readonly random?: () => number;
}

/**
 * Delay after the `failures`-th failure in a row (1, 2, …). It doubles from `firstMs` up to `maxMs`. The upper half is
 * random, so that replicas that failed together do not retry together.
 */
export function backoffMs(failures: number, options: BackoffOptions): number {
  const ceilingMs = Math.min(options.maxMs, options.firstMs * 2 ** Math.min(failures - 1, 30));
  return Math.round(ceilingMs / 2 + (ceilingMs / 2) * (options.random ?? Math.random)());
}
