// JSON with int64 integers, such as amounts in sun, which a double cannot represent. Keeps every digit.
const rawJson = (JSON as unknown as { rawJSON(text: string): object }).rawJSON;

export function jsonInteger(value: bigint): number | object {
  return value <= 9_007_199_254_740_991n && value >= -9_007_199_254_740_991n
    ? Number(value)
    : rawJson(value.toString());
}

/** `int64AsString` writes integers as strings, for `int64_as_string=true` (java-tron 4.8.2). */
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

/** Faster variant for values without bigint, such as messageToJson's results. */
export function writePlainJson(value: unknown): string {
  return JSON.stringify(value);
}

type ReviverContext = { readonly source?: string };
type Reviver = (key: string, value: unknown, context: ReviverContext) => unknown;
const parse = JSON.parse as unknown as (text: string, reviver: Reviver) => unknown;

/** Returns bigint for integers beyond a double's safe range. */
export function readJson(text: string): unknown {
  return parse(text, (_key, value, context) =>
    typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(context.source ?? '')
      ? BigInt(context.source ?? '')
      : value,
  );
}

export function textOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'object'
    ? JSON.stringify(value)
    : String(value as string | number | bigint | boolean);
}
