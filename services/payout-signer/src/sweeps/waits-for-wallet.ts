import { nextStep, type SweepSoFar } from './next-step.ts';

/**
 * Whether a sweep can't go on before the hot wallet signs something: what brings its fee, or takes back what was lent; or beside the
 * address, where it pays the fee of the sweep itself (SUI). What is signed already is sent whatever halts the wallet, so that is on its way.
 *
 *   | its newest movement                  | the hot wallet's, or sponsored | the address's |
 *   |--------------------------------------|------------------|---------------|
 *   | none, or over: another one is to begin | waits          | goes on       |
 *   | unsigned                             | waits            | goes on       |
 *   | signed, or sent                      | goes on          | goes on       |
 *   | ended unpaid: tried again in a while | waits            | goes on       |
 */
export function waitsForWallet(sweep: SweepSoFar, now: Date, isSponsored: boolean): boolean {
  const step = nextStep(sweep, now);
  if (step.kind === 'BEGIN') return isSponsored || step.movement !== 'SWEEP';
  const newest = sweep.moves.at(-1);
  if (step.kind !== 'WAIT' || newest === undefined || (newest.kind === 'SWEEP' && !isSponsored)) return false;
  return newest.isUnsigned || newest.hasEndedUnpaid;
}

/** Whether the hot wallet signs beside the address. What the network moves for nothing has no sponsor. */
export function isSponsoredSweep(
  { sponsorship }: { readonly sponsorship?: object },
  { costBaseUnits }: { readonly costBaseUnits: bigint },
): boolean {
  return sponsorship !== undefined && costBaseUnits > 0n;
}
