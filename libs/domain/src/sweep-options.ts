import { divideUp } from './divide-up.ts';
import type { SweepOption } from './plan-sweeps.ts';

// Contract calls cost work (TRON: energy), paid by coin, by lent stake, or by rented work. Pure; amounts are base units
// of the native coin.

export interface SweepNeed {
  readonly workUnits: bigint;
  readonly bytes: bigint;
}

export interface SweepMeans {
  /** The account exists on the chain. Stake cannot be lent to other addresses. */
  readonly isActive: boolean;
  readonly coinBaseUnits: bigint;
  readonly workUnits: bigint;
  readonly freeBytes: bigint;
}

export interface SweepPrices {
  readonly perUnit: bigint;
  readonly perByte: bigint;
  /** Extra cost for the sender of the first coin to an address. */
  readonly activation: bigint;
  readonly freeBytesOfNew: bigint;
}

export interface SweepTerms {
  readonly prices: SweepPrices;
  readonly topUpBytes: bigint;
  readonly lending:
    | {
        /** Per day. */
        readonly yields: { readonly units: bigint; readonly stake: bigint };
        /** Lending and reclaiming together. */
        readonly bytes: bigint;
        /** Stake is lent in multiples of this, at least one. */
        readonly step: bigint;
      }
    | undefined;
  /** Price of the missing units; undefined: no seller. */
  readonly rentPrice: (units: bigint) => bigint | undefined;
}

/** The same stake yields less when others stake more before it is used. */
const STAKE_MARGIN_PERCENT = 102n;

const TOP_UP_MARGIN_PERCENT = 105n;

/** Small: most addresses serve one order, so a rest stays unused. If prices rise more, the sweep is planned again. */
export function topUpWithMargin(burnt: bigint): bigint {
  return (burnt * TOP_UP_MARGIN_PERCENT) / 100n;
}

/** Zero if the address has enough execution units and free bytes. */
export function burnCost(need: SweepNeed, means: SweepMeans, prices: SweepPrices): bigint {
  const freeBytes = means.isActive ? means.freeBytes : prices.freeBytesOfNew;
  const bytes = need.bytes <= freeBytes ? 0n : need.bytes * prices.perByte;
  return missingUnits(need, means) * prices.perUnit + bytes;
}

export function missingUnits(need: SweepNeed, { workUnits }: SweepMeans): bigint {
  return need.workUnits > workUnits ? need.workUnits - workUnits : 0n;
}

/** Undefined if the yield is unknown. */
export function requiredStake(
  units: bigint,
  { yields, step }: Pick<NonNullable<SweepTerms['lending']>, 'yields' | 'step'>,
): bigint | undefined {
  if (yields.units <= 0n || yields.stake <= 0n || step <= 0n) return undefined;
  const steps = divideUp(units * yields.stake * STAKE_MARGIN_PERCENT, yields.units * 100n * step);
  return (steps > 0n ? steps : 1n) * step;
}

/** If the work is paid in another way: coin for bytes that are not free, and the minimum to activate an account. */
export function topUpWithWork(need: SweepNeed, means: SweepMeans, prices: SweepPrices): bigint {
  const burnt = burnCost(need, { ...means, workUnits: need.workUnits }, prices);
  const missing = topUpWithMargin(burnt) - means.coinBaseUnits;
  if (missing > 0n) return missing;
  return means.isActive ? 0n : 1n;
}

/** Each with its maximum cost. FREE is the only option if the address has the resources: never pay for them twice. */
export function sweepOptions(need: SweepNeed, means: SweepMeans, terms: SweepTerms): readonly SweepOption[] {
  const { prices, topUpBytes, lending, rentPrice } = terms;
  const burnt = burnCost(need, means, prices);
  const missing = topUpWithMargin(burnt) - means.coinBaseUnits;
  if (means.isActive && missing <= 0n) return [{ method: 'FREE', costBaseUnits: burnt, topUpBaseUnits: 0n }];
  const topUpCost = topUpBytes * prices.perByte + (means.isActive ? 0n : prices.activation);
  const topUpBaseUnits = missing > 0n ? missing : 1n;
  const ways: SweepOption[] = [{ method: 'TOP_UP', costBaseUnits: burnt + topUpCost, topUpBaseUnits }];
  const units = missingUnits(need, means);
  if (units === 0n) return ways;
  const topUpForBytes = topUpWithWork(need, means, prices);
  const bytes = burnt - units * prices.perUnit;
  const base = bytes + (topUpForBytes > 0n ? topUpCost : 0n);
  const stakeBaseUnits = lending === undefined ? undefined : requiredStake(units, lending);
  if (lending !== undefined && stakeBaseUnits !== undefined)
    ways.push({
      method: 'STAKE',
      costBaseUnits: base + lending.bytes * prices.perByte,
      topUpBaseUnits: topUpForBytes,
      stakeBaseUnits,
    });
  const rentBaseUnits = rentPrice(units);
  if (rentBaseUnits !== undefined)
    ways.push({
      method: 'RENT',
      costBaseUnits: base + rentBaseUnits,
      topUpBaseUnits: topUpForBytes,
      rentBaseUnits,
    });
  return ways;
}
