export interface BackoffOptions {
  readonly firstMs: number;
  /** Includes jitter. */
  readonly maxMs: number;
  readonly random?: () => number;
}

/** `failures` counts from 1. Half of the delay is random, so that replicas that failed together retry apart. */
export function backoffMs(failures: number, options: BackoffOptions): number {
  const ceilingMs = Math.min(options.maxMs, options.firstMs * 2 ** Math.min(failures - 1, 30));
  return Math.round(ceilingMs / 2 + (ceilingMs / 2) * (options.random ?? Math.random)());
}
