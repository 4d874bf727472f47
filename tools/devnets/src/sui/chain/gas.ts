import { LIMITS } from './parameters.ts';
import type { GasSummary, ObjectChange, Program } from './transaction.ts';

/** Approximate units: hundreds of native coin commands fit into the first 1,000 units. */
const UNITS_BASE = 60n;
const UNITS_PER_COMMAND = 10n;
const UNITS_PER_CHANGE = 2n;

/** In MIST. `price` is in MIST per unit. */
export function computationCost(program: Program, changes: readonly ObjectChange[], price: bigint): bigint {
  const used =
    UNITS_BASE +
    UNITS_PER_COMMAND * BigInt(program.commands.length) +
    UNITS_PER_CHANGE * BigInt(changes.length);
  const steps = (used + LIMITS.gasStepUnits - 1n) / LIMITS.gasStepUnits;
  return steps * LIMITS.gasStepUnits * price;
}

export function storageGas(changes: readonly ObjectChange[]): Omit<GasSummary, 'computationCost'> {
  let storageCost = 0n;
  let freed = 0n;
  for (const change of changes) {
    if (change.kind === 'funds') continue;
    if (change.kind !== 'deleted') storageCost += change.after.storageRebateMist;
    if (change.kind !== 'created') freed += change.before.storageRebateMist;
  }
  const myriad = 10_000n;
  const storageRebate = (freed * LIMITS.storageRebatePerMyriad + myriad / 2n) / myriad;
  return { storageCost, storageRebate, nonRefundableStorageFee: freed - storageRebate };
}

/** The budget must exceed the computation cost, and cover storage costs beyond their rebate. */
export function isAffordable(gas: GasSummary, budget: bigint): boolean {
  const storage = gas.storageCost > gas.storageRebate ? gas.storageCost - gas.storageRebate : 0n;
  return gas.computationCost < budget && gas.computationCost + storage <= budget;
}
