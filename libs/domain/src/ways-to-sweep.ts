import type { SweepOption } from './plan-sweeps.ts';

/*
 * How the fee of one sweep can be paid where the work of a token's contract is paid for by coin, by stake that is lent to the address,
 * or by work that somebody sells (TRON: energy). Pure; every amount is of the native coin in base units.
 */

/** What the transaction that empties an address takes, at most. */
export interface SweepNeed {
  readonly workUnits: bigint;
  readonly bytes: bigint;
}

/** What the address can pay with now. */
export interface SweepMeans {
  /** Whether the chain knows it as an account: nothing is lent to one that it does not know. */
  readonly isActive: boolean;
  readonly coinBaseUnits: bigint;
  readonly workUnits: bigint;
  /** Bytes of the next transaction that cost nothing. */
  readonly freeBytes: bigint;
}

/** What the chain asks for now. */
export interface SweepPrices {
  readonly perUnit: bigint;
  readonly perByte: bigint;
  /** What the first coin that comes to an address costs whoever sends it, besides. */
  readonly activation: bigint;
  /** Bytes that cost a new account nothing. */
  readonly freeBytesOfNew: bigint;
}

/** What the hot wallet's transactions take, and what it may do. */
export interface SweepTerms {
  readonly prices: SweepPrices;
  readonly topUpBytes: bigint;
  /** Undefined: nothing is lent. */
  readonly lending:
    | {
        /** `units` of work a day for `stake`. */
        readonly yields: { readonly units: bigint; readonly stake: bigint };
        /** Of lending and of taking back. */
        readonly bytes: bigint;
        /** Stake is lent in whole ones of these, one at least. */
        readonly step: bigint;
      }
    | undefined;
  /** What somebody asks for the units that are missing; undefined: nobody sells them. */
  readonly rentOf: (units: bigint) => bigint | undefined;
}

/** The same stake gives less when others stake more until it is used. */
const STAKE_MARGIN_PERCENT = 102n;

const TOP_UP_MARGIN_PERCENT = 105n;

/**
 * What is brought for what an address burns. No more than this above it: what the work may take has a margin of its own, and each address
 * mostly serves one order, so that what is left over is seldom used. What gets dearer by more meanwhile is planned anew, and the rest brought.
 */
export function withTopUpMargin(burnt: bigint): bigint {
  return (burnt * TOP_UP_MARGIN_PERCENT) / 100n;
}

/** What the address would burn by sending it now, having the coin; nothing where work and bytes are there already. */
export function burntBy(need: SweepNeed, means: SweepMeans, prices: SweepPrices): bigint {
  const freeBytes = means.isActive ? means.freeBytes : prices.freeBytesOfNew;
  const bytes = need.bytes <= freeBytes ? 0n : need.bytes * prices.perByte;
  return missingUnits(need, means) * prices.perUnit + bytes;
}

/** Units of work that the address lacks. */
export function missingUnits(need: SweepNeed, { workUnits }: SweepMeans): bigint {
  return need.workUnits > workUnits ? need.workUnits - workUnits : 0n;
}

/** How much stake has to be lent for so many units; undefined where nobody knows what stake gives. */
export function stakeFor(
  units: bigint,
  { yields, step }: Pick<NonNullable<SweepTerms['lending']>, 'yields' | 'step'>,
): bigint | undefined {
  if (yields.units <= 0n || yields.stake <= 0n || step <= 0n) return undefined;
  const steps = ceilDiv(units * yields.stake * STAKE_MARGIN_PERCENT, yields.units * 100n * step);
  return (steps > 0n ? steps : 1n) * step;
}

/**
 * What coin the address needs when its work is paid for otherwise: for bytes that are not free, and where it is no account
 * yet the least there is, since that makes it one.
 */
export function topUpBesideWork(need: SweepNeed, means: SweepMeans, prices: SweepPrices): bigint {
  const burnt = burntBy(need, { ...means, workUnits: need.workUnits }, prices);
  const short = withTopUpMargin(burnt) - means.coinBaseUnits;
  if (short > 0n) return short;
  return means.isActive ? 0n : 1n;
}

/**
 * Every way in which this sweep can be paid for, each with all that it costs at most. FREE stands alone: what is there
 * already is never paid for a second time.
 */
export function waysToSweep(need: SweepNeed, means: SweepMeans, terms: SweepTerms): readonly SweepOption[] {
  const { prices, topUpBytes, lending, rentOf } = terms;
  const burnt = burntBy(need, means, prices);
  const short = withTopUpMargin(burnt) - means.coinBaseUnits;
  if (means.isActive && short <= 0n) return [{ method: 'FREE', costBaseUnits: burnt, topUpBaseUnits: 0n }];
  const sending = topUpBytes * prices.perByte + (means.isActive ? 0n : prices.activation);
  const topUpBaseUnits = short > 0n ? short : 1n;
  const ways: SweepOption[] = [{ method: 'TOP_UP', costBaseUnits: burnt + sending, topUpBaseUnits }];
  const units = missingUnits(need, means);
  if (units === 0n) return ways;
  const beside = topUpBesideWork(need, means, prices);
  const bytes = burnt - units * prices.perUnit;
  const base = bytes + (beside > 0n ? sending : 0n);
  const stakeBaseUnits = lending === undefined ? undefined : stakeFor(units, lending);
  if (lending !== undefined && stakeBaseUnits !== undefined)
    ways.push({
      method: 'STAKE',
      costBaseUnits: base + lending.bytes * prices.perByte,
      topUpBaseUnits: beside,
      stakeBaseUnits,
    });
  const rentBaseUnits = rentOf(units);
  if (rentBaseUnits !== undefined)
    ways.push({ method: 'RENT', costBaseUnits: base + rentBaseUnits, topUpBaseUnits: beside, rentBaseUnits });
  return ways;
}

function ceilDiv(value: bigint, by: bigint): bigint {
  return (value + by - 1n) / by;
}
