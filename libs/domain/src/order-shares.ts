import { divideUp } from './divide-up.ts';
import { baseUnits, type BaseUnits } from './money.ts';

/**
 * The whole of an order that accepts several coins. Its sums count shares, so that they do not depend on the coin that
 * is chosen now. More than the base units of any amount, so that an amount of one coin is the same after both
 * conversions. The function order_worth() of the database is the same rule.
 */
export const ALL_SHARES = 10n ** 40n;

/** A larger payment counts as this: anyone can send 2^256 of a worthless token of a test network. */
const SHARES_MAX = 10n ** 60n;

const BASIS_POINTS = 10_000n;

/**
 * Rounded up, in favour of the payer, by less than one share.
 * @param amount base units of a coin
 * @param whole base units of the same coin that pay the order completely
 */
export function sharesOf(amount: bigint, whole: bigint): BaseUnits {
  const shares = divideUp(amount * ALL_SHARES, whole);
  return baseUnits(shares < SHARES_MAX ? shares : SHARES_MAX);
}

/** Base units of the coin of which `whole` pay the order. Rounded down: never more than was paid. */
export function amountOfShares(shares: bigint, whole: bigint): bigint {
  return (shares * whole) / ALL_SHARES;
}

/** Smallest sum that pays an order: its amount less the merchant's tolerance, and more than zero. */
export function acceptedAmount(amount: bigint, toleranceBps: number): BaseUnits {
  const accepted = amount - (amount * BigInt(toleranceBps)) / BASIS_POINTS;
  return baseUnits(accepted > 0n ? accepted : 1n);
}

/** The same in shares, for an order with options. */
export function acceptedShares(toleranceBps: number): BaseUnits {
  return acceptedAmount(ALL_SHARES, toleranceBps);
}

/** An order's sum in base units of its coin. `choices` null: the order has one coin, and its sums are base units. */
export function inCoin(
  sum: bigint,
  order: { readonly choices: number | null; readonly amount: bigint },
): bigint {
  return order.choices === null ? sum : amountOfShares(sum, order.amount);
}
