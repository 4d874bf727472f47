import { resourceOf, type TronAccount, type Totals } from '../state/records.ts';
import type { ChainParameters } from './parameters.ts';

/** Usage recovers over a day, in slots of three seconds. */
const WINDOW_SLOTS = 28_800;
const PRECISION = 1_000_000;
const SUN_PER_TRX = 1_000_000n;

export function slotOf(timestampMs: number): number {
  return Math.floor(timestampMs / 3_000);
}

/** `used` counts as of `usedSlot`, `added` is used now. Rounds like ResourceProcessor.increase of java-tron. */
export function usageAfter(used: number, usedSlot: number, added: number, nowSlot: number): number {
  const elapsed = nowSlot - usedSlot;
  const average = Math.ceil((used * PRECISION) / WINDOW_SLOTS);
  const left = elapsed < WINDOW_SLOTS ? Math.round(average * ((WINDOW_SLOTS - elapsed) / WINDOW_SLOTS)) : 0;
  const recent = elapsed === 0 ? average : left;
  return Math.floor(((recent + Math.ceil((added * PRECISION) / WINDOW_SLOTS)) * WINDOW_SLOTS) / PRECISION);
}

export function freeBandwidthUsed(account: TronAccount, slot: number): number {
  return usageAfter(account.freeBandwidthUsed, account.freeBandwidthSlot, 0, slot);
}

export function bandwidthUsed(account: TronAccount, slot: number): number {
  return usageAfter(account.bandwidthUsed, account.bandwidthSlot, 0, slot);
}

export function energyUsed(account: TronAccount, slot: number): number {
  return usageAfter(account.energyUsed, account.energySlot, 0, slot);
}

/** Amount of a resource for an account's stake, own and received. */
export function resourceLimit(
  account: TronAccount,
  resource: number,
  totals: Totals,
  parameters: ChainParameters,
): number {
  const stake = resourceOf(account.staked, resource) + resourceOf(account.delegatedIn, resource);
  const weight = resourceOf(totals.weights, resource);
  if (weight === 0n) return 0;
  const all = resource === 1 ? parameters.totalEnergyCurrentLimit : parameters.totalNetLimit;
  return Math.floor(Number(stake / SUN_PER_TRX) * (all / Number(weight)));
}

export function energyLeft(
  account: TronAccount,
  slot: number,
  totals: Totals,
  parameters: ChainParameters,
): number {
  return Math.max(resourceLimit(account, 1, totals, parameters) - energyUsed(account, slot), 0);
}

/** Stake in sun whose resource is in use and therefore cannot be delegated. */
export function usedStakeSun(
  account: TronAccount,
  resource: number,
  slot: number,
  totals: Totals,
  parameters: ChainParameters,
): bigint {
  const used = resource === 1 ? energyUsed(account, slot) : bandwidthUsed(account, slot);
  const all = resource === 1 ? parameters.totalEnergyCurrentLimit : parameters.totalNetLimit;
  return BigInt(Math.ceil(used * 1_000_000 * (Number(resourceOf(totals.weights, resource)) / all)));
}
