import { formatAmount } from '@opentill/domain/money';

export function time(at: Date): string {
  return at.toISOString();
}

export function timeOrNull(at: Date | null): string | null {
  return at === null || Number.isNaN(at.getTime()) ? null : at.toISOString();
}

/** Formats display units, with the decimals that the order stores. */
export function orderAmount(
  amount: bigint,
  order: { readonly decimals: number; readonly displayDecimals: number },
): string {
  return formatAmount(amount, order.decimals, order.displayDecimals);
}

export function spellings(word: string): string[] {
  const lower = word.toLowerCase();
  return lower === word ? [word] : [word, lower];
}
