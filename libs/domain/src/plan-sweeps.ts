import type { BaseUnits } from './money.ts';

/*
 * Which deposit addresses are emptied now, how the fee of each is paid, and what the hot wallet gives away. Pure: the same
 * facts have the same plan, so an operator may be shown what a planner would do, and a crash between two steps is harmless.
 */

/** How the fee of a sweep is paid: see the table `sweep`. */
export type SweepMethod = 'FREE' | 'STAKE' | 'RENT' | 'TOP_UP';

/** The bounds of one chain, as the sealed policy says them. */
export interface SweepRules {
  /** What native coin is worth, to hold costs against values: `units` display units of a token for 10^`scale` coins. */
  readonly nativePrice: { readonly units: bigint; readonly scale: number };
  readonly nativeDecimals: number;
  /** The most that a sweep may cost of what it moves, in hundredths of a percent. */
  readonly maxCostBps: number;
  /** The most that a unit of gas (EVM: wei) or energy (TRON: sun) may cost; undefined: any. */
  readonly maxGasPrice: bigint | undefined;
  /** Money younger than this waits, so that several payments leave together. */
  readonly minAgeMs: number;
  /** Money older than this is swept although it is less than the minimum, where its cost allows it. */
  readonly maxAgeMs: number;
  /** Sweeps under way at once. */
  readonly batchSize: number;
  /** The most that one top-up may bring, in base units of the native coin. */
  readonly maxTopUpBaseUnits: bigint;
}

/** One way to sweep an address, with what it takes of the native coin, in base units. */
export interface SweepOption {
  readonly method: SweepMethod;
  /** All that is lost: fees, activation, rent. */
  readonly costBaseUnits: bigint;
  /** What the hot wallet has to send there before. */
  readonly topUpBaseUnits: bigint;
}

/** What lies on a deposit address of one asset, free to be swept. */
export interface UnsweptAsset {
  readonly address: string;
  readonly symbol: string;
  readonly decimals: number;
  /** Whether it is the native coin itself. */
  readonly isNative: boolean;
  readonly amountBaseUnits: BaseUnits;
  /** Milliseconds since 1970: when the oldest of it may have come. */
  readonly sinceMs: number;
  /** Empty while nobody knows the price, or the chain would refuse every one. */
  readonly options: readonly SweepOption[];
}

/** The hot wallet's side of one asset. */
export interface HotAsset {
  readonly symbol: string;
  readonly decimals: number;
  readonly isNative: boolean;
  /** Free, and what is on its way there by sweeps; without what is promised to payouts. */
  readonly heldBaseUnits: bigint;
  /** What it is meant to hold at most; undefined: whatever comes. Without one nothing is swept to it. */
  readonly floatBaseUnits: bigint | undefined;
  /** The least that is worth a transaction. */
  readonly minAmountBaseUnits: bigint;
  /** What a transfer to cold storage costs, in the native coin; undefined while nobody knows, or one is under way. */
  readonly toColdCostBaseUnits: bigint | undefined;
}

export interface SweepFacts {
  readonly rules: SweepRules;
  readonly nowMs: number;
  /** Of the chain now; undefined while nobody knows. */
  readonly gasPrice: bigint | undefined;
  /** What is left of the day's budget, in base units of the native coin: open sweeps are counted already. */
  readonly budgetBaseUnits: bigint;
  /** What the hot wallet has of the native coin for fees, less what open top-ups will take. */
  readonly gasHeldBaseUnits: bigint;
  readonly unswept: readonly UnsweptAsset[];
  /** Addresses with a sweep that has not ended. */
  readonly busyAddresses: ReadonlySet<string>;
  readonly hot: readonly HotAsset[];
  /** Symbols that are held back: no money of theirs moves. */
  readonly heldSymbols: ReadonlySet<string>;
  /** Whether something stops the chain: an operator's pause, a halt. */
  readonly stoppedBy: 'PAUSED' | 'CHAIN_HALTED' | undefined;
  /** An operator asked for a run: age is not waited for. */
  readonly isRun: boolean;
}

