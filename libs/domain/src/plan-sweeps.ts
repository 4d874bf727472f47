import { divideUp } from './divide-up.ts';
import type { BaseUnits } from './money.ts';
import { withFeeMargin } from './fee-margin.ts';

// Pure: the same facts give the same plan, so operators can see it in advance, and a crash between two steps is
// harmless.

export type SweepMethod = 'FREE' | 'STAKE' | 'RENT' | 'TOP_UP';

export interface SweepRules {
  /** `units` display units of a token for 10^`scale` coins. */
  readonly nativePrice: { readonly units: bigint; readonly scale: number };
  readonly nativeDecimals: number;
  /** Cost of a sweep relative to its amount, in basis points. */
  readonly maxCostBps: number;
  /** EVM: wei per gas; TRON: sun per energy. Undefined: any. */
  readonly maxGasPrice: bigint | undefined;
  /** Younger money waits, to be swept together with later payments. */
  readonly minAgeMs: number;
  /** Older money is swept below the minimum, if its cost share permits it. */
  readonly maxAgeMs: number;
  readonly batchSize: number;
  /** Per top-up. This and the following limits are in base units of the native coin. */
  readonly maxTopUpBaseUnits: bigint;
  /** Per sweep. Absent: no energy is rented. */
  readonly maxRentBaseUnits?: bigint;
  /** Costs and top-ups. Absent: unknown. */
  readonly maxNativePerDayBaseUnits?: bigint;
  readonly maxRentPerDayBaseUnits?: bigint;
}

export interface SweepOption {
  readonly method: SweepMethod;
  /** Fees, activation and rent. */
  readonly costBaseUnits: bigint;
  /** The hot wallet has to send it to the address first. */
  readonly topUpBaseUnits: bigint;
  /** Lent by the hot wallet until the sweep has ended. Absent: none. */
  readonly stakeBaseUnits?: bigint;
  /** Part of the cost. Absent: none. */
  readonly rentBaseUnits?: bigint;
  /** The hot wallet pays the fee (SUI), so the address needs no coin for it. */
  readonly isSponsored?: true;
}

export interface SweepOptions {
  /** Empty while the price is unknown, or an obstacle exists. */
  readonly options: readonly SweepOption[];
  /** The chain would reject the transfer, or fees exceed the cap. */
  readonly obstacle?: 'WOULD_FAIL' | 'FEES_ABOVE_CAP';
}

/** One asset on a deposit address. The options lead to cold storage. */
export interface UnsweptAsset extends SweepOptions {
  readonly address: string;
  readonly symbol: string;
  readonly decimals: number;
  readonly isNative: boolean;
  readonly amountBaseUnits: BaseUnits;
  /** Earliest possible arrival of its oldest part, in milliseconds since 1970. */
  readonly sinceMs: number;
  /** May cost more if the hot wallet holds none of the token. Absent: as to cold storage. */
  readonly toHot?: SweepOptions;
}

export interface HotAsset {
  readonly symbol: string;
  readonly decimals: number;
  readonly isNative: boolean;
  /** Available balance plus running sweeps to it, without reservations for payouts. */
  readonly heldBaseUnits: bigint;
  /** Undefined: no limit, but no sweep goes to it. */
  readonly floatBaseUnits: bigint | undefined;
  readonly minAmountBaseUnits: bigint;
  /** In the native coin. Undefined while unknown, or while a transfer to cold storage runs. */
  readonly toColdCostBaseUnits: bigint | undefined;
}

export interface SweepFacts {
  readonly rules: SweepRules;
  readonly nowMs: number;
  readonly gasPrice: bigint | undefined;
  /** Rest of the day's budget, less running sweeps with their margin. */
  readonly budgetBaseUnits: bigint;
  /** For fees, less the needs of open top-ups. */
  readonly gasHeldBaseUnits: bigint;
  /** Stake of the hot wallet, less the needs of open sweeps. Absent: none. */
  readonly delegableBaseUnits?: bigint;
  /** Rest of the day's budget for rent, less open orders. Absent: no energy is rented. */
  readonly rentBudgetBaseUnits?: bigint;
  readonly unswept: readonly UnsweptAsset[];
  readonly busyAddresses: ReadonlySet<string>;
  /** Their sweep waits for a halted hot wallet and uses no place in the batch. */
  readonly addressesWithoutPlace?: ReadonlySet<string>;
  readonly hot: readonly HotAsset[];
  readonly heldSymbols: ReadonlySet<string>;
  readonly stopReason: 'PAUSED' | 'CHAIN_HALTED' | undefined;
  /** An operator requested a run: the minimum age does not apply to money older than `runAtMs` (absent: now). */
  readonly isRun: boolean;
  /** The hot wallet signs no transaction: no top-up, lending or transfer from it is planned. */
  readonly isWalletHalted?: boolean;
  readonly runAtMs?: number;
}

