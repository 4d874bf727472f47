/** A number that may be above 2^53: sixteen digits or more, and not in quotes. */
const LONG_NUMBER = /[:[,]\s*-?\d{16}/;
const INTEGER = /^-?\d+$/;

/**
 * A node's JSON. Its 64-bit integers are JSON numbers, which JavaScript rounds above 2^53: such a one comes out as a
 * bigint, exact. Throws SyntaxError.
 */
export function parseAnswer(body: Buffer): unknown {
  const text = body.toString('utf8');
  return LONG_NUMBER.test(text) ? JSON.parse(text, exactly) : JSON.parse(text);
}

/** The same with such numbers rounded, in three quarters of the time: for whoever refuses numbers above 2^53. Throws SyntaxError. */
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
