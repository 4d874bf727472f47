/** Checks of hex as nearly every node writes it, in lower case: for what is looked at with every log of a chain. */

const WORD_LENGTH = 66;
/** What stands before the address in a word that holds one. */
export const ADDRESS_PADDING = `0x${'0'.repeat(24)}`;
/** What nearly every word that holds an amount begins with: below 2^64. */
const AMOUNT_PADDING = `0x${'0'.repeat(48)}`;
/** `0x` and seven digits: beyond any block or index, within any integer. */
const SHORT_QUANTITY_LENGTH_MAX = 9;
/** 1 at the character codes of lower-case hex digits. A table is three times as quick as a regular expression here. */
const HEX_DIGIT = new Uint8Array(0x1_0000);
for (const digit of '0123456789abcdef') HEX_DIGIT[digit.charCodeAt(0)] = 1;

/** Whether it is `0x` and lower-case hex digits, none at all among them; those before `from` were looked at already. */
export function isLowerHex(value: unknown, from = 2): value is string {
  if (typeof value !== 'string' || !value.startsWith('0x')) return false;
  let isHex = 1;
  for (let at = from; at < value.length; at += 1) isHex &= HEX_DIGIT[value.charCodeAt(at)] ?? 0;
  return isHex === 1;
}

/** Whether it is `0x` and 64 lower-case hex digits, of which those before `from` were looked at already. */
export function isWord(value: unknown, from = 2): value is string {
  return typeof value === 'string' && value.length === WORD_LENGTH && isLowerHex(value, from);
}

/** Whether it is a word that holds an address. */
export function isAddressWord(value: unknown): value is string {
  return (
    typeof value === 'string' && value.startsWith(ADDRESS_PADDING) && isWord(value, ADDRESS_PADDING.length)
  );
}

/** Whether it is a word; told soonest of one that holds an amount. */
export function isAmountWord(value: unknown): value is string {
  const isUsual = typeof value === 'string' && value.startsWith(AMOUNT_PADDING);
  return isWord(value, isUsual ? AMOUNT_PADDING.length : undefined);
}

/** Whether it is `0x` and one to seven lower-case hex digits. */
export function isShortQuantity(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    value.length > 2 &&
    value.length <= SHORT_QUANTITY_LENGTH_MAX &&
    isLowerHex(value)
  );
}
