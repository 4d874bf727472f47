import type { Address } from '@opentill/chain/address-codec';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { EnergyMarket } from '@opentill/chain/energy-accounts';
import { baseUnits } from '@opentill/domain/money';
import type { SweepOptions } from '@opentill/domain/plan-sweeps';
import {
  missingUnits,
  sweepOptions,
  type SweepMeans,
  type SweepNeed,
  type SweepTerms,
} from '@opentill/domain/sweep-options';
import { tryRead } from '../wallet/try-read.ts';
import {
  areAlike,
  estimateBothDestinations,
  type Answer,
  type BothEstimates,
  type UnsweptDeposit,
  type SweepTargets,
} from './estimate-both-destinations.ts';
import type { SweepEnergy } from './sweep-chain.ts';

const AT_ONCE = 8;
/** Mostly two amounts differ: for receivers with the token and without it. */
const QUOTES_MAX = 4;
/** In the estimated transactions: as many bytes as a real one needs. */
const LARGE_SUN = 10n ** 13n;
/** Stake is lent in whole TRX. */
export const LENDING_STEP_SUN = 1_000_000n;

export interface EnergyRules {
  readonly mayLend: boolean;
  readonly mayBuy: boolean;
}

export interface EnergyDeps extends SweepTargets {
  readonly energy: SweepEnergy;
  readonly rules: EnergyRules;
}

/** All sweeps share one seller, one market and one hot wallet. */
export async function priceByEnergy(
  deps: EnergyDeps,
  unswept: readonly UnsweptDeposit[],
  options: ReadOptions,
): Promise<readonly UnsweptDeposit[]> {
  const { energy, wallet, coldAddress, rules } = deps;
  if (unswept.length === 0) return [];
  const needs = await estimateBothDestinations(
    (intents) => energy.needsOf(intents, options),
    unswept,
    deps,
    takesAlike,
  );
  const market = await energy.accounts.market(wallet, options);
  const means = await meansOf(energy, unswept, options);
  const rents = rules.mayBuy ? await quotesFor(energy, unswept, needs, means, options) : new Map();
  const terms = termsOf(energy, market, wallet, coldAddress, rules.mayLend, (units) => rents.get(units));
  return unswept.map(([asset, found], place) => {
    const [need, at] = [needs[place] ?? { cold: undefined }, means[place]];
    const waysFor = (one: Answer<SweepNeed>): SweepOptions => {
      if (typeof one === 'string') return { options: [], obstacle: one };
      return { options: one === undefined || at === undefined ? [] : sweepOptions(one, at, terms) };
    };
    const toHot = 'hot' in need ? { toHot: waysFor(need.hot) } : {};
    return [{ ...asset, ...waysFor(need.cold), ...toHot }, found] as const;
  });
}

function takesAlike(one: SweepNeed, other: SweepNeed): boolean {
  return areAlike(one.workUnits, other.workUnits) && areAlike(one.bytes, other.bytes);
}

function termsOf(
  { accounts }: Pick<SweepEnergy, 'accounts'>,
  { prices, stakeYield }: EnergyMarket,
  wallet: Address,
  to: Address,
  mayLend: boolean,
  rentPrice: SweepTerms['rentPrice'],
): SweepTerms {
  const moved = { from: wallet, to, contract: null, amountBaseUnits: baseUnits(LARGE_SUN) };
  const lending = {
    yields: stakeYield,
    bytes:
      accounts.bytesOf({ ...moved, resource: 'LEND_ENERGY' }) +
      accounts.bytesOf({ ...moved, resource: 'TAKE_ENERGY_BACK' }),
    step: LENDING_STEP_SUN,
  };
  return {
    prices,
    topUpBytes: accounts.bytesOf(moved),
    lending: mayLend ? lending : undefined,
    rentPrice,
  };
}

/** undefined for an address that no node can read, which waits. */
async function meansOf(
  { accounts }: SweepEnergy,
  unswept: readonly UnsweptDeposit[],
  options: ReadOptions,
): Promise<readonly (SweepMeans | undefined)[]> {
  const all: (SweepMeans | undefined)[] = [];
  for (let from = 0; from < unswept.length; from += AT_ONCE) {
    const part = unswept.slice(from, from + AT_ONCE);
    const read = part.map(([, { address }]) => tryRead(accounts.means(address, options), options.signal));
    all.push(...(await Promise.all(read)));
  }
  return all;
}

async function quotesFor(
  { seller }: SweepEnergy,
  unswept: readonly UnsweptDeposit[],
  needs: readonly BothEstimates<SweepNeed>[],
  means: readonly (SweepMeans | undefined)[],
  { signal = new AbortController().signal }: ReadOptions,
): Promise<ReadonlyMap<bigint, bigint>> {
  const quotes = new Map<bigint, bigint>();
  const asked = new Set<bigint>();
  const missing = unswept.flatMap(([, { address }], place) => {
    const [need, at] = [needs[place], means[place]];
    if (at === undefined) return [];
    return [need?.cold, need?.hot].flatMap((one) =>
      typeof one === 'object' ? [{ address, units: missingUnits(one, at) }] : [],
    );
  });
  for (const { address, units } of missing) {
    if (seller === undefined || units === 0n || asked.has(units) || asked.size >= QUOTES_MAX) continue;
    asked.add(units);
    const quote = await seller.quote(units, address, signal);
    if (quote !== undefined) quotes.set(units, quote.priceSun);
    // A seller that does not answer would not answer the next request either.
    else break;
  }
  return quotes;
}
