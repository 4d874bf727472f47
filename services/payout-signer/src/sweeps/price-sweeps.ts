import type { Address } from '@opentill/chain/address-codec';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import { baseUnits } from '@opentill/domain/money';
import type { SweepOption, SweepWays, UnsweptAsset } from '@opentill/domain/plan-sweeps';
import { withFeeMargin } from '@opentill/domain/fee-margin';
import { areAlike, askBothWays, type Answer, type Lying, type SweepTargets } from './ask-both-ways.ts';
import { priceByEnergy, type EnergyRules } from './price-energy.ts';
import { readOrNothing } from '../read-or-nothing.ts';
import type { SweepChain } from './sweep-chain.ts';

/** Addresses asked for their coin at once. */
const AT_ONCE = 8;

/**
 * How each asset can be swept, where it goes, and what that costs at most. Native coin that lies there already pays first. Of native coin
 * itself no more is swept than the address has on the chain, and its fee stays behind, where it is the address that pays it. What the chain would refuse (a token
 * that is paused, a blocked address) has no options but an obstacle, and waits: no fee is brought for it.
 */
export async function priceSweeps(
  deps: PricingDeps,
  lying: readonly Lying[],
  options: ReadOptions,
): Promise<readonly Lying[]> {
  const { energy } = deps.chain;
  if (energy === undefined) return priceByCoin(deps, lying, options);
  const [coin, tokens] = [true, false].map((isNative) =>
    lying.filter(([asset]) => asset.isNative === isNative),
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
  lying: readonly Lying[],
  options: ReadOptions,
): Promise<readonly Lying[]> {
  const { chain } = deps;
  const coins = await coinsAt(chain, lying, options);
  const held = lying.map(([asset, found], place) => {
    const coin = coins[place];
    if (coin === undefined) return [asset, found] as const;
    const most = asset.isNative && coin < asset.amountBaseUnits ? baseUnits(coin) : asset.amountBaseUnits;
    return [{ ...asset, amountBaseUnits: most }, found] as const;
  });
  const costs = await askBothWays((intents) => chain.costsOf(intents, options), held, deps, areAlike);
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
  const sponsored = chain.isSponsoring === undefined ? {} : { isSponsored: chain.isSponsoring };
  return held.map(([asset, found], place) => {
    const waysFor = (cost: Answer<bigint>): SweepWays => {
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

/** What bringing each amount costs, by place; nothing is asked where nothing has to be brought. */
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

/** Of one that nobody could read nothing, and it waits: the others are planned. */
async function coinsAt(
  chain: SweepChain,
  lying: readonly Lying[],
  options: ReadOptions,
): Promise<readonly (bigint | undefined)[]> {
  const coins: (bigint | undefined)[] = [];
  for (let from = 0; from < lying.length; from += AT_ONCE) {
    const part = lying.slice(from, from + AT_ONCE);
    const read = part.map(([, { address }]) => readOrNothing(chain.coinAt(address, options), options.signal));
    coins.push(...(await Promise.all(read)));
  }
  return coins;
}
