import type { EnergyQuote } from '../energy/energy-seller.ts';
import type { OpenStep } from './planner-deps.ts';

/**
 * Commits the order and its highest price before the seller receives it, so no process sends a second one. After a
 * crash the sweep waits for the energy, then ends ABANDONED, and another one pays in coin. The price counts against the
 * policy's bounds, unless the seller rejected the order for certain. Returns why no order may be sent.
 */
export async function buyEnergy(
  { deps, lease, sweep: { sweepId, address }, signal }: OpenStep,
  quote: EnergyQuote,
): Promise<string | undefined> {
  const { chain, policy, store, observe, network, readClocks } = deps;
  const seller = chain.energy?.seller;
  if (seller === undefined || policy === undefined) return undefined;
  // The round may have begun long ago, and an order cannot be cancelled.
  if ((await readClocks()) !== undefined) return undefined;
  if (!(await store.orderEnergy(lease, sweepId, quote.priceSun, policy.sweep.maxRentPerDayBaseUnits)))
    return 'the energy budget of the day is used up';
  const outcome = await seller.order({ receiver: address, quote }, signal);
  observe.ordered(network.chain, sweepId, seller.name, quote.priceSun, outcome);
  if (outcome.kind === 'ORDERED') await store.energyOrdered(lease, sweepId, outcome.ref);
  if (outcome.kind === 'REFUSED') await store.energyRefused(lease, sweepId);
  return undefined;
}
