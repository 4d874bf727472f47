import { LIMITS } from './parameters.ts';
import type { GasSummary, ObjectChange, Program } from './transaction.ts';

/**
 * What a program's work comes to. Native commands on coins are cheap: the first thousand of units holds hundreds of them,
 * and costs are rounded up to thousands.
 */
const UNITS_BASE = 60n;
const UNITS_PER_COMMAND = 10n;
const UNITS_PER_CHANGE = 2n;

/** In MIST, at a price of MIST a unit. */
export function computationCost(program: Program, changes: readonly ObjectChange[], price: bigint): bigint {
  const used =
    UNITS_BASE +
    UNITS_PER_COMMAND * BigInt(program.commands.length) +
    UNITS_PER_CHANGE * BigInt(changes.length);
  const steps = (used + LIMITS.gasStepUnits - 1n) / LIMITS.gasStepUnits;
  return steps * LIMITS.gasStepUnits * price;
}

/** What is paid for the bytes that are stored, and what comes back for those that are not any more. */
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

/** Whether a budget is enough: more than the computation, and what storage costs beyond its rebate. */
export function isAffordable(gas: GasSummary, budget: bigint): boolean {
  const storage = gas.storageCost > gas.storageRebate ? gas.storageCost - gas.storageRebate : 0n;
  return gas.computationCost < budget && gas.computationCost + storage <= budget;
}
