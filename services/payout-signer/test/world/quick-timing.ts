import type { PassTiming } from '../../src/nonce/pass-deps.ts';

/** For eventual results on a busy machine: a node that timed out is not asked for 30 s. */
export const TIMEOUT_MS = 90_000;

/** Long, because a signer that loses its lease on a stalled machine forgets its sends and suspicions. */
export const LEASE_TTL_MS = 120_000;

/** A clock of tests runs this many times faster than real time, so that back-offs of the signer itself end soon. */
const CLOCK_SPEED = 10;
export const fastClockMs = (): number => CLOCK_SPEED * performance.now();

export const QUICK: PassTiming & { readonly sweepMs: number } = {
  sweepMs: 100,
  resendMs: 60,
  resendMaxMs: 120,
  bumpAfterMs: 600_000,
  cancelGapAfterMs: 100,
  balancesEveryMs: 400,
  idleCountEveryMs: 50,
  countEveryMs: 20,
  aheadHaltAfterMs: 600_000,
  poolBelievedMs: 600_000,
};

/** Converts the intervals that a pass measures by the fast clock from real time. */
export function byFastClock<T extends Partial<PassTiming>>(timing: T): T {
  const isMeasured = (name: string): boolean => name in QUICK && name !== 'sweepMs';
  const converted = Object.entries(timing).map(([name, value]): [string, unknown] => [
    name,
    isMeasured(name) && typeof value === 'number' ? CLOCK_SPEED * value : value,
  ]);
  return Object.fromEntries(converted) as T;
}
