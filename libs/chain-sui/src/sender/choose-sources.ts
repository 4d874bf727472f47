import type { Held, HeldCoin } from './read-holdings.ts';
import type { CoinReference, PaymentPlan } from './payment-program.ts';

/** As many as fit into 16 KB, the size limit of a transaction without gas. */
export const COINS_MAX = 128;

/**
 * The address balance and the 128 largest coins. `coins` is sorted, largest first. Dust that others send stays behind.
 */
export function mostAtOnce({ inFunds, coins }: Held): bigint {
  return coins.slice(0, COINS_MAX).reduce((sum, { balance }) => sum + balance, inFunds);
}

/**
 * For an address that is emptied: whole coins, largest first, then the address balance. If the coins exceed the amount,
 * the rest returns to the sender. Undefined if the amount is more than `mostAtOnce`.
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
  // Replace the smallest chosen coin by a larger one.
  if (chosen.length === COINS_MAX) left += chosen.pop()?.balance ?? 0n;
  const more = coins.findLast((coin) => !chosen.includes(coin) && coin.balance >= left - inFunds);
  if (more === undefined) return undefined;
  // The coins chosen before may now exceed the amount; all of the rest returns.
  const withdrawnBaseUnits = more.balance >= left ? 0n : left - more.balance;
  const hasRest = more.balance > left;
  return { withdrawnBaseUnits, coins: [...chosen, more].map(referenceOf), hasRest };
}

function referenceOf({ id, version, digest, startVersion }: HeldCoin): CoinReference {
  return { id, version, digest, startVersion };
}
