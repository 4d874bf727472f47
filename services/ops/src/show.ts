import { formatAmount } from '@opentill/domain/money';

/** A moment as it goes over the wire. */
export function time(at: Date): string {
  return at.toISOString();
}

export function timeOrNull(at: Date | null): string | null {
  return at === null || Number.isNaN(at.getTime()) ? null : at.toISOString();
}

/** An amount of an order, which carries the decimals of its token. */
export function orderAmount(
  amount: bigint,
  order: { readonly decimals: number; readonly displayDecimals: number },
): string {
  return formatAmount(amount, order.decimals, order.displayDecimals);
}

/** The spellings under which an address or hash may be stored: as given, and in lower case. */
export function spellings(word: string): string[] {
  const lower = word.toLowerCase();
  return lower === word ? [word] : [word, lower];
}
