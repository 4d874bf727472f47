/** A number that may exceed 2^53: sixteen digits or more, not in quotes. */
const LONG_NUMBER = /[:[,]\s*-?\d{16}/;
const INTEGER = /^-?\d+$/;

/** Nodes write 64-bit integers as JSON numbers, which JavaScript rounds above 2^53. Those become an exact bigint. */
export function parseAnswer(body: Buffer): unknown {
  const text = body.toString('utf8');
  return LONG_NUMBER.test(text) ? JSON.parse(text, exactly) : JSON.parse(text);
}

/** Rounds numbers, in three quarters of the time, for callers that reject numbers above 2^53. */
export function parseRounding(body: Buffer): unknown {
  return JSON.parse(body.toString('utf8'));
}

function exactly(
  this: unknown,
  _key: string,
  value: unknown,
  context?: { readonly source?: string },
): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value;
  const source = context?.source ?? '';
  return INTEGER.test(source) ? BigInt(source) : value;
}
