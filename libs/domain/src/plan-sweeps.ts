import type { BaseUnits } from './money.ts';
import { withFeeMargin } from './fee-margin.ts';

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
  /** The most that a seller of work is paid for one sweep, in base units of the native coin. Absent: nothing is bought. */
  readonly maxRentBaseUnits?: bigint;
  /** The most that a whole day may cost, and bring in top-ups, in base units of the native coin. Absent: nobody knows. */
  readonly maxNativePerDayBaseUnits?: bigint;
  /** And what sellers of work are paid in it. Absent: nothing. */
  readonly maxRentPerDayBaseUnits?: bigint;
}

/** One way to sweep an address, with what it takes of the native coin, in base units. */
export interface SweepOption {
  readonly method: SweepMethod;
  /** All that is lost: fees, activation, rent. */
  readonly costBaseUnits: bigint;
  /** What the hot wallet has to send there before. */
  readonly topUpBaseUnits: bigint;
  /** Stake of the hot wallet that is lent until the sweep has ended. Absent: none. */
  readonly stakeBaseUnits?: bigint;
  /** What a seller is paid for the work, part of the cost. Absent: nothing. */
  readonly rentBaseUnits?: bigint;
  /** Whether the hot wallet pays the fee beside the address (SUI): nothing of it has to stay there. */
  readonly isSponsored?: true;
}

/** How an asset can be swept to one place. */
export interface SweepWays {
  /** Empty while nobody knows the price, or something is in the way. */
  readonly options: readonly SweepOption[];
  /** What is in the way, where that is known: the chain would refuse the transfer, or fees are above what may be paid at all. */
  readonly obstacle?: 'WOULD_FAIL' | 'FEES_ABOVE_CAP';
}

/** What lies on a deposit address of one asset, free to be swept; and how it can be swept to cold storage. */
export interface UnsweptAsset extends SweepWays {
  readonly address: string;
  readonly symbol: string;
  readonly decimals: number;
  /** Whether it is the native coin itself. */
  readonly isNative: boolean;
  readonly amountBaseUnits: BaseUnits;
  /** Milliseconds since 1970: when the oldest of it may have come. */
  readonly sinceMs: number;
  /** To the hot wallet: a transfer to a holder of none of a token may cost much more. Absent: as to cold storage. */
  readonly toHot?: SweepWays;
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
  /** What is left of the day's budget, in base units of the native coin: what is under way is counted already, with its margin. */
  readonly budgetBaseUnits: bigint;
  /** What the hot wallet has of the native coin for fees, less what open top-ups will take. */
  readonly gasHeldBaseUnits: bigint;
  /** Stake of the hot wallet that can be lent now, less what open sweeps will lend. Absent: none. */
  readonly lendableBaseUnits?: bigint;
  /** What is left of the day for sellers of work; open orders are counted already. Absent: nothing is bought. */
  readonly rentBudgetBaseUnits?: bigint;
  readonly unswept: readonly UnsweptAsset[];
  /** Addresses with a sweep that has not ended. */
  readonly busyAddresses: ReadonlySet<string>;
  /** Those of them whose sweep waits for the hot wallet while that is halted: they take no place in the batch. Absent: none. */
  readonly placelessAddresses?: ReadonlySet<string>;
  readonly hot: readonly HotAsset[];
  /** Symbols that are held back: no money of theirs moves. */
  readonly heldSymbols: ReadonlySet<string>;
  /** Whether something stops the chain: an operator's pause, a halt. */
  readonly stoppedBy: 'PAUSED' | 'CHAIN_HALTED' | undefined;
  /** An operator asked for a run: age is not waited for. */
  readonly isRun: boolean;
  /** Whether nothing of the hot wallet's is signed: what it brings or lends is not planned, and nothing is taken from it. */
  readonly isWalletHalted?: boolean;
  /** When: of what came later it is. Absent: now. */
  readonly runAtMs?: number;
}

/**
 * Why an asset stays where it is for now. The last two nobody plans with: the network file has no such token, or another contract for it;
 * and an address that this keystore does not derive.
 */
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
  /** What is moved: all of it, of the native coin less its own fee, where it pays that itself. */
  readonly amountBaseUnits: bigint;
  readonly destination: 'COLD' | 'HOT';
}

export interface SweepPlan {
  /** Oldest money first. */
  readonly begin: readonly PlannedSweep[];
  readonly waiting: readonly { readonly asset: UnsweptAsset; readonly reason: SweepDelay }[];
  readonly toCold: readonly {
    readonly symbol: string;
    readonly amountBaseUnits: bigint;
    /** Its fee, in base units of the native coin. */
    readonly costBaseUnits: bigint;
  }[];
}

const BPS = 10_000n;

/**
 * Plans one round. Never beyond the budget, where each counts with the margin that it may cost more by; nor the batch, the bound of
 * cost or the float of the hot wallet, which is refilled before anything goes to cold storage, but by what is not worth its way there;
 * of an address one asset at a time, and the oldest money first. What is too young or too small waits; what is old enough waits for
 * its cost alone.
 */
