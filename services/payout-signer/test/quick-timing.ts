import type { PassTiming } from '../src/pass-deps.ts';

/** Impatient, so that tests need not wait. */
export const QUICK: PassTiming & { readonly sweepMs: number } = {
  sweepMs: 30,
  resendMs: 60,
  resendMaxMs: 120,
  bumpAfterMs: 60_000,
  cancelGapAfterMs: 100,
  balancesEveryMs: 200,
  idleCountEveryMs: 50,
  countEveryMs: 20,
  aheadHaltAfterMs: 60_000,
  poolBelievedMs: 600_000,
};
