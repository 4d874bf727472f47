import type { JsonSchema } from '../http/schemas.ts';

declare const described: unique symbol;

/** A JSON Schema (2020-12) that carries the type that it describes, so that both are written once. */
export type Schema<T> = JsonSchema & { readonly [described]?: T };

export type Of<S> = S extends { readonly [described]?: infer T } ? Exclude<T, undefined> : never;

export type Properties = Readonly<Record<string, Schema<unknown>>>;
type OfProperties<P extends Properties> = { readonly [K in keyof P]: Of<P[K]> };
type OfOptional<P extends Properties> = { readonly [K in keyof P]?: Of<P[K]> };

export const text = (description: string, rules: JsonSchema = {}): Schema<string> => ({
  type: 'string',
  description,
  ...rules,
});

/** Excludes control characters (U+009B starts an escape sequence), direction marks, and lone surrogates. */
const NO_CONTROLS = '^[^\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}\\ud800-\\udfff]*$';

export const words = (description: string, maxLength = 500): Schema<string> =>
  text(description, { minLength: 1, maxLength, pattern: NO_CONTROLS });

export const uuid = (description: string): Schema<string> =>
  text(description, { pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' });

/** ISO 8601 in UTC. */
export const moment = (description: string): Schema<string> => text(description, { format: 'date-time' });

/** Whole base units of a token; signed for a balance or posting. */
export const baseUnitsText = (description: string): Schema<string> =>
  text(`${description} In base units.`, { pattern: '^-?[0-9]{1,78}$' });

export const decimalText = (description: string): Schema<string> =>
  text(description, { pattern: '^-?[0-9]+(\\.[0-9]+)?$', maxLength: 120 });

export const integer = (description: string, rules: JsonSchema = {}): Schema<number> => ({
  type: 'integer',
  description,
  ...rules,
});

export const bool = (description: string): Schema<boolean> => ({ type: 'boolean', description });

export const oneOf = <const V extends readonly string[]>(
  values: V,
  description: string,
): Schema<V[number]> => ({
  type: 'string',
  enum: values,
  description,
});

export const orNull = <T>(schema: Schema<T>): Schema<T | null> => ({ anyOf: [schema, { type: 'null' }] });

export const list = <T>(
  items: Schema<T>,
  description: string,
  rules: JsonSchema = {},
): Schema<readonly T[]> => ({
  type: 'array',
  items,
  description,
  ...rules,
});

/** An object whose members this document does not define, such as the details of an incident. */
export const open = (description: string): Schema<Readonly<Record<string, unknown>>> => ({
  type: 'object',
  description,
  additionalProperties: true,
});

/** Exactly these members; those of `optional` may be absent. */
export function object<P extends Properties, O extends Properties = Record<never, never>>(
  description: string,
  properties: P,
  optional?: O,
): Schema<OfProperties<P> & OfOptional<O>> {
  return {
    type: 'object',
    description,
    additionalProperties: false,
    required: Object.keys(properties),
    properties: { ...properties, ...optional },
  };
}
