import { planSweeps, type HotAsset, type SweepPlan, type UnsweptAsset } from '@opentill/domain/plan-sweeps';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { SweepPlanJson } from '@opentill/db/sweep-tables';
import type { SweepPolicy } from '@opentill/wallet/policy/policy';
import { assetsOf, type KnownAsset } from './known-assets.ts';
import type { PlannerDeps } from './planner-deps.ts';
import { priceSweeps } from './price-sweeps.ts';
import type { LyingAsset, SweepBooks } from './sweep-facts.ts';

/** The plan of this moment; also what an operator is shown. Writes nothing. */
export async function drawPlan(
  deps: Omit<PlannerDeps, 'store' | 'observe' | 'onMovement'>,
  books: SweepBooks,
  signal: AbortSignal,
): Promise<DrawnPlan> {
  const { network, codec, policy, wallet, chain } = deps;
  const options = { signal };
  const assets = assetsOf(network, codec);
  const ours = books.lying.filter(({ address, depositIndex, symbol, contract }) => {
    const known = assets.find((asset) => asset.symbol === symbol);
    return known?.contract === contract && deps.isDepositAddress(address, depositIndex);
  });
  const facts = {
    rules: rulesOf(network, policy.sweep),
    nowMs: books.now.getTime(),
    gasPrice: undefined as bigint | undefined,
    budgetBaseUnits: policy.sweep.maxNativePerDayBaseUnits - books.spentLastDay,
    gasHeldBaseUnits: 0n,
    busyAddresses: new Set<string>(books.open.map(({ address }) => address)),
    hot: assets.map((asset) => hotOf(deps, books, asset)),
    heldSymbols: books.heldSymbols,
    stoppedBy: books.stoppedBy,
    isRun: books.requests.length > 0,
  };
  const bare = new Map(ours.map((one) => [unpriced(one, assets), one] as const));
  // What waits for something else than a price need not be priced.
  const first = planSweeps({ ...facts, unswept: [...bare.keys()] });
  const worthPricing = first.waiting
    .filter(({ reason }) => reason === 'PRICE_UNKNOWN')
    .map(({ asset }) => asset);
  const excess = facts.hot.filter(
    ({ heldBaseUnits, floatBaseUnits }) => heldBaseUnits > (floatBaseUnits ?? heldBaseUnits),
  );
  const { budgetBaseUnits } = facts;
  if (worthPricing.length === 0 && excess.length === 0)
    return { plan: first, lying: bare, gasPrice: undefined, budgetBaseUnits };
  const gasPrice = await chain.gasPrice(options);
  const coin = await chain.coinAt(wallet, options);
  const leftOfTopUps = policy.sweep.maxNativePerDayBaseUnits - books.toppedUpLastDay;
  const spare = coin - books.toppingUp - deps.gasReserveBaseUnits;
  const lying = new Map(
    await priceSweeps(
      { chain, wallet, coldAddress: policy.coldAddress },
      worthPricing.slice(0, 2 * policy.sweep.batchSize).flatMap((asset) => {
        const found = bare.get(asset);
        return found === undefined ? [] : [[asset, found] as const];
      }),
      options,
    ),
  );
  const rest = [...bare].filter(
    ([asset]) => !worthPricing.slice(0, 2 * policy.sweep.batchSize).includes(asset),
  );
  for (const [asset, found] of rest) lying.set(asset, found);
  const plan = planSweeps({
    ...facts,
    gasPrice,
    gasHeldBaseUnits: spare < leftOfTopUps ? spare : leftOfTopUps,
    hot: await priceHot(deps, facts.hot, books, options),
    unswept: [...lying.keys()],
  });
  return { plan, lying, gasPrice, budgetBaseUnits };
}

/** A plan, and what it was drawn from. */
export interface DrawnPlan {
  readonly plan: SweepPlan;
  readonly lying: ReadonlyMap<UnsweptAsset, LyingAsset>;
  /** Undefined where nobody had to ask. */
  readonly gasPrice: bigint | undefined;
  readonly budgetBaseUnits: bigint;
}

function unpriced(one: LyingAsset, assets: readonly KnownAsset[]): UnsweptAsset {
  return {
    address: one.address,
    symbol: one.symbol,
    decimals: assets.find(({ symbol }) => symbol === one.symbol)?.decimals ?? 0,
    isNative: one.contract === null,
    amountBaseUnits: one.amountBaseUnits,
    sinceMs: one.since.getTime(),
    options: [],
  };
}

async function priceHot(
  { network, codec, chain, wallet, policy }: Omit<PlannerDeps, 'store' | 'observe' | 'onMovement'>,
  hot: readonly HotAsset[],
  { goingCold }: SweepBooks,
  options: { readonly signal: AbortSignal },
): Promise<readonly HotAsset[]> {
  const assets = assetsOf(network, codec);
  const priced: HotAsset[] = [];
  for (const asset of hot) {
    const { symbol, heldBaseUnits, floatBaseUnits } = asset;
    const known = assets.find((one) => one.symbol === symbol);
    const isDue = floatBaseUnits !== undefined && heldBaseUnits > floatBaseUnits && !goingCold.has(symbol);
    if (!isDue || known === undefined) {
      priced.push(asset);
      continue;
    }
    const amountBaseUnits = (heldBaseUnits - floatBaseUnits) as UnsweptAsset['amountBaseUnits'];
    const intent = { from: wallet, to: policy.coldAddress, contract: known.contract, amountBaseUnits };
    const [toColdCostBaseUnits] = await chain.costsOf([intent], options);
    priced.push({ ...asset, toColdCostBaseUnits });
  }
  return priced;
}

function hotOf(
  { policy }: Pick<PlannerDeps, 'policy'>,
  books: SweepBooks,
  { symbol, decimals, contract }: KnownAsset,
): HotAsset {
  const asset = policy.assets.get(symbol);
  return {
    symbol,
    decimals,
    isNative: contract === null,
    heldBaseUnits: books.hot.get(symbol) ?? 0n,
    floatBaseUnits: asset?.floatBaseUnits,
    minAmountBaseUnits: asset?.sweepMinBaseUnits ?? 0n,
    toColdCostBaseUnits: undefined,
  };
}

function rulesOf({ nativeDecimals }: NetworkConfig, sweep: SweepPolicy) {
  return { ...sweep, nativeDecimals, maxGasPrice: sweep.maxGasPriceBaseUnits };
}

/** A plan as operators are shown it. */
export function showPlan(
  plan: SweepPlan,
  gasPrice: bigint | undefined,
  budgetBaseUnits: bigint,
): SweepPlanJson {
  const waiting: Record<string, number> = {};
  for (const { reason } of plan.waiting) waiting[reason] = (waiting[reason] ?? 0) + 1;
  return {
    gasPrice: gasPrice?.toString() ?? null,
    budgetLeft: budgetBaseUnits.toString(),
    begin: plan.begin.map(({ asset, option, amountBaseUnits, destination }) => ({
      address: asset.address,
      symbol: asset.symbol,
      amount: amountBaseUnits.toString(),
      method: option.method,
      cost: option.costBaseUnits.toString(),
      destination,
    })),
    toCold: plan.toCold.map(({ symbol, amountBaseUnits }) => ({
      symbol,
      amount: amountBaseUnits.toString(),
    })),
    waiting,
  };
}
