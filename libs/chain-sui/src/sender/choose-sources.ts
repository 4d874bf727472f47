import type { Held, HeldCoin } from './read-holdings.ts';
import type { CoinReference, PaymentPlan } from './payment-program.ts';

/** A transaction of 16 KB, more than which may not go without gas, has room for so many. */
export const COINS_MAX = 128;

/**
 * The most that one payment takes of what an address holds: its largest coins, which stand in front, and its address balance.
 * Anybody may send dust, as many coins of it as he likes: it is what stays behind.
 */
export function mostAtOnce({ inFunds, coins }: Held): bigint {
  return coins.slice(0, COINS_MAX).reduce((sum, { balance }) => sum + balance, inFunds);
}

/**
 * Of what an address that pays all it holds, or a part of it, takes the amount: of coins first, whole ones, those with most in
 * front; then of the address balance. Where only more than the amount can be had of coins, the rest goes back. Undefined where
 * the amount is more than `mostAtOnce`.
 */
export function chooseSources(
  amountBaseUnits: bigint,
  { inFunds, coins }: Held,
): Pick<PaymentPlan, 'withdrawnBaseUnits' | 'coins' | 'hasRest'> | undefined {
  const chosen: HeldCoin[] = [];
  let left = amountBaseUnits;
  for (const coin of coins) {
    if (left === 0n || chosen.length === COINS_MAX) break;
    if (coin.balance > left) continue;
    chosen.push(coin);
    left -= coin.balance;
  }
  if (left <= inFunds) return { withdrawnBaseUnits: left, coins: chosen.map(referenceOf), hasRest: false };
  // The least of them gives its place to one that was too much.
  if (chosen.length === COINS_MAX) left += chosen.pop()?.balance ?? 0n;
  const more = coins.findLast((coin) => !chosen.includes(coin) && coin.balance >= left - inFunds);
  if (more === undefined) return undefined;
  // More than is missing: with it, what was chosen before may be too much as well, and all of it goes back.
  const withdrawnBaseUnits = more.balance >= left ? 0n : left - more.balance;
  const hasRest = more.balance > left;
  return { withdrawnBaseUnits, coins: [...chosen, more].map(referenceOf), hasRest };
}

function referenceOf({ id, version, digest, startVersion }: HeldCoin): CoinReference {
  return { id, version, digest, startVersion };
}
