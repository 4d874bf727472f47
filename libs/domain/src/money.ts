/** A token's smallest unit: the only representation of money in calculations. */
export type BaseUnits = bigint & { readonly __brand: 'BaseUnits' };

export type AmountProblem =
  /** Not `digits[.digits]`, or more than 30 digits. */
  | 'NOT_A_NUMBER'
  | 'ZERO'
  /** Only a non-zero surplus counts. */
  | 'TOO_MANY_DECIMALS';

export const AMOUNT_GRAMMAR = /^[0-9]+(?:\.[0-9]+)?$/;
export const AMOUNT_DIGITS_MAX = 30;

/** Exclusive limit of numeric(78,0). */
const END = 10n ** 78n;

/** Throws RangeError if it is negative or exceeds numeric(78,0). */
export function baseUnits(value: bigint): BaseUnits {
  if (value < 0n || value >= END) throw new RangeError(`not an amount in base units: ${value}`);
  return value as BaseUnits;
}

/** `digits[.digits]`, no sign, no exponent, at most 30 digits. */
export function isAmountText(text: string): boolean {
  return AMOUNT_GRAMMAR.test(text) && text.length - (text.includes('.') ? 1 : 0) <= AMOUNT_DIGITS_MAX;
}

/** Never rounds. Accepts zeros beyond the token's decimals ("1.000" for a token with 2 decimals). */
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

/** Exact. `displayDecimals` is the minimum (docs/api.md section 4): 250000000 → "250.00", 123456 → "0.123456". */
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
