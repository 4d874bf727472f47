import { withFeeMargin } from '@opentill/domain/fee-margin';
import {
  fitsFloat,
  planSweeps,
  type HotAsset,
  type SweepPlan,
  type UnsweptAsset,
} from '@opentill/domain/plan-sweeps';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { SweepPlanJson } from '@opentill/db/sweep-tables';
import type { SweepPolicy } from '@opentill/wallet/policy/policy';
import { assetsOf, type KnownAsset } from './known-assets.ts';
import { waitsForWallet } from './next-step.ts';
import type { BeginningDeps } from './planner-deps.ts';
import { energyFacts, energyRules } from './energy-facts.ts';
import { priceSweeps } from './price-sweeps.ts';
import { knownFacts } from './step-facts.ts';
import type { DepositAsset, SweepBooks } from './store/sweep-facts.ts';

export async function drawPlan(
  deps: Omit<BeginningDeps, 'store' | 'observe' | 'onMovement'>,
  books: SweepBooks,
  signal: AbortSignal,
): Promise<DrawnPlan> {
  const { network, codec, policy, wallet, chain } = deps;
  const options = { signal };
  const assets = assetsOf(network, codec);
  const { ours, others } = sortOut(deps, books.page.deposits, assets);
  const facts = {
    rules: rulesOf(network, policy.sweep),
    nowMs: books.now.getTime(),
    gasPrice: undefined as bigint | undefined,
    budgetBaseUnits: policy.sweep.maxNativePerDayBaseUnits - books.spentLastDay,
    gasHeldBaseUnits: 0n,
    ...placesOf(books, deps),
    hot: assets.map((asset) => hotOf(deps, books, asset)),
    heldSymbols: books.heldSymbols,
    stopReason: books.stopReason,
    isRun: books.requests.length > 0,
    isWalletHalted: books.haltedWallets.has(wallet),
    ...(books.requestedAt === null ? {} : { runAtMs: books.requestedAt.getTime() }),
  };
  const addOthers = (plan: SweepPlan) => ({ ...plan, waiting: [...plan.waiting, ...others] });
  const bare = new Map(ours.map((one) => [unpriced(one, assets), one] as const));
  // An asset that waits for another reason than its price needs no price.
  const first = planSweeps({ ...facts, unswept: [...bare.keys()] });
  const open = new Set(
    first.waiting.filter(({ reason }) => reason === 'PRICE_UNKNOWN').map(({ asset }) => asset),
  );
  // In page order, in which the next round continues.
  const unknown = [...bare.keys()].filter((asset) => open.has(asset));
  const worthPricing = unknown.slice(0, 2 * policy.sweep.batchSize);
  const excess = facts.hot.filter(
    ({ heldBaseUnits, floatBaseUnits }) => heldBaseUnits > (floatBaseUnits ?? heldBaseUnits),
  );
  const { budgetBaseUnits } = facts;
  if (worthPricing.length === 0 && excess.length === 0)
    return { plan: addOthers(first), deposits: bare, keeps: new Set(), gasPrice: undefined, budgetBaseUnits };
  const gasPrice = await chain.gasPrice(options);
  const leftOfTopUps = policy.sweep.maxNativePerDayBaseUnits - books.toppedUpLastDay;
  const spare = (await chain.coinAt(wallet, options)) - books.toppingUp - deps.gasReserveBaseUnits;
  const deposits = new Map(
    await priceSweeps(
      pricingOf(deps, books, facts),
      worthPricing.flatMap((asset) => {
        const found = bare.get(asset);
        return found === undefined ? [] : [[asset, found] as const];
      }),
      options,
    ),
  );
  const priced = new Set(worthPricing);
  for (const [asset, found] of bare) if (!priced.has(asset)) deposits.set(asset, found);
  const plan = planSweeps({
    ...facts,
    ...(await energyFacts(deps, books, [...deposits.keys()], options)),
    gasPrice,
    gasHeldBaseUnits: spare < leftOfTopUps ? spare : leftOfTopUps,
    hot: await priceHot(deps, facts.hot, books, options),
    unswept: [...deposits.keys()],
  });
  const turns = [
    ...unknown.slice(worthPricing.length),
    ...plan.begin.map(({ asset }) => asset),
    ...plan.waiting.filter(({ reason }) => reason === 'BATCH_FULL').map(({ asset }) => asset),
  ];
  const keeps = new Set(turns.flatMap((asset) => deposits.get(asset) ?? []));
  return { plan: addOthers(plan), deposits, keeps, gasPrice, budgetBaseUnits };
}

