import { divideUp } from './divide-up.ts';
import { isAmountText } from './money.ts';

/** Exact fraction greater than zero. Rates are computed with it, never with floats. */
export interface Ratio {
  readonly numerator: bigint;
  readonly denominator: bigint;
}

export const ONE: Ratio = { numerator: 1n, denominator: 1n };

const BASIS_POINTS = 10_000n;

/** `digits[.digits]`, at most 30 digits; undefined for other text and for zero. */
export function parseRatio(text: string): Ratio | undefined {
  if (!isAmountText(text)) return undefined;
  const [whole = '', fraction = ''] = text.split('.');
  const numerator = BigInt(whole + fraction);
  return numerator === 0n ? undefined : { numerator, denominator: 10n ** BigInt(fraction.length) };
}

export function inverse({ numerator, denominator }: Ratio): Ratio {
  return { numerator: denominator, denominator: numerator };
}

export function multiply(a: Ratio, b: Ratio): Ratio {
  return { numerator: a.numerator * b.numerator, denominator: a.denominator * b.denominator };
}

/** The arithmetic mean. */
export function mean(a: Ratio, b: Ratio): Ratio {
  return {
    numerator: a.numerator * b.denominator + b.numerator * a.denominator,
    denominator: 2n * a.denominator * b.denominator,
  };
}

/** Negative, zero or positive, for sorting. */
export function compare(a: Ratio, b: Ratio): number {
  const difference = a.numerator * b.denominator - b.numerator * a.denominator;
  return difference === 0n ? 0 : difference < 0n ? -1 : 1;
}

/** Distance of `value` from `reference` in basis points of `reference`, rounded up. */
export function distanceBps(value: Ratio, reference: Ratio): number {
  const scaled = value.numerator * reference.denominator - reference.numerator * value.denominator;
  const distance = (scaled < 0n ? -scaled : scaled) * BASIS_POINTS;
  return Number(divideUp(distance, reference.numerator * value.denominator));
}

/** Decimal text with `decimals` digits after the point, rounded down. */
export function toDecimal({ numerator, denominator }: Ratio, decimals: number): string {
  const digits = ((numerator * 10n ** BigInt(decimals)) / denominator).toString().padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  return decimals === 0 ? whole : `${whole}.${digits.slice(digits.length - decimals)}`;
}
