import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { SweepFacts, UnsweptAsset } from '@opentill/domain/plan-sweeps';
import type { BeginningDeps } from './planner-deps.ts';
import type { EnergyRules } from './price-energy.ts';
import type { SweepBooks } from './store/sweep-facts.ts';

type Deps = Pick<BeginningDeps, 'chain' | 'policy' | 'wallet'>;

/** Allowed by the policy, and not failed recently. */
export function energyRules(
  { policy: { sweep } }: Pick<BeginningDeps, 'policy'>,
  { suspendedMethods }: Pick<SweepBooks, 'suspendedMethods'>,
): EnergyRules {
  return {
    mayLend: sweep.stake && !suspendedMethods.has('STAKE'),
    mayBuy: sweep.rent && !suspendedMethods.has('RENT'),
  };
}

/** Without what open sweeps will take. */
export async function energyFacts(
  deps: Deps,
  books: SweepBooks,
  unswept: readonly UnsweptAsset[],
  options: ReadOptions,
): Promise<Pick<SweepFacts, 'delegableBaseUnits' | 'rentBudgetBaseUnits'>> {
  const { energy } = deps.chain;
  if (energy === undefined) return {};
  const stakes = unswept.flatMap((asset) => asset.options.map(({ stakeBaseUnits = 0n }) => stakeBaseUnits));
  const largest = stakes.reduce((most, stake) => (stake > most ? stake : most), 0n);
  if (largest === 0n) return { rentBudgetBaseUnits: rentBudget(deps, books) };
  const delegable = await energy.accounts.delegable(deps.wallet, options);
  return {
    delegableBaseUnits: delegable - promisedStake(books, largest),
    rentBudgetBaseUnits: rentBudget(deps, books),
  };
}

/** Stake of open sweeps that the chain does not count as lent yet. An unknown amount counts as the largest one. */
function promisedStake({ open }: SweepBooks, largest: bigint): bigint {
  return open
    .filter(({ method }) => method === 'STAKE')
    .reduce((sum, { moves }) => {
      const lent = moves.findLast(({ kind }) => kind === 'DELEGATE');
      if (lent === undefined) return sum + largest;
      return lent.money === 'RESERVED' || lent.money === 'IN_FLIGHT' ? sum + lent.amountBaseUnits : sum;
    }, 0n);
}

function rentBudget({ policy }: Deps, { rentedLastDay }: SweepBooks): bigint {
  return policy.sweep.rent ? policy.sweep.maxRentPerDayBaseUnits - rentedLastDay : 0n;
}
