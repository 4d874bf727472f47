import type { FeePrices, FeeTerms } from '@opentill/chain/wallet-sender';

/** What a network's transactions may offer, in wei per gas. */
export interface FeeBounds {
  /** Tips below it are not taken by the network's nodes. */
  readonly minPriorityFeePerGas: bigint;
  readonly maxPriorityFeePerGas: bigint;
  /** The cap: nothing is ever signed that may cost more per gas. */
  readonly maxFeePerGas: bigint;
}

/** The same as a network file has it: decimal strings. */
export type FeeBoundsText = { readonly [Field in keyof FeeBounds]: string };

/** What a network asks for now, in wei per gas. */
export interface FeeMarket {
  /** Of the block to come. Zero on BSC. */
  readonly baseFeePerGas: bigint;
  /** What half of the latest transactions did with. */
  readonly tipPerGas: bigint;
}

const AMOUNT_GRAMMAR = /^(?:0|[1-9][0-9]{0,29})$/;
/** Blocks raise the base fee by an eighth at most: doubled, it lasts for six full ones. */
const BASE_FEE_ROOM = 2n;
/**
 * Nodes replace a pending transaction when both prices are higher by a tenth (geth, erigon, nethermind, besu, reth, bor,
 * bsc, coreth); an eighth satisfies those who round, too.
 */
const RAISE_DIVISOR = 8n;
/** A first offer leaves room for so many: at a cap it could never be replaced, and all later nonces would wait for it. */
const RAISES_LEFT = 3;

/** Reads the bounds of a network file. Throws TypeError for what are no amounts, or are out of order. */
export function feeBoundsOf(text: FeeBoundsText): FeeBounds {
  const read = (field: keyof FeeBounds): bigint => {
    if (!AMOUNT_GRAMMAR.test(text[field])) throw new TypeError(`payouts.${field} is no amount of wei`);
    return BigInt(text[field]);
  };
  const bounds: FeeBounds = {
    minPriorityFeePerGas: read('minPriorityFeePerGas'),
    maxPriorityFeePerGas: read('maxPriorityFeePerGas'),
    maxFeePerGas: read('maxFeePerGas'),
  };
  const { minPriorityFeePerGas: least, maxPriorityFeePerGas: most, maxFeePerGas: cap } = bounds;
  if (least > most || most > cap || cap === 0n)
    throw new TypeError('payouts: minPriorityFeePerGas <= maxPriorityFeePerGas <= maxFeePerGas must hold');
  return bounds;
}

/**
 * What to offer: the base fee doubled and the tip, within the bounds, and so far below the caps that both can be raised
 * three times; less often where the market itself is near the cap, as what is below it gets into no block.
 */
export function pricesFor(market: FeeMarket, bounds: FeeBounds): FeePrices {
  const { minPriorityFeePerGas: least, maxPriorityFeePerGas: most, maxFeePerGas: cap } = bounds;
  const tip = within(market.tipPerGas, least, higher(least, beforeRaises(most, RAISES_LEFT)));
  const needed = lower(market.baseFeePerGas + tip, cap);
  let raises = RAISES_LEFT;
  while (raises > 0 && beforeRaises(cap, raises) < needed) raises -= 1;
  const maxFeePerGas = lower(market.baseFeePerGas * BASE_FEE_ROOM + tip, beforeRaises(cap, raises));
  return { maxFeePerGas, maxPriorityFeePerGas: lower(tip, maxFeePerGas) };
}

/** Whether no transaction within the bounds gets into the block to come. */
export function isAboveCap(baseFeePerGas: bigint, bounds: FeeBounds): boolean {
  return baseFeePerGas + bounds.minPriorityFeePerGas > bounds.maxFeePerGas;
}

/** Whether terms may be signed at all. */
export function isWithinBounds(prices: FeePrices, bounds: FeeBounds): boolean {
  const { maxFeePerGas, maxPriorityFeePerGas } = prices;
  return (
    maxPriorityFeePerGas >= 0n &&
    maxPriorityFeePerGas <= bounds.maxPriorityFeePerGas &&
    maxPriorityFeePerGas <= maxFeePerGas &&
    maxFeePerGas > 0n &&
    maxFeePerGas <= bounds.maxFeePerGas
  );
}

/** See WalletSender.raise. */
export function raiseFees(old: FeeTerms, now: FeePrices, bounds: FeeBounds): FeeTerms | undefined {
  const raised: FeeTerms = {
    gasLimit: old.gasLimit,
    maxFeePerGas: higher(raise(old.maxFeePerGas), lower(now.maxFeePerGas, bounds.maxFeePerGas)),
    maxPriorityFeePerGas: higher(
      raise(old.maxPriorityFeePerGas),
      lower(now.maxPriorityFeePerGas, bounds.maxPriorityFeePerGas),
    ),
  };
  return isWithinBounds(raised, bounds) ? raised : undefined;
}

/** An eighth more, rounded up, and always more: nodes refuse an equal price even where it is zero. */
function raise(price: bigint): bigint {
  return price + (price === 0n ? 1n : (price + RAISE_DIVISOR - 1n) / RAISE_DIVISOR);
}

/** The highest price that so many raises take no further than to `cap`. */
function beforeRaises(cap: bigint, raises: number): bigint {
  let price = cap;
  // x and an eighth of it, rounded up, are at most p exactly when x is at most eight ninths of p.
  for (let raised = 0; raised < raises; raised += 1) price = (price * RAISE_DIVISOR) / (RAISE_DIVISOR + 1n);
  return price;
}

export function higher(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

export function lower(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

function within(value: bigint, least: bigint, most: bigint): bigint {
  return lower(higher(value, least), most);
}