export function planSweeps(facts: SweepFacts): SweepPlan {
  const { busyAddresses, placelessAddresses = new Set<string>() } = facts;
  const placed = [...busyAddresses].filter((address) => !placelessAddresses.has(address));
  const begin: PlannedSweep[] = [];
  const waiting: { asset: UnsweptAsset; reason: SweepDelay }[] = [];
  const round = {
    busy: new Set(busyAddresses),
    slots: facts.rules.batchSize - placed.length,
    budget: facts.budgetBaseUnits,
    gas: facts.gasHeldBaseUnits,
    lendable: facts.lendableBaseUnits ?? 0n,
    rent: facts.rentBudgetBaseUnits ?? 0n,
    held: new Map(facts.hot.map((hot) => [hot.symbol, hot.heldBaseUnits])),
  };
  for (const asset of facts.unswept.toSorted(oldestFirst)) {
    const sweep = direct(facts, asset, round);
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
    round.lendable -= option.stakeBaseUnits ?? 0n;
    round.rent -= option.rentBaseUnits ?? 0n;
    if (destination === 'HOT')
      round.held.set(asset.symbol, (round.held.get(asset.symbol) ?? 0n) + amountBaseUnits);
  }
  const mayTakeOut = facts.stoppedBy === undefined && facts.isWalletHalted !== true;
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
  readonly lendable: bigint;
  readonly rent: bigint;
  /** What the hot wallet has of each symbol, and will. */
  readonly held: ReadonlyMap<string, bigint>;
}

/**
 * The hot wallet first, as long as all of it fits below its float, and waits for what time mends. What is not worth its way there, or
 * can't go it, goes to cold storage: where the wallet holds none of a token each transfer to it costs more.
 */
function direct(facts: SweepFacts, asset: UnsweptAsset, round: Round): PlannedSweep | SweepDelay {
  const standing = stopOf(facts, asset, round.busy);
  if (standing !== undefined) return standing;
  const option = choose(facts, asset, asset.toHot ?? asset, round);
  const isWay = typeof option !== 'string';
  const toHot = isWay ? movedOf(asset, option) : asset.amountBaseUnits;
  if (fitsFloat(facts, asset, toHot, round.held)) {
    if (isWay) return { asset, option, amountBaseUnits: toHot, destination: 'HOT' };
    if (!NOT_WORTH_IT.has(option) && isWorthWaiting(facts, asset, option)) return option;
  }
  const cold = choose(facts, asset, asset, round);
  if (typeof cold === 'string') return cold;
  return { asset, option: cold, amountBaseUnits: movedOf(asset, cold), destination: 'COLD' };
}

const NOT_WORTH_IT: ReadonlySet<SweepDelay> = new Set([
  'WOULD_FAIL',
  'GAS_PRICE',
  'COST_SHARE',
  'TOP_UP_TOO_LARGE',
]);

/**
 * Whether to wait for the way to the hot wallet: for money that a day brings again, and for no longer than money lies anyway. What
 * would not fit a day on which nothing else is paid for never will; how much stake there is in all nobody says here.
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
    lendable: ANY,
    rent,
    held: new Map(),
  };
  return typeof choose(facts, asset, asset.toHot ?? asset, day) !== 'string';
}

const ANY = 1n << 256n;

/** The cheapest way that every bound allows, or what stands in the way: what time alone mends comes last. */
function choose(
  facts: SweepFacts,
  asset: UnsweptAsset,
  { options, obstacle }: SweepWays,
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
    (way) => withFeeMargin(way.costBaseUnits) <= round.budget && isCapable(rules, way, round),
  );
  if (payable.length === 0) return 'BUDGET';
  const funded = payable.find((way) => way.topUpBaseUnits <= round.gas);
  if (funded === undefined) return 'NO_GAS_MONEY';
  return round.slots > 0 ? funded : 'BATCH_FULL';
}

/** Whether the hot wallet has to sign something before the address can be emptied, or beside it. */
function needsWallet({ topUpBaseUnits, stakeBaseUnits = 0n, ...way }: SweepOption): boolean {
  const isPaidBeside = way.isSponsored === true && way.costBaseUnits > 0n;
  return topUpBaseUnits > 0n || stakeBaseUnits > 0n || isPaidBeside;
}

/** Whether the stake is there to be lent, and the work may be bought. */
function isCapable(
  { maxRentBaseUnits = 0n }: SweepRules,
  { stakeBaseUnits = 0n, rentBaseUnits = 0n }: SweepOption,
  round: Round,
): boolean {
  if (stakeBaseUnits > round.lendable && stakeBaseUnits > 0n) return false;
  return rentBaseUnits === 0n || (rentBaseUnits <= maxRentBaseUnits && rentBaseUnits <= round.rent);
}

/** What stops it whatever it costs. */
function stopOf(facts: SweepFacts, asset: UnsweptAsset, busy: ReadonlySet<string>): SweepDelay | undefined {
  const { rules, nowMs } = facts;
  if (facts.stoppedBy !== undefined) return facts.stoppedBy;
  if (facts.heldSymbols.has(asset.symbol)) return 'ASSET_HELD';
  if (busy.has(asset.address)) return 'ADDRESS_BUSY';
  const ageMs = nowMs - asset.sinceMs;
  const isRun = facts.isRun && asset.sinceMs <= (facts.runAtMs ?? nowMs);
  if (ageMs < rules.minAgeMs && !isRun) return 'TOO_YOUNG';
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
  const staysBehind = asset.isNative && option.isSponsored !== true;
  return staysBehind ? asset.amountBaseUnits - option.costBaseUnits : asset.amountBaseUnits;
}

/** Whether the hot wallet may be filled with so much of an asset: what it has, or will have, and this is within its float. */
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

/** What the hot wallet holds above its float, of each asset of which that is worth its transaction. */
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
