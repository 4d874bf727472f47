/*
 * JSON whose integers may be larger than a double holds: amounts in sun are int64. Written and read digit by digit.
 */
const rawJson = (JSON as unknown as { rawJSON(text: string): object }).rawJSON;

/** An integer for JSON.stringify: a number where a double holds it, else its digits. */
export function jsonInteger(value: bigint): number | object {
  return value <= 9_007_199_254_740_991n && value >= -9_007_199_254_740_991n
    ? Number(value)
    : rawJson(value.toString());
}

/** `int64AsString` is the request's `int64_as_string=true`: integers become strings (java-tron 4.8.2). */
export function writeJson(value: unknown, options: { readonly int64AsString?: boolean } = {}): string {
  if (options.int64AsString === true) {
    const text = writeJson(value);
    return JSON.stringify(readJson(text), (_key, item: unknown) =>
      typeof item === 'bigint' || typeof item === 'number' ? item.toString() : item,
    );
  }
  return JSON.stringify(value, (_key, item: unknown) =>
    typeof item === 'bigint' ? jsonInteger(item) : item,
  );
}

/** The same for what has no bigint, as messageToJson makes it: many times as fast. */
export function writePlainJson(value: unknown): string {
  return JSON.stringify(value);
}

type ReviverContext = { readonly source?: string };
type Reviver = (key: string, value: unknown, context: ReviverContext) => unknown;
const parse = JSON.parse as unknown as (text: string, reviver: Reviver) => unknown;

/** Integers that a double can't hold come as bigint. */
export function readJson(text: string): unknown {
  return parse(text, (_key, value, context) =>
    typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(context.source ?? '')
      ? BigInt(context.source ?? '')
      : value,
  );
}

/** A value of a request as text: what somebody wrote as a number or a string alike; nothing for null. */
export function textOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'object'
    ? JSON.stringify(value)
    : String(value as string | number | bigint | boolean);
}