/** Why an asset stays where it is for now. */
export const SWEEP_DELAYS = [
  'PAUSED',
  'CHAIN_HALTED',
  'ASSET_HELD',
  'ADDRESS_BUSY',
  'TOO_YOUNG',
  'TOO_SMALL',
  'PRICE_UNKNOWN',
  'GAS_PRICE',
  'COST_SHARE',
  'TOP_UP_TOO_LARGE',
  'BUDGET',
  'NO_GAS_MONEY',
  'BATCH_FULL',
] as const;
export type SweepDelay = (typeof SWEEP_DELAYS)[number];

export interface PlannedSweep {
  readonly asset: UnsweptAsset;
  readonly option: SweepOption;
  /** What is moved: all of it, of the native coin less its own fee. */
  readonly amountBaseUnits: bigint;
  readonly destination: 'COLD' | 'HOT';
}

export interface SweepPlan {
  /** Oldest money first. */
  readonly begin: readonly PlannedSweep[];
  readonly waiting: readonly { readonly asset: UnsweptAsset; readonly reason: SweepDelay }[];
  readonly toCold: readonly { readonly symbol: string; readonly amountBaseUnits: bigint }[];
}

const BPS = 10_000n;

/**
 * Plans one round. Never beyond the budget, the batch, the bound of cost or the float of the hot wallet, which is refilled
 * before anything goes to cold storage; of an address one asset at a time, and the oldest money first. What is too young or
 * too small waits; what is old enough waits for its cost alone.
 */
export function planSweeps(facts: SweepFacts): SweepPlan {
  const begin: PlannedSweep[] = [];
  const waiting: { asset: UnsweptAsset; reason: SweepDelay }[] = [];
  const round = {
    busy: new Set(facts.busyAddresses),
    slots: facts.rules.batchSize - facts.busyAddresses.size,
    budget: facts.budgetBaseUnits,
    gas: facts.gasHeldBaseUnits,
    held: new Map(facts.hot.map((hot) => [hot.symbol, hot.heldBaseUnits])),
  };
  for (const asset of facts.unswept.toSorted(oldestFirst)) {
    const chosen = choose(facts, asset, round);
    if (typeof chosen === 'string') {
      waiting.push({ asset, reason: chosen });
      continue;
    }
    const amountBaseUnits = movedOf(asset, chosen);
    const destination = destinationOf(facts, asset, amountBaseUnits, round.held);
    begin.push({ asset, option: chosen, amountBaseUnits, destination });
    round.busy.add(asset.address);
    round.slots -= 1;
    round.budget -= chosen.costBaseUnits;
    round.gas -= chosen.topUpBaseUnits;
    if (destination === 'HOT')
      round.held.set(asset.symbol, (round.held.get(asset.symbol) ?? 0n) + amountBaseUnits);
  }
  return { begin, waiting, toCold: facts.stoppedBy === undefined ? excessOf(facts, round.budget) : [] };
}

function oldestFirst(a: UnsweptAsset, b: UnsweptAsset): number {
  if (a.sinceMs !== b.sinceMs) return a.sinceMs - b.sinceMs;
  if (a.address !== b.address) return a.address < b.address ? -1 : 1;
  return a.symbol < b.symbol ? -1 : 1;
}

interface Round {
  readonly busy: ReadonlySet<string>;
  readonly slots: number;
  readonly budget: bigint;
  readonly gas: bigint;
}

/** The cheapest way that every bound allows, or what stands in the way: what time alone mends comes last. */
function choose(facts: SweepFacts, asset: UnsweptAsset, round: Round): SweepOption | SweepDelay {
  const { rules, gasPrice } = facts;
  const standing = stopOf(facts, asset, round.busy);
  if (standing !== undefined) return standing;
  const ways = asset.options.toSorted(cheapestFirst);
  const [cheapest] = ways;
  if (cheapest === undefined || gasPrice === undefined) return 'PRICE_UNKNOWN';
  if (rules.maxGasPrice !== undefined && gasPrice > rules.maxGasPrice) return 'GAS_PRICE';
  const worthIt = ways.filter((way) => isWorthIt(rules, asset, way.costBaseUnits));
  if (worthIt.length === 0) return 'COST_SHARE';
  const allowed = worthIt.filter((way) => way.topUpBaseUnits <= rules.maxTopUpBaseUnits);
  if (allowed.length === 0) return 'TOP_UP_TOO_LARGE';
  const payable = allowed.filter((way) => way.costBaseUnits <= round.budget);
  if (payable.length === 0) return 'BUDGET';
  const funded = payable.find((way) => way.topUpBaseUnits <= round.gas);
  if (funded === undefined) return 'NO_GAS_MONEY';
  return round.slots > 0 ? funded : 'BATCH_FULL';
}