/** The planner never uses the last two: the network file lacks the token, or the keystore lacks the address. */
export const SWEEP_DELAYS = [
  'PAUSED',
  'CHAIN_HALTED',
  'WALLET_HALTED',
  'ASSET_HELD',
  'ADDRESS_BUSY',
  'TOO_YOUNG',
  'TOO_SMALL',
  'PRICE_UNKNOWN',
  'WOULD_FAIL',
  'GAS_PRICE',
  'COST_SHARE',
  'TOP_UP_TOO_LARGE',
  'BUDGET',
  'NO_GAS_MONEY',
  'BATCH_FULL',
  'NOT_CONFIGURED',
  'UNKNOWN_ADDRESS',
] as const;
export type SweepDelay = (typeof SWEEP_DELAYS)[number];

export interface PlannedSweep {
  readonly asset: UnsweptAsset;
  readonly option: SweepOption;
  /** The whole balance, less the fee if native coin pays it itself. */
  readonly amountBaseUnits: bigint;
  readonly destination: 'COLD' | 'HOT';
}

export interface SweepPlan {
  readonly begin: readonly PlannedSweep[];
  readonly waiting: readonly { readonly asset: UnsweptAsset; readonly reason: SweepDelay }[];
  readonly toCold: readonly {
    readonly symbol: string;
    readonly amountBaseUnits: bigint;
    readonly costBaseUnits: bigint;
  }[];
}

const BPS = 10_000n;

/**
 * - The plan stays within the budget (with a margin on each cost), the batch size, the cost limits and the float.
 * - The hot wallet is refilled before cold storage, except by money that is not worth the cost of that way.
 * - An address has one sweep at a time; the oldest money comes first.
 * - Young or small money waits. Old money waits only for its cost.
 */
export function planSweeps(facts: SweepFacts): SweepPlan {
  const { busyAddresses, addressesWithoutPlace = new Set<string>() } = facts;
  const placed = [...busyAddresses].filter((address) => !addressesWithoutPlace.has(address));
  const begin: PlannedSweep[] = [];
  const waiting: { asset: UnsweptAsset; reason: SweepDelay }[] = [];
  const round = {
    busy: new Set(busyAddresses),
    slots: facts.rules.batchSize - placed.length,
    budget: facts.budgetBaseUnits,
    gas: facts.gasHeldBaseUnits,
    delegable: facts.delegableBaseUnits ?? 0n,
    rent: facts.rentBudgetBaseUnits ?? 0n,
    held: new Map(facts.hot.map((hot) => [hot.symbol, hot.heldBaseUnits])),
  };
  for (const asset of facts.unswept.toSorted(oldestFirst)) {
    const sweep = selectDestination(facts, asset, round);
    if (typeof sweep === 'string') {
      waiting.push({ asset, reason: sweep });
      continue;
    }
    const { option, amountBaseUnits, destination } = sweep;
    begin.push(sweep);
    round.busy.add(asset.address);
    round.slots -= 1;
    round.budget -= withFeeMargin(option.costBaseUnits);
    round.gas -= option.topUpBaseUnits;
    round.delegable -= option.stakeBaseUnits ?? 0n;
    round.rent -= option.rentBaseUnits ?? 0n;
    if (destination === 'HOT')
      round.held.set(asset.symbol, (round.held.get(asset.symbol) ?? 0n) + amountBaseUnits);
  }
  const mayTakeOut = facts.stopReason === undefined && facts.isWalletHalted !== true;
  return { begin, waiting, toCold: mayTakeOut ? excessOf(facts, round.budget) : [] };
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
  readonly delegable: bigint;
  readonly rent: bigint;
  readonly held: ReadonlyMap<string, bigint>;
}

/**
 * Prefers the hot wallet while the whole amount fits below its float. Selects cold storage only if that way is
 * impossible or not worth its cost.
 */
