import type { BaseUnits } from './money.ts';
import { withFeeMargin } from './fee-margin.ts';

// Plans which deposit addresses are swept now, how each fee is paid, and what the hot wallet sends to cold storage.
// Pure: the same facts give the same plan, so operators can see it in advance, and a crash between two steps is
// harmless.

export type SweepMethod = 'FREE' | 'STAKE' | 'RENT' | 'TOP_UP';

export interface SweepRules {
  /** To compare costs with amounts: `units` display units of a token for 10^`scale` coins. */
  readonly nativePrice: { readonly units: bigint; readonly scale: number };
  readonly nativeDecimals: number;
  /** Maximum cost of a sweep relative to its amount, in basis points. */
  readonly maxCostBps: number;
  /** Maximum price of a unit of gas (EVM: wei) or energy (TRON: sun); undefined: any. */
  readonly maxGasPrice: bigint | undefined;
  /** Younger money waits, so that several payments are swept together. */
  readonly minAgeMs: number;
  /** Older money is swept below the minimum, if its cost share permits it. */
  readonly maxAgeMs: number;
  readonly batchSize: number;
  /** Maximum of one top-up, in base units of the native coin. */
  readonly maxTopUpBaseUnits: bigint;
  /** Maximum rent for one sweep, in base units of the native coin. Absent: no energy is rented. */
  readonly maxRentBaseUnits?: bigint;
  /** Maximum cost and top-ups per day, in base units of the native coin. Absent: unknown. */
  readonly maxNativePerDayBaseUnits?: bigint;
  /** Maximum rent per day, in base units of the native coin. Absent: none. */
  readonly maxRentPerDayBaseUnits?: bigint;
}

export interface SweepOption {
  readonly method: SweepMethod;
  /** Total cost: fees, activation, rent. */
  readonly costBaseUnits: bigint;
  /** Coin that the hot wallet has to send to the address first. */
  readonly topUpBaseUnits: bigint;
  /** The hot wallet's stake that is lent until the sweep has ended. Absent: none. */
  readonly stakeBaseUnits?: bigint;
  /** Rent for energy, part of the cost. Absent: none. */
  readonly rentBaseUnits?: bigint;
  /** True if the hot wallet pays the fee as sponsor (SUI). No coin has to remain at the address for it. */
  readonly isSponsored?: true;
}

export interface SweepWays {
  /** Empty while the price is unknown, or an obstacle exists. */
  readonly options: readonly SweepOption[];
  /** Known obstacle: the chain would reject the transfer, or fees exceed the cap. */
  readonly obstacle?: 'WOULD_FAIL' | 'FEES_ABOVE_CAP';
}

/** Unswept balance of one asset on a deposit address, with the options to sweep it to cold storage. */
export interface UnsweptAsset extends SweepWays {
  readonly address: string;
  readonly symbol: string;
  readonly decimals: number;
  readonly isNative: boolean;
  readonly amountBaseUnits: BaseUnits;
  /** Earliest possible arrival of its oldest part, in milliseconds since 1970. */
  readonly sinceMs: number;
  /** Options to the hot wallet, which may cost more if it holds none of the token. Absent: as to cold storage. */
  readonly toHot?: SweepWays;
}

export interface HotAsset {
  readonly symbol: string;
  readonly decimals: number;
  readonly isNative: boolean;
  /** Available balance plus running sweeps to it, without reservations for payouts. */
  readonly heldBaseUnits: bigint;
  /** Maximum balance; undefined: no limit, but no sweep goes to it. */
  readonly floatBaseUnits: bigint | undefined;
  /** Minimum for a transfer to cold storage. */
  readonly minAmountBaseUnits: bigint;
  /** Cost of a transfer to cold storage in the native coin; undefined while unknown, or while one is running. */
  readonly toColdCostBaseUnits: bigint | undefined;
}