function sortOut(
  { isDepositAddress }: Pick<BeginningDeps, 'isDepositAddress'>,
  deposits: readonly DepositAsset[],
  assets: readonly KnownAsset[],
): { readonly ours: readonly DepositAsset[]; readonly others: SweepPlan['waiting'] } {
  const ours: DepositAsset[] = [];
  const others: SweepPlan['waiting'][number][] = [];
  for (const one of deposits) {
    const known = assets.find(({ symbol }) => symbol === one.symbol);
    if (known?.contract !== one.contract)
      others.push({ asset: unpriced(one, assets), reason: 'NOT_CONFIGURED' });
    else if (!isDepositAddress(one.address, one.depositIndex))
      others.push({ asset: unpriced(one, assets), reason: 'UNKNOWN_ADDRESS' });
    else ours.push(one);
  }
  return { ours, others };
}

/** A halt may last for days. A sweep that waits for it takes no place in the batch. */
function placesOf(books: SweepBooks, deps: Parameters<typeof knownFacts>[0]) {
  const { open, haltedWallets } = books;
  const waiting = haltedWallets.has(deps.wallet)
    ? open.filter((sweep) => waitsForWallet(knownFacts(deps, sweep, books)))
    : [];
  return {
    busyAddresses: new Set<string>(open.map(({ address }) => address)),
    addressesWithoutPlace: new Set<string>(waiting.map(({ address }) => address)),
  };
}

function pricingOf(
  deps: Pick<BeginningDeps, 'chain' | 'wallet' | 'policy'>,
  books: SweepBooks,
  facts: { readonly hot: readonly HotAsset[] },
): Parameters<typeof priceSweeps>[0] {
  const { chain, wallet, policy } = deps;
  return {
    chain,
    wallet,
    coldAddress: policy.coldAddress,
    rules: energyRules(deps, books),
    mayGoHot: (asset) => fitsFloat(facts, asset, asset.amountBaseUnits),
  };
}

export interface DrawnPlan {
  readonly plan: SweepPlan;
  readonly deposits: ReadonlyMap<UnsweptAsset, DepositAsset>;
  /** Assets that begin now, or are next in turn. */
  readonly keeps: ReadonlySet<DepositAsset>;
  readonly gasPrice: bigint | undefined;
  readonly budgetBaseUnits: bigint;
}

function unpriced(one: DepositAsset, assets: readonly KnownAsset[]): UnsweptAsset {
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
  {
    network,
    codec,
    chain,
    wallet,
    policy,
  }: Pick<BeginningDeps, 'network' | 'codec' | 'chain' | 'wallet' | 'policy'>,
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
    const [cost] = await chain.costsOf([intent], options);
    priced.push({ ...asset, toColdCostBaseUnits: typeof cost === 'bigint' ? cost : undefined });
  }
  return priced;
}

function hotOf(
  { policy }: Pick<BeginningDeps, 'policy'>,
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
  return {
    ...sweep,
    nativeDecimals,
    maxGasPrice: sweep.maxGasPriceBaseUnits,
    maxRentBaseUnits: sweep.maxRentPerOrderBaseUnits,
  };
}

/** Costs include the margin that may be signed. */
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
      cost: withFeeMargin(option.costBaseUnits).toString(),
      topUp: option.topUpBaseUnits.toString(),
      destination,
    })),
    toCold: plan.toCold.map(({ symbol, amountBaseUnits, costBaseUnits }) => ({
      symbol,
      amount: amountBaseUnits.toString(),
      cost: withFeeMargin(costBaseUnits).toString(),
    })),
    waiting,
  };
}
