import { withFeeMargin } from '@opentill/domain/fee-margin';
import { burntBy, missingUnits } from '@opentill/domain/ways-to-sweep';
import type { OpenStep } from './planner-deps.ts';
import { feeAtAddress, type WorkAtAddress } from './fee-at-address.ts';
import { ending, nextStep, type SweepStep } from './next-step.ts';
import { ENERGY_DEARER, type OpenSweep } from './store/sweep-facts.ts';
import type { SweepObstacle } from './stands-still.ts';

/**
 * Buys the energy that a sweep lacks, once. That it is bought, and for how much at most, is committed before the seller is asked, and
 * nobody asks him a second time for that sweep: whoever comes after a crash waits for the energy, and what he never
 * delivers is paid for in coin by another sweep. What counts against the policy's bounds is what was committed, whether he took it
 * or not; only what he certainly refused does not.
 *
 *   | step                     | committed                  | a crash behind it leaves                                 |
 *   |--------------------------|----------------------------|----------------------------------------------------------|
 *   | quoted, within bounds    | –                          | a sweep that buys later                                  |
 *   | ordered                  | rent_cost, since when      | perhaps nothing was ordered: the energy is waited for in |
 *   |                          |                            | vain, then the sweep is ABANDONED                        |
 *   | taken by the seller      | his name for the order     | –                                                        |
 *   | refused for certain      | ABANDONED, rent_cost 0     | –                                                        |
 *
 * @returns what is to be done instead, or what stands in the way of the sweep; undefined when it was ordered, or nobody knows
 */
export async function buyEnergy({
  deps,
  lease,
  sweep,
  books,
  signal,
}: OpenStep): Promise<SweepStep | SweepObstacle | undefined> {
  const { chain, policy, store, observe, network } = deps;
  const { moves, sweepId } = sweep;
  const fee = await feeAtAddress(deps, sweep, signal);
  if (typeof fee === 'string') return fee;
  if (fee?.work === undefined) return 'UNKNOWN';
  if (!fee.work.means.isActive) return undefined;
  const units = missingUnits(fee.work.need, fee.work.means);
  // Somebody else lent it.
  if (units === 0n) return nextStep({ ...sweep, method: 'FREE' }, books.now);
  // Nobody is asked who has not delivered, or may have been asked for this address before a restore.
  if (books.resting.has('RENT')) return ending(moves, 'ABANDONED', 'no energy is bought for now');
  const seller = chain.energy?.seller;
  const bounds = policy?.sweep;
  if (seller === undefined || bounds === undefined || !bounds.rent)
    return ending(moves, 'ABANDONED', 'no energy is bought any more');
  const quote = await seller.quote(units, sweep.address, signal);
  if (quote === undefined) return 'UNKNOWN';
  const isWithin =
    quote.priceSun <= bounds.maxRentPerOrderBaseUnits && quote.priceSun <= leftForEnergy(sweep, fee.work);
  if (!isWithin) return ending(moves, 'ABANDONED', ENERGY_DEARER);
  // The round may have begun long ago, and what a seller takes can't be taken back.
  if ((await deps.readClocks()) !== undefined) return undefined;
  if (!(await store.orderEnergy(lease, sweepId, quote.priceSun, bounds.maxRentPerDayBaseUnits)))
    return ending(moves, 'ABANDONED', 'the day allows no more energy to be bought');
  const outcome = await seller.order({ receiver: sweep.address, quote }, signal);
  observe.ordered(network.chain, sweepId, seller.name, quote.priceSun, outcome);
  if (outcome.kind === 'ORDERED') await store.energyOrdered(lease, sweepId, outcome.ref);
  if (outcome.kind === 'REFUSED') await store.energyRefused(lease, sweepId);
  return undefined;
}

/** With more for it nobody would sign what it is bought for: of the plan, what was paid already and what is burnt beside the work is gone. */
function leftForEnergy(
  { costBaseUnits, paidBaseUnits }: OpenSweep,
  { need, means, prices }: WorkAtAddress,
): bigint {
  const beside = burntBy(need, { ...means, workUnits: need.workUnits }, prices);
  return withFeeMargin(costBaseUnits) - paidBaseUnits - beside;
}
