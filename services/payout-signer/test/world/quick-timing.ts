import type { PassTiming } from '../../src/nonce/pass-deps.ts';

/**
 * How long a test waits for what comes at last, on a machine that does ten other things as well: a node that did not answer in time
 * rests for half a minute before it is asked again.
 */
export const PATIENCE_MS = 90_000;

/** A signer that loses its lease forgets what it has sent and what it suspects: a machine that stands for a while must not take it. */
export const LEASE_TTL_MS = 120_000;

/** Impatient, so that tests need not wait. */
export const QUICK: PassTiming & { readonly sweepMs: number } = {
  sweepMs: 50,
  resendMs: 60,
  resendMaxMs: 120,
  bumpAfterMs: 600_000,
  cancelGapAfterMs: 100,
  balancesEveryMs: 200,
  idleCountEveryMs: 50,
  countEveryMs: 20,
  aheadHaltAfterMs: 600_000,
  poolBelievedMs: 600_000,
};
