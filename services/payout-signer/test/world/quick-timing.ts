import type { PassTiming } from '../../src/nonce/pass-deps.ts';

/** For eventual results on a busy machine: a node that timed out is not asked for 30 s. */
export const TIMEOUT_MS = 90_000;

/** Long, because a signer that loses its lease on a stalled machine forgets its sends and suspicions. */
export const LEASE_TTL_MS = 120_000;

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
