import { minorUnits, type Currency } from './currency.ts';
import { divideUp } from './divide-up.ts';
import { baseUnits, formatAmount, parseAmount, type BaseUnits } from './money.ts';
import type { Ratio } from './ratio.ts';

/** A price in a currency. `minor` counts the minor units: cents for EUR. */
export interface Price {
  readonly currency: Currency;
  readonly minor: bigint;
}

export type PriceProblem = 'NOT_A_NUMBER' | 'ZERO' | 'TOO_MANY_DECIMALS' | 'TOO_LARGE';

/** Digits of minor units. Amounts computed from it stay below 10^78 base units. */
const PRICE_DIGITS_MAX = 18;
const BASIS_POINTS = 10_000n;

export function parsePrice(
  text: string,
  currency: Currency,
): { readonly ok: true; readonly price: Price } | { readonly ok: false; readonly problem: PriceProblem } {
  const parsed = parseAmount(text, minorUnits(currency));
  if (!parsed.ok) return parsed;
  if (parsed.value >= 10n ** BigInt(PRICE_DIGITS_MAX)) return { ok: false, problem: 'TOO_LARGE' };
  return { ok: true, price: { currency, minor: parsed.value } };
}

/** With exactly the minor units of the currency: `49.90`. */
export function formatPrice({ currency, minor }: Price): string {
  const digits = minorUnits(currency);
  return formatAmount(minor, digits, digits);
}

/**
 * Amount of a coin for a price, rounded up to the coin's display decimals, so that it is never worth less.
 * @param rate price of one coin in the currency
 * @param markupBps added to the price, in hundredths of a percent
 */
export function amountForPrice(
  price: Price,
  rate: Ratio,
  markupBps: number,
  coin: { readonly decimals: number; readonly displayDecimals: number },
): BaseUnits {
  const dividend =
    price.minor * (BASIS_POINTS + BigInt(markupBps)) * rate.denominator * 10n ** BigInt(coin.decimals);
  const divisor = 10n ** BigInt(minorUnits(price.currency)) * BASIS_POINTS * rate.numerator;
  const step = 10n ** BigInt(Math.max(coin.decimals - coin.displayDecimals, 0));
  return baseUnits(divideUp(dividend, divisor * step) * step);
}
