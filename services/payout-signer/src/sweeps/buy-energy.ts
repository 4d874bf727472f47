import type { EnergyQuote } from '../energy/energy-seller.ts';
import type { OpenStep } from './planner-deps.ts';

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
 * @returns why it may not be ordered; undefined when it was ordered, or was left to the next round
 */
export async function buyEnergy(
  { deps, lease, sweep: { sweepId, address }, signal }: OpenStep,
  quote: EnergyQuote,
): Promise<string | undefined> {
  const { chain, policy, store, observe, network, readClocks } = deps;
  const seller = chain.energy?.seller;
  if (seller === undefined || policy === undefined) return undefined;
  // The round may have begun long ago, and an order cannot be taken back.
  if ((await readClocks()) !== undefined) return undefined;
  if (!(await store.orderEnergy(lease, sweepId, quote.priceSun, policy.sweep.maxRentPerDayBaseUnits)))
    return 'the day allows no more energy to be bought';
  const outcome = await seller.order({ receiver: address, quote }, signal);
  observe.ordered(network.chain, sweepId, seller.name, quote.priceSun, outcome);
  if (outcome.kind === 'ORDERED') await store.energyOrdered(lease, sweepId, outcome.ref);
  if (outcome.kind === 'REFUSED') await store.energyRefused(lease, sweepId);
  return undefined;
}