function selectDestination(facts: SweepFacts, asset: UnsweptAsset, round: Round): PlannedSweep | SweepDelay {
  const stop = stopOf(facts, asset, round.busy);
  if (stop !== undefined) return stop;
  const option = chooseOption(facts, asset, asset.toHot ?? asset, round);
  const isWay = typeof option !== 'string';
  const toHot = isWay ? movedAmount(asset, option) : asset.amountBaseUnits;
  if (fitsFloat(facts, asset, toHot, round.held)) {
    if (isWay) return { asset, option, amountBaseUnits: toHot, destination: 'HOT' };
    if (!NOT_WORTH_IT.has(option) && isWorthWaiting(facts, asset, option)) return option;
  }
  const cold = chooseOption(facts, asset, asset, round);
  if (typeof cold === 'string') return cold;
  return { asset, option: cold, amountBaseUnits: movedAmount(asset, cold), destination: 'COLD' };
}

const NOT_WORTH_IT: ReadonlySet<SweepDelay> = new Set([
  'WOULD_FAIL',
  'GAS_PRICE',
  'COST_SHARE',
  'TOP_UP_TOO_LARGE',
]);

/**
 * Waits only for resources that are renewed daily, at most maxAgeMs. An option above the full daily budget never fits.
 * The total stake is unknown here and counts as sufficient.
 */
function isWorthWaiting(facts: SweepFacts, asset: UnsweptAsset, reason: SweepDelay): boolean {
  if (reason !== 'BUDGET' && reason !== 'NO_GAS_MONEY') return true;
  const { maxAgeMs, maxNativePerDayBaseUnits: budget, maxRentPerDayBaseUnits: rent = 0n } = facts.rules;
  if (facts.nowMs - asset.sinceMs >= maxAgeMs) return false;
  if (budget === undefined) return true;
  const day = {
    busy: new Set<string>(),
    slots: 1,
    budget,
    gas: budget,
    delegable: UNLIMITED,
    rent,
    held: new Map(),
  };
  return typeof chooseOption(facts, asset, asset.toHot ?? asset, day) !== 'string';
}

const UNLIMITED = 1n << 256n;

/** Returns the cheapest option within all limits, or the obstacle; obstacles that pass with time come last. */
function chooseOption(
  facts: SweepFacts,
  asset: UnsweptAsset,
  { options, obstacle }: SweepOptions,
  round: Round,
): SweepOption | SweepDelay {
  const { rules, gasPrice } = facts;
  const known = options.toSorted(cheapestFirst);
  const [cheapest] = known;
  if (cheapest === undefined && obstacle === 'WOULD_FAIL') return 'WOULD_FAIL';
  if (cheapest === undefined && obstacle === 'FEES_ABOVE_CAP') return 'GAS_PRICE';
  if (cheapest === undefined || gasPrice === undefined) return 'PRICE_UNKNOWN';
  if (rules.maxGasPrice !== undefined && gasPrice > rules.maxGasPrice) return 'GAS_PRICE';
  const ways = known.filter((way) => facts.isWalletHalted !== true || !needsWallet(way));
  if (ways.length === 0) return 'WALLET_HALTED';
  const worthIt = ways.filter((way) => isWorthIt(rules, asset, way.costBaseUnits));
  if (worthIt.length === 0) return 'COST_SHARE';
  const allowed = worthIt.filter((way) => way.topUpBaseUnits <= rules.maxTopUpBaseUnits);
  if (allowed.length === 0) return 'TOP_UP_TOO_LARGE';
  const payable = allowed.filter(
    (way) => withFeeMargin(way.costBaseUnits) <= round.budget && isAffordable(rules, way, round),
  );
  if (payable.length === 0) return 'BUDGET';
  const funded = payable.find((way) => way.topUpBaseUnits <= round.gas);
  if (funded === undefined) return 'NO_GAS_MONEY';
  return round.slots > 0 ? funded : 'BATCH_FULL';
}

/** The hot wallet signs a transaction before the sweep, or sponsors it. */
function needsWallet({ topUpBaseUnits, stakeBaseUnits = 0n, ...way }: SweepOption): boolean {
  const isSponsoredCost = way.isSponsored === true && way.costBaseUnits > 0n;
  return topUpBaseUnits > 0n || stakeBaseUnits > 0n || isSponsoredCost;
}

function isAffordable(
  { maxRentBaseUnits = 0n }: SweepRules,
  { stakeBaseUnits = 0n, rentBaseUnits = 0n }: SweepOption,
  round: Round,
): boolean {
  if (stakeBaseUnits > round.delegable && stakeBaseUnits > 0n) return false;
  return rentBaseUnits === 0n || (rentBaseUnits <= maxRentBaseUnits && rentBaseUnits <= round.rent);
}

