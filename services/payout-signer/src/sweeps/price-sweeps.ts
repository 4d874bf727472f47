import type { Address } from '@opentill/chain/address-codec';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import { baseUnits } from '@opentill/domain/money';
import type { SweepOption, SweepOptions, UnsweptAsset } from '@opentill/domain/plan-sweeps';
import { withFeeMargin } from '@opentill/domain/fee-margin';
import { tryRead } from '../wallet/try-read.ts';
import {
  areAlike,
  estimateBothDestinations,
  type Answer,
  type BothEstimates,
  type UnsweptDeposit,
  type SweepTargets,
} from './estimate-both-destinations.ts';
import { priceByEnergy, type EnergyRules } from './price-energy.ts';
import type { SweepChain } from './sweep-chain.ts';

const AT_ONCE = 8;

/**
 * Coin at the address pays first. An asset that the chain would reject (paused token, blocked address) has an obstacle
 * instead of options. It waits, and no fee is brought for it.
 */
export async function priceSweeps(
  deps: PricingDeps,
  unswept: readonly UnsweptDeposit[],
  options: ReadOptions,
): Promise<readonly UnsweptDeposit[]> {
  const { energy } = deps.chain;
  if (energy === undefined) return priceByCoin(deps, unswept, options);
  const [coin, tokens] = [true, false].map((isNative) =>
    unswept.filter(([asset]) => asset.isNative === isNative),
  );
  return [
    ...(await priceByCoin(deps, coin ?? [], options)),
    ...(await priceByEnergy({ ...deps, energy }, tokens ?? [], options)),
  ];
}

interface PricingDeps extends SweepTargets {
  readonly chain: SweepChain;
  readonly rules: EnergyRules;
}

async function priceByCoin(
  deps: PricingDeps,
  unswept: readonly UnsweptDeposit[],
  options: ReadOptions,
): Promise<readonly UnsweptDeposit[]> {
  const { chain } = deps;
  const coins = await coinsAt(chain, unswept, options);
  const all = unswept.map(([asset, found], place) => {
    const coin = coins[place];
    return [asset.isNative && coin !== undefined ? within(asset, coin) : asset, found] as const;
  });
  const { held, costs } = await askWholeOrPart(deps, all, options);
  const missing = (cost: Answer<bigint>, place: number) => {
    const coin = coins[place];
    if (coin === undefined || typeof cost !== 'bigint' || held[place]?.[0].isNative === true) return 0n;
    const short = withFeeMargin(cost) - coin;
    return short > 0n ? short : 0n;
  };
  const topUpCosts = await costsOfTopUps(
    deps,
    held.map(([, { address }], place) => {
      const { cold, hot } = costs[place] ?? { cold: undefined };
      const [one, other] = [missing(cold, place), missing(hot, place)];
      return { address, amountBaseUnits: one > other ? one : other };
    }),
    options,
  );
  const sponsored = chain.sponsorship === undefined ? {} : { isSponsored: true as const };
  return held.map(([asset, found], place) => {
    const waysFor = (cost: Answer<bigint>): SweepOptions => {
      const known = coins[place] === undefined ? undefined : cost;
      if (typeof known === 'string') return { options: [], obstacle: known };
      const way = wayOf(asset, known, missing(cost, place), topUpCosts.get(place));
      return { options: way === undefined ? [] : [{ ...way, ...sponsored }] };
    };
    const both = costs[place] ?? { cold: undefined };
    const toHot = 'hot' in both ? { toHot: waysFor(both.hot) } : {};
    return [{ ...asset, ...waysFor(both.cold), ...toHot }, found] as const;
  });
}

function within(asset: UnsweptAsset, most: bigint): UnsweptAsset {
  return most < asset.amountBaseUnits ? { ...asset, amountBaseUnits: baseUnits(most) } : asset;
}

/** If the chain rejects the whole as too many pieces, prices as much as one payment takes. */
async function askWholeOrPart(
  deps: PricingDeps,
  all: readonly UnsweptDeposit[],
  options: ReadOptions,
): Promise<{ readonly held: readonly UnsweptDeposit[]; readonly costs: readonly BothEstimates<bigint>[] }> {
  const { chain } = deps;
  const ask = (some: readonly UnsweptDeposit[]) =>
    estimateBothDestinations((intents) => chain.costsOf(intents, options), some, deps, areAlike);
  const [held, costs] = [[...all], [...(await ask(all))]];
  const parts: { readonly place: number; readonly part: UnsweptDeposit }[] = [];
  for (const [place, [asset, found]] of all.entries()) {
    if (chain.sponsorship === undefined || costs[place]?.cold !== 'WOULD_FAIL') continue;
    const read = chain.sponsorship.mostAtOnce(found.address, found.contract, options);
    const most = (await tryRead(read, options.signal)) ?? 0n;
    const part = within(asset, most);
    if (most > 0n && part !== asset) parts.push({ place, part: [part, found] });
  }
  const costsOfParts = parts.length === 0 ? [] : await ask(parts.map(({ part }) => part));
  for (const [i, { place, part }] of parts.entries()) {
    held[place] = part;
    costs[place] = costsOfParts[i] ?? { cold: undefined };
  }
  return { held, costs };
}

async function costsOfTopUps(
  { chain, wallet }: Pick<PricingDeps, 'chain' | 'wallet'>,
  needed: readonly { readonly address: Address; readonly amountBaseUnits: bigint }[],
  options: ReadOptions,
): Promise<ReadonlyMap<number, Answer<bigint>>> {
  const topUps = needed.flatMap(({ address, amountBaseUnits }, place) =>
    amountBaseUnits === 0n ? [] : [{ place, intent: topUpOf(wallet, address, amountBaseUnits) }],
  );
  const costs = await chain.costsOf(
    topUps.map(({ intent }) => intent),
    options,
  );
  return new Map(topUps.map(({ place }, i) => [place, costs[i]]));
}

function wayOf(
  asset: UnsweptAsset,
  cost: bigint | undefined,
  missing: bigint,
  costOfTopUp: Answer<bigint>,
): SweepOption | undefined {
  if (cost === undefined) return undefined;
  if (asset.isNative) return { method: 'FREE', costBaseUnits: withFeeMargin(cost), topUpBaseUnits: 0n };
  if (missing === 0n) return { method: 'FREE', costBaseUnits: cost, topUpBaseUnits: 0n };
  if (typeof costOfTopUp !== 'bigint') return undefined;
  return { method: 'TOP_UP', costBaseUnits: cost + costOfTopUp, topUpBaseUnits: missing };
}

function topUpOf(from: Address, to: Address, amountBaseUnits: bigint) {
  return { from, to, contract: null, amountBaseUnits: baseUnits(amountBaseUnits) };
}

/** undefined for an address that no node can read. It waits, and the others are planned. */
async function coinsAt(
  chain: SweepChain,
  unswept: readonly UnsweptDeposit[],
  options: ReadOptions,
): Promise<readonly (bigint | undefined)[]> {
  const coins: (bigint | undefined)[] = [];
  for (let from = 0; from < unswept.length; from += AT_ONCE) {
    const part = unswept.slice(from, from + AT_ONCE);
    const read = part.map(([, { address }]) => tryRead(chain.coinAt(address, options), options.signal));
    coins.push(...(await Promise.all(read)));
  }
  return coins;
}