export interface SweepFacts {
  readonly rules: SweepRules;
  readonly nowMs: number;
  /** Current gas price; undefined while unknown. */
  readonly gasPrice: bigint | undefined;
  /** Rest of the daily budget in base units of the native coin, less running sweeps with their margin. */
  readonly budgetBaseUnits: bigint;
  /** The hot wallet's native coin for fees, less the needs of open top-ups. */
  readonly gasHeldBaseUnits: bigint;
  /** The hot wallet's stake that can be lent now, less the needs of open sweeps. Absent: none. */
  readonly lendableBaseUnits?: bigint;
  /** Rest of the daily budget for rent; open orders are already subtracted. Absent: no energy is rented. */
  readonly rentBudgetBaseUnits?: bigint;
  readonly unswept: readonly UnsweptAsset[];
  readonly busyAddresses: ReadonlySet<string>;
  /** Busy addresses whose sweep waits for a halted hot wallet. They use no place in the batch. Absent: none. */
  readonly placelessAddresses?: ReadonlySet<string>;
  readonly hot: readonly HotAsset[];
  /** Symbols on hold: their money does not move. */
  readonly heldSymbols: ReadonlySet<string>;
  /** Reason why the whole chain is stopped: an operator's pause, or a halt. */
  readonly stoppedBy: 'PAUSED' | 'CHAIN_HALTED' | undefined;
  /** An operator requested a run: the minimum age does not apply. */
  readonly isRun: boolean;
  /** True if the hot wallet signs no transaction: no top-up, no lending, no transfer from it is planned. */
  readonly isWalletHalted?: boolean;
  /** Time of that request. The minimum age still applies to money that came later. Absent: now. */
  readonly runAtMs?: number;
}

/**
 * Reasons why an asset is not swept now. The planner never uses the last two: the network file has no such token, or
 * another contract for it; and an address that this keystore does not derive.
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
  /** Moved amount: the whole balance, less the fee if native coin pays it itself. */
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
 * Plans one round:
 * - The plan stays within the budget (with a margin on each cost), the batch size, the cost limits and the float.
 * - The hot wallet is refilled before cold storage, except by money that is not worth the cost of that way.
 * - An address has one sweep at a time; the oldest money comes first.
 * - Young or small money waits. Old money waits only for its cost.
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
  /** The hot wallet's balance by symbol, including planned sweeps. */
  readonly held: ReadonlyMap<string, bigint>;
}

/**
 * Selects the destination. The hot wallet comes first while the whole amount fits below its float, and the sweep
 * waits for conditions that pass with time. Cold storage is used if the way to the hot wallet is impossible or not
 * worth its cost: a transfer to a wallet without the token costs more.
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
 * True if the sweep should wait for the way to the hot wallet: only for resources that are renewed daily, and not
 * longer than maxAgeMs. An option that does not fit into a full daily budget never will. The total stake is unknown
 * here, so it counts as sufficient.
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
    lendable: UNLIMITED,
    rent,
    held: new Map(),
  };
  return typeof chooseOption(facts, asset, asset.toHot ?? asset, day) !== 'string';
}

const UNLIMITED = 1n << 256n;

/** Cheapest option within all limits, or the obstacle. Obstacles that pass with time come last. */
function chooseOption(
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
    (way) => withFeeMargin(way.costBaseUnits) <= round.budget && isAffordable(rules, way, round),
  );
  if (payable.length === 0) return 'BUDGET';
  const funded = payable.find((way) => way.topUpBaseUnits <= round.gas);
  if (funded === undefined) return 'NO_GAS_MONEY';
  return round.slots > 0 ? funded : 'BATCH_FULL';
}

/** True if the hot wallet has to sign a transaction before the sweep, or sponsor it. */
function needsWallet({ topUpBaseUnits, stakeBaseUnits = 0n, ...way }: SweepOption): boolean {
  const isSponsoredCost = way.isSponsored === true && way.costBaseUnits > 0n;
  return topUpBaseUnits > 0n || stakeBaseUnits > 0n || isSponsoredCost;
}

function isAffordable(
  { maxRentBaseUnits = 0n }: SweepRules,
  { stakeBaseUnits = 0n, rentBaseUnits = 0n }: SweepOption,
  round: Round,
): boolean {
  if (stakeBaseUnits > round.lendable && stakeBaseUnits > 0n) return false;
  return rentBaseUnits === 0n || (rentBaseUnits <= maxRentBaseUnits && rentBaseUnits <= round.rent);
}

/** Obstacle that does not depend on the cost. */
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

/** Orders by cost, then top-up, then name, so that the order is deterministic. */
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

function movedAmount(asset: UnsweptAsset, option: SweepOption): bigint {
  const staysBehind = asset.isNative && option.isSponsored !== true;
  return staysBehind ? asset.amountBaseUnits - option.costBaseUnits : asset.amountBaseUnits;
}

/** True if the amount fits below the float of the hot wallet, including its present and planned balance. */
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

/** Excess over the float for each asset, if it is worth its transaction. */
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
