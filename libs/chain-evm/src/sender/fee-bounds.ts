import { divideUp } from '@opentill/domain/divide-up';
import type { FeePrices, FeeTerms } from '@opentill/chain/wallet-sender';

/** Wei per gas. */
export interface FeeBounds {
  /** Nodes of the network reject lower tips. */
  readonly minPriorityFeePerGas: bigint;
  readonly maxPriorityFeePerGas: bigint;
  /** No transaction that may cost more per gas is ever signed. */
  readonly maxFeePerGas: bigint;
}

export type FeeBoundsText = { readonly [Field in keyof FeeBounds]: string };

/** Wei per gas. */
export interface FeeMarket {
  /** Zero on BSC. */
  readonly baseFeePerGas: bigint;
  readonly tipPerGas: bigint;
}

const AMOUNT_GRAMMAR = /^(?:0|[1-9][0-9]{0,29})$/;
/** A block raises the base fee by at most an eighth: the double covers six full blocks. */
const BASE_FEE_ROOM = 2n;
/**
 * Nodes replace a pending transaction when both prices are higher by a tenth (geth, erigon, nethermind, besu, reth,
 * bor, bsc, coreth). An eighth also satisfies nodes that round.
 */
const RAISE_DIVISOR = 8n;
/** An offer at the cap could never be replaced, and all later nonces would wait for it. */
const RAISES_LEFT = 3;

export function feeBoundsOf(text: FeeBoundsText): FeeBounds {
  const read = (field: keyof FeeBounds): bigint => {
    if (!AMOUNT_GRAMMAR.test(text[field])) throw new TypeError(`payouts.${field} is not an amount of wei`);
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
 * So far below the caps that both prices can be raised three times. Near the cap fewer raises remain, because an offer
 * below the market gets into no block.
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

export function isAboveCap(baseFeePerGas: bigint, bounds: FeeBounds): boolean {
  return baseFeePerGas + bounds.minPriorityFeePerGas > bounds.maxFeePerGas;
}

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

export function raiseFees(old: FeeTerms, now: FeePrices, bounds: FeeBounds): FeeTerms | undefined {
  const raised: FeeTerms = {
    ...old,
    maxFeePerGas: higher(raise(old.maxFeePerGas), lower(now.maxFeePerGas, bounds.maxFeePerGas)),
    maxPriorityFeePerGas: higher(
      raise(old.maxPriorityFeePerGas),
      lower(now.maxPriorityFeePerGas, bounds.maxPriorityFeePerGas),
    ),
  };
  return isWithinBounds(raised, bounds) ? raised : undefined;
}

/** Rounded up, and always more: nodes reject an equal price, even zero. */
function raise(price: bigint): bigint {
  return price + (price === 0n ? 1n : divideUp(price, RAISE_DIVISOR));
}

/** The highest price that this many raises keep at or below `cap`. */
function beforeRaises(cap: bigint, raises: number): bigint {
  let price = cap;
  // x plus an eighth of it, rounded up, is at most p exactly when x is at most eight ninths of p.
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