function stopOf(facts: SweepFacts, asset: UnsweptAsset, busy: ReadonlySet<string>): SweepDelay | undefined {
  const { rules, nowMs } = facts;
  if (facts.stopReason !== undefined) return facts.stopReason;
  if (facts.heldSymbols.has(asset.symbol)) return 'ASSET_HELD';
  if (busy.has(asset.address)) return 'ADDRESS_BUSY';
  const ageMs = nowMs - asset.sinceMs;
  const isRun = facts.isRun && asset.sinceMs <= (facts.runAtMs ?? nowMs);
  if (ageMs < rules.minAgeMs && !isRun) return 'TOO_YOUNG';
  const minimum = facts.hot.find(({ symbol }) => symbol === asset.symbol)?.minAmountBaseUnits ?? 0n;
  return asset.amountBaseUnits < minimum && ageMs < rules.maxAgeMs ? 'TOO_SMALL' : undefined;
}

/** Cost, then top-up, then name: deterministic. */
function cheapestFirst(a: SweepOption, b: SweepOption): number {
  if (a.costBaseUnits !== b.costBaseUnits) return a.costBaseUnits < b.costBaseUnits ? -1 : 1;
  if (a.topUpBaseUnits !== b.topUpBaseUnits) return a.topUpBaseUnits < b.topUpBaseUnits ? -1 : 1;
  return a.method < b.method ? -1 : 1;
}

type Worth = Pick<UnsweptAsset, 'isNative' | 'decimals' | 'amountBaseUnits'>;

function isWorthIt(rules: SweepRules, asset: Worth, costBaseUnits: bigint): boolean {
  if (asset.isNative && costBaseUnits >= asset.amountBaseUnits) return false;
  return costInAsset(rules, asset, costBaseUnits) * BPS <= asset.amountBaseUnits * BigInt(rules.maxCostBps);
}

export function costInAsset(
  rules: Pick<SweepRules, 'nativePrice' | 'nativeDecimals'>,
  { isNative, decimals }: Pick<UnsweptAsset, 'isNative' | 'decimals'>,
  costBaseUnits: bigint,
): bigint {
  if (isNative) return costBaseUnits;
  const { units, scale } = rules.nativePrice;
  const divisor = 10n ** BigInt(rules.nativeDecimals + scale);
  return divideUp(costBaseUnits * units * 10n ** BigInt(decimals), divisor);
}

function movedAmount(asset: UnsweptAsset, option: SweepOption): bigint {
  const staysBehind = asset.isNative && option.isSponsored !== true;
  return staysBehind ? asset.amountBaseUnits - option.costBaseUnits : asset.amountBaseUnits;
}

/** Counts the hot wallet's present and planned balance. */
export function fitsFloat(
  { hot }: Pick<SweepFacts, 'hot'>,
  { symbol }: Pick<UnsweptAsset, 'symbol'>,
  amountBaseUnits: bigint,
  held?: ReadonlyMap<string, bigint>,
): boolean {
  const wallet = hot.find((one) => one.symbol === symbol);
  const has = held?.get(symbol) ?? wallet?.heldBaseUnits ?? 0n;
  return wallet?.floatBaseUnits !== undefined && has + amountBaseUnits <= wallet.floatBaseUnits;
}

/** Returns an excess only if it is worth its transaction. */
function excessOf({ rules, hot, heldSymbols, gasPrice }: SweepFacts, budget: bigint) {
  let left = budget;
  return hot.flatMap((asset) => {
    const { symbol, floatBaseUnits: float, heldBaseUnits: held, toColdCostBaseUnits: cost } = asset;
    if (float === undefined || cost === undefined || heldSymbols.has(symbol)) return [];
    if (gasPrice === undefined || (rules.maxGasPrice !== undefined && gasPrice > rules.maxGasPrice))
      return [];
    const amountBaseUnits = held - float;
    if (amountBaseUnits <= 0n || amountBaseUnits < asset.minAmountBaseUnits || withFeeMargin(cost) > left)
      return [];
    if (!isWorthIt(rules, { ...asset, amountBaseUnits: amountBaseUnits as BaseUnits }, cost)) return [];
    left -= withFeeMargin(cost);
    return [{ symbol, amountBaseUnits, costBaseUnits: cost }];
  });
}
