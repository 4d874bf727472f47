/** An amount in a token's smallest unit. The only form in which the gateway reckons with money. */
export type BaseUnits = bigint & { readonly __brand: 'BaseUnits' };

/** Why a decimal string is not an amount of a token. */
export type AmountProblem =
  /** Not `digits[.digits]`, or more than 30 digits. */
  | 'NOT_A_NUMBER'
  /** Zero. */
  | 'ZERO'
  /** More decimals than the token has, and not all of the surplus are zeros. */
  | 'TOO_MANY_DECIMALS';

const AMOUNT_GRAMMAR = /^[0-9]+(?:\.[0-9]+)?$/;
const AMOUNT_DIGITS_MAX = 30;

/** Of numeric(78,0). */
const END = 10n ** 78n;

/** Brands a bigint as base units. Throws RangeError when it is negative or exceeds numeric(78,0). */
export function baseUnits(value: bigint): BaseUnits {
  if (value < 0n || value >= END) throw new RangeError(`not an amount in base units: ${value}`);
  return value as BaseUnits;
}

/** Whether `text` has the grammar of an amount: `digits[.digits]`, no sign, no exponent, at most 30 digits. */
export function isAmountText(text: string): boolean {
  return AMOUNT_GRAMMAR.test(text) && text.length - (text.includes('.') ? 1 : 0) <= AMOUNT_DIGITS_MAX;
}

/**
 * Reads a decimal string as base units of a token with `decimals` decimals, without any rounding.
 * Zeros beyond the token's decimals are not a loss and are accepted ("1.000" of a token with 2 decimals).
 */
export function parseAmount(
  text: string,
  decimals: number,
): { ok: true; value: BaseUnits } | { ok: false; problem: AmountProblem } {
  if (!isAmountText(text)) return { ok: false, problem: 'NOT_A_NUMBER' };
  const [whole = '', fraction = ''] = text.split('.');
  const kept = fraction.slice(0, decimals).padEnd(decimals, '0');
  const surplus = fraction.slice(decimals);
  const value = BigInt(whole + kept);
  const surplusIsZero = /^0*$/.test(surplus);
  if (value === 0n && surplusIsZero) return { ok: false, problem: 'ZERO' };
  if (!surplusIsZero) return { ok: false, problem: 'TOO_MANY_DECIMALS' };
  return { ok: true, value: baseUnits(value) };
}

/**
 * Writes base units as a decimal string: exact, with trailing zeros cut down to `displayDecimals` and filled up
 * to them (docs/api.md section 4): 250000000 of 6 decimals → "250.00", 123456 → "0.123456".
 */
export function formatAmount(value: bigint, decimals: number, displayDecimals: number): string {
  if (value < 0n) throw new RangeError(`an amount is never negative: ${value}`);
  const digits = value.toString().padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  const fraction = digits
    .slice(digits.length - decimals)
    .replace(/0+$/, '')
    .padEnd(displayDecimals, '0');
  return fraction === '' ? whole : `${whole}.${fraction}`;
}
