/** The range that would be answered: two block numbers, hex or decimal, in brackets or joined by a dash. */
const RANGE =
  /(?:should work|block range|with the range)\s*:?\s*\[?\s*(0x[0-9a-f]+|\d+)\s*[,-]\s*(0x[0-9a-f]+|\d+)\s*\]?/i;
const OF_BLOCKS = /block|range/i;
/** Limits of results and sizes are no numbers of blocks. */
const OF_RESULTS = /\b(?:results|logs|bytes|response size)\b/i;
/** `10,000`, `10k`. */
const NUMBER = /(\d[\d,]*)(k?)\b/gi;

/**
 * How many blocks a refusal of eth_getLogs says would be answered: the length of a suggested range, or the limit of
 * blocks, which every known wording names last. Undefined when it names neither. Only a hint: the caller takes it when
 * it is less than what was refused. The wordings stand in the test of translate-rpc-error.
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
