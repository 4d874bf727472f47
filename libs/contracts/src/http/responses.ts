import { API_ERRORS, type ApiErrorCode } from './api-errors.ts';
import { successEnvelope, type ApiSchemaName, type JsonSchema } from './schemas.ts';

export const ref = (name: ApiSchemaName): JsonSchema => ({ $ref: `#/components/schemas/${name}` });

/** Possible for every operation. */
const ALWAYS: readonly ApiErrorCode[] = ['TOO_MANY_REQUESTS', 'INTERNAL', 'SERVICE_UNAVAILABLE'];
function answer(description: string, schema: JsonSchema): object {
  return { description, content: { 'application/json': { schema } } };
}

/** Responses of an operation for OpenAPI. @param more errors with texts of their own */
export function responses(
  success: JsonSchema,
  errors: readonly ApiErrorCode[],
  more: readonly [number, string][] = [],
) {
  const textsByStatus = new Map<number, string[]>();
  const all = [...errors, ...ALWAYS].map((code) => [API_ERRORS[code].status, API_ERRORS[code].msg] as const);
  for (const [status, msg] of [...all, ...more].toSorted((a, b) => a[0] - b[0])) {
    textsByStatus.set(status, [...(textsByStatus.get(status) ?? []), msg]);
  }
  const refusals = [...textsByStatus].map(([status, texts]) => [
    String(status),
    {
      description: texts.join(' · '),
      ...(status === 429
        ? { headers: { 'Retry-After': { description: 'Seconds to wait.', schema: { type: 'integer' } } } }
        : {}),
      content: {
        'application/json': {
          schema: ref('ErrorEnvelope'),
          examples: Object.fromEntries(
            texts.map((msg) => [msg, { value: { code: status, msg, data: null } }]),
          ),
        },
      },
    },
  ]);
  return { '200': answer('Success', successEnvelope(success)), ...Object.fromEntries(refusals) };
}
