import type { Address } from '@opentill/chain/address-codec';
import type { SweepOption } from '@opentill/domain/plan-sweeps';
import { nativeOf } from './known-assets.ts';
import type { PlannerDeps } from './planner-deps.ts';
import type { NewMovement } from './store/sweep-facts.ts';

type First = Omit<NewMovement, 'sweepId'>;

/**
 * What a new sweep begins with, in the commit that writes it: coin for the address, the stake that is lent to it, or what
 * empties it. Undefined where a seller is asked first: he is nobody's movement.
 */
export function firstMovement(
  { network, wallet }: Pick<PlannerDeps, 'network' | 'wallet'>,
  { method, topUpBaseUnits, stakeBaseUnits }: SweepOption,
  address: Address,
  swept: First,
): First | undefined {
  const helping = { ...nativeOf(network), wallet, receiver: address };
  if (topUpBaseUnits > 0n) return { ...helping, kind: 'GAS_TOP_UP', amountBaseUnits: topUpBaseUnits };
  if (method === 'STAKE' && stakeBaseUnits !== undefined)
    return { ...helping, kind: 'DELEGATE', amountBaseUnits: stakeBaseUnits };
  return method === 'RENT' ? undefined : swept;
}
