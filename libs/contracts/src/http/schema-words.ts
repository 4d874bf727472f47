import { CHAIN_PATTERN, PRESET_CHAINS } from '@opentill/domain/chains';

/** JSON Schema 2020-12, as in OpenAPI 3.1. */
export type JsonSchema = { readonly [keyword: string]: unknown };

const ORDER_STATUSES = ['INIT', 'PENDING', 'PENDING_CONFIRMATION', 'SUCCESS', 'EXPIRED', 'FAILED'];
export const NAME_PATTERN = '^[A-Za-z0-9_.:~@-]{1,64}$';

export function object(description: string, properties: Readonly<Record<string, JsonSchema>>): JsonSchema {
  return { type: 'object', description, required: Object.keys(properties), properties };
}

export function orNull(schema: JsonSchema): JsonSchema {
  const { anyOf } = schema;
  return Array.isArray(anyOf)
    ? { ...schema, anyOf: [...(anyOf as readonly JsonSchema[]), { type: 'null' }] }
    : { ...schema, type: [schema['type'], 'null'] };
}

export const text = (description: string): JsonSchema => ({ type: 'string', description });
export const unixSeconds = (description: string): JsonSchema => ({
  type: 'integer',
  minimum: 0,
  description: `${description} Unix time in seconds.`,
});
export const decimal = (description: string): JsonSchema => ({
  type: 'string',
  pattern: '^[0-9]+(\\.[0-9]+)?$',
  description,
});
/** An EVM chain that only the networks file defines has its name as value. */
const CHAIN_WORDS = `Chain value: one of ${PRESET_CHAINS.join(', ')}, or the name of an EVM chain of the gateway's networks file.`;
export const chain: JsonSchema = {
  type: 'string',
  pattern: CHAIN_PATTERN,
  description: CHAIN_WORDS,
  examples: PRESET_CHAINS,
};
export const orderStatus: JsonSchema = { type: 'string', enum: ORDER_STATUSES, description: 'Order status.' };
export const orderId: JsonSchema = {
  type: 'string',
  pattern: NAME_PATTERN,
  description: "The merchant's order id: 1 to 64 letters, digits and `_ - . : ~ @`.",
};
export const uid = orNull({ type: 'string', description: 'User identifier, null when none was given.' });
