import type { Address } from '@opentill/chain/address-codec';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import { baseUnits } from '@opentill/domain/money';
import type { SweepOption, UnsweptAsset } from '@opentill/domain/plan-sweeps';
import type { SweepChain } from './sweep-chain.ts';
import type { LyingAsset } from './sweep-facts.ts';

/** Prices move between the plan, the top-up and the sweep; what is not used of it is there the next time. */
const MARGIN_PERCENT = 120n;
/** Addresses asked for their coin at once. */
const AT_ONCE = 8;

/** A cost with what prices may rise by until it is paid. */
export function withFeeMargin(costBaseUnits: bigint): bigint {
  return (costBaseUnits * MARGIN_PERCENT) / 100n;
}

/**
 * How each asset can be swept, and what that costs at most. Native coin that lies there already pays first. Of native coin
 * itself no more is swept than the address has on the chain, and its fee stays behind. What the chain would refuse (a token
 * that is paused, a blocked address) has no options, and waits.
 */
export async function priceSweeps(
  { chain, wallet, coldAddress }: { chain: SweepChain; wallet: Address; coldAddress: Address },
  lying: readonly (readonly [UnsweptAsset, LyingAsset])[],
  options: ReadOptions,
): Promise<readonly (readonly [UnsweptAsset, LyingAsset])[]> {
  const coins = await coinsAt(chain, lying, options);
  const held = lying.map(([asset, found], place) => {
    const coin = coins[place] ?? 0n;
    const most = asset.isNative && coin < asset.amountBaseUnits ? baseUnits(coin) : asset.amountBaseUnits;
    return [{ ...asset, amountBaseUnits: most }, found] as const;
  });
  const costs = await chain.costsOf(
    held.map(([{ amountBaseUnits }, found]) => ({
      from: found.address,
      to: coldAddress,
      contract: found.contract,
      amountBaseUnits,
    })),
    options,
  );
  const missing = costs.map((cost, place) => {
    if (cost === undefined || held[place]?.[0].isNative === true) return 0n;
    const short = withFeeMargin(cost) - (coins[place] ?? 0n);
    return short > 0n ? short : 0n;
  });
  const topUps = held.flatMap(([, found], place) => {
    const amountBaseUnits = missing[place] ?? 0n;
    return amountBaseUnits === 0n ? [] : [{ place, intent: topUpOf(wallet, found.address, amountBaseUnits) }];
  });
  const topUpCosts = await chain.costsOf(
    topUps.map(({ intent }) => intent),
    options,
  );
  const costOfTopUp = new Map(topUps.map(({ place }, i) => [place, topUpCosts[i]] as const));
  return held.map(([asset, found], place) => {
    const way = wayOf(asset, costs[place], missing[place] ?? 0n, costOfTopUp.get(place));
    return [{ ...asset, options: way === undefined ? [] : [way] }, found] as const;
  });
}

function wayOf(
  asset: UnsweptAsset,
  cost: bigint | undefined,
  missing: bigint,
  costOfTopUp: bigint | undefined,
): SweepOption | undefined {
  if (cost === undefined) return undefined;
  if (asset.isNative) return { method: 'FREE', costBaseUnits: withFeeMargin(cost), topUpBaseUnits: 0n };
  if (missing === 0n) return { method: 'FREE', costBaseUnits: cost, topUpBaseUnits: 0n };
  if (costOfTopUp === undefined) return undefined;
  return { method: 'TOP_UP', costBaseUnits: cost + costOfTopUp, topUpBaseUnits: missing };
}

function topUpOf(from: Address, to: Address, amountBaseUnits: bigint) {
  return { from, to, contract: null, amountBaseUnits: baseUnits(amountBaseUnits) };
}

async function coinsAt(
  chain: SweepChain,
  lying: readonly (readonly [UnsweptAsset, LyingAsset])[],
  options: ReadOptions,
): Promise<readonly bigint[]> {
  const coins: bigint[] = [];
  for (let from = 0; from < lying.length; from += AT_ONCE) {
    const part = lying.slice(from, from + AT_ONCE);
    coins.push(...(await Promise.all(part.map(([, { address }]) => chain.coinAt(address, options)))));
  }
  return coins;
}
