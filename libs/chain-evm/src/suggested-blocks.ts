/** Two block numbers, hex or decimal, in brackets or joined by a dash. */
const RANGE =
  /(?:should work|block range|with the range)\s*:?\s*\[?\s*(0x[0-9a-f]+|\d+)\s*[,-]\s*(0x[0-9a-f]+|\d+)\s*\]?/i;
const OF_BLOCKS = /block|range/i;
/** Limits of results and sizes are not numbers of blocks. */
const OF_RESULTS = /\b(?:results|logs|bytes|response size)\b/i;
const NUMBER = /(\d[\d,]*)(k?)\b/gi;

/**
 * The length of a suggested range, or the block limit, which every known wording names last. A hint: used only when it
 * is less than the rejected range. The test of translate-rpc-error lists the wordings.
 */
export function suggestedBlocksOf(message: string): number | undefined {
  const range = RANGE.exec(message);
  if (range !== null) return atLeastOne(Number(range[2]) - Number(range[1]) + 1);
  if (!OF_BLOCKS.test(message) || OF_RESULTS.test(message)) return undefined;
  const last = [...message.replaceAll(/https?:\S+/g, '').matchAll(NUMBER)].at(-1);
  if (last === undefined) return undefined;
  return atLeastOne(Number(last[1]?.replaceAll(',', '')) * (last[2] === '' ? 1 : 1_000));
}

function atLeastOne(blocks: number): number | undefined {
  return Number.isSafeInteger(blocks) && blocks >= 1 ? blocks : undefined;
}