/** What stops it whatever it costs. */
function stopOf(facts: SweepFacts, asset: UnsweptAsset, busy: ReadonlySet<string>): SweepDelay | undefined {
  const { rules, nowMs } = facts;
  if (facts.stoppedBy !== undefined) return facts.stoppedBy;
  if (facts.heldSymbols.has(asset.symbol)) return 'ASSET_HELD';
  if (busy.has(asset.address)) return 'ADDRESS_BUSY';
  const ageMs = nowMs - asset.sinceMs;
  if (ageMs < rules.minAgeMs && !facts.isRun) return 'TOO_YOUNG';
  const minimum = facts.hot.find(({ symbol }) => symbol === asset.symbol)?.minAmountBaseUnits ?? 0n;
  return asset.amountBaseUnits < minimum && ageMs < rules.maxAgeMs ? 'TOO_SMALL' : undefined;
}

/** Of ways that cost the same the one that needs the least coin on its way; then by name, so that it is always the same. */
function cheapestFirst(a: SweepOption, b: SweepOption): number {
  if (a.costBaseUnits !== b.costBaseUnits) return a.costBaseUnits < b.costBaseUnits ? -1 : 1;
  if (a.topUpBaseUnits !== b.topUpBaseUnits) return a.topUpBaseUnits < b.topUpBaseUnits ? -1 : 1;
  return a.method < b.method ? -1 : 1;
}

type Worth = Pick<UnsweptAsset, 'isNative' | 'decimals' | 'amountBaseUnits'>;

/** Whether it costs no more of its value than the rules allow. */
function isWorthIt(rules: SweepRules, asset: Worth, costBaseUnits: bigint): boolean {
  if (asset.isNative && costBaseUnits >= asset.amountBaseUnits) return false;
  return costInAsset(rules, asset, costBaseUnits) * BPS <= asset.amountBaseUnits * BigInt(rules.maxCostBps);
}

/** A cost in base units of the asset, rounded up. */
export function costInAsset(
  rules: Pick<SweepRules, 'nativePrice' | 'nativeDecimals'>,
  { isNative, decimals }: Pick<UnsweptAsset, 'isNative' | 'decimals'>,
  costBaseUnits: bigint,
): bigint {
  if (isNative) return costBaseUnits;
  const { units, scale } = rules.nativePrice;
  const divisor = 10n ** BigInt(rules.nativeDecimals + scale);
  return (costBaseUnits * units * 10n ** BigInt(decimals) + divisor - 1n) / divisor;
}

function movedOf(asset: UnsweptAsset, option: SweepOption): bigint {
  return asset.isNative ? asset.amountBaseUnits - option.costBaseUnits : asset.amountBaseUnits;
}

/** The hot wallet first, as long as all of it fits below its float. */
function destinationOf(
  { hot }: SweepFacts,
  { symbol }: UnsweptAsset,
  amountBaseUnits: bigint,
  held: ReadonlyMap<string, bigint>,
): 'COLD' | 'HOT' {
  const float = hot.find((one) => one.symbol === symbol)?.floatBaseUnits;
  return float !== undefined && (held.get(symbol) ?? 0n) + amountBaseUnits <= float ? 'HOT' : 'COLD';
}

/** What the hot wallet holds above its float, of each asset of which that is worth its transaction. */
function excessOf({ rules, hot, heldSymbols, gasPrice }: SweepFacts, budget: bigint) {
  let left = budget;
  return hot.flatMap((asset) => {
    const { symbol, floatBaseUnits: float, heldBaseUnits: held, toColdCostBaseUnits: cost } = asset;
    if (float === undefined || cost === undefined || heldSymbols.has(symbol)) return [];
    if (gasPrice === undefined || (rules.maxGasPrice !== undefined && gasPrice > rules.maxGasPrice))
      return [];
    const amountBaseUnits = held - float;
    if (amountBaseUnits <= 0n || amountBaseUnits < asset.minAmountBaseUnits || cost > left) return [];
    if (!isWorthIt(rules, { ...asset, amountBaseUnits: amountBaseUnits as BaseUnits }, cost)) return [];
    left -= cost;
    return [{ symbol, amountBaseUnits }];
  });
}
