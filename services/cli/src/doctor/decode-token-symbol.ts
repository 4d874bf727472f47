const WORD_DIGITS = 64;
const SYMBOL_CHARACTERS_MAX = 32;

/** Accepts a string, or 32 bytes as from old tokens. Removes control characters: any author may choose them. */
export function decodeTokenSymbol(answer: unknown): string | undefined {
  if (typeof answer !== 'string' || !/^0x(?:[0-9a-fA-F]{64})+$/.test(answer)) return undefined;
  const hex = answer.slice(2);
  const text = hex.length === WORD_DIGITS ? hex.replace(/(?:00)+$/, '') : stringIn(hex);
  if (text === undefined) return undefined;
  const shown = Buffer.from(text, 'hex')
    .toString('utf8')
    .replaceAll(/[^\p{L}\p{N}\p{P}\p{S} ]/gu, '')
    .slice(0, SYMBOL_CHARACTERS_MAX);
  return shown === '' ? undefined : shown;
}

function stringIn(hex: string): string | undefined {
  const length = Number(`0x${hex.slice(WORD_DIGITS, 2 * WORD_DIGITS)}`);
  const from = 2 * WORD_DIGITS;
  return Number(`0x${hex.slice(0, WORD_DIGITS)}`) === 32 && from + 2 * length <= hex.length
    ? hex.slice(from, from + 2 * length)
    : undefined;
}
