import { expect } from 'vitest';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import ajvFormats from 'ajv-formats';
import { OPENAPI_DOCUMENT } from '@opentill/contracts/http/openapi';

export interface WireAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

const ajv = new Ajv2020({ strict: true, strictRequired: false, allowUnionTypes: true, allErrors: true });
ajvFormats.default(ajv);
ajv.addVocabulary(['components']);
ajv.addSchema(closed({ $id: 'api', components: OPENAPI_DOCUMENT.components }) as object);
const compiled = new Map<string, ValidateFunction>();

/** The OpenAPI document allows additional members; the tests do not. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const entries = Object.entries(schema).map(([key, value]) => [
    key,
    key === '$ref' && typeof value === 'string' ? value.replace(/^#/, 'api#') : closed(value),
  ]);
  const copy = Object.fromEntries(entries) as Record<string, unknown>;
  if (copy['type'] === 'object' && typeof copy['properties'] === 'object')
    copy['additionalProperties'] = false;
  return copy;
}

type Operation = { responses: Record<string, { content: { 'application/json': { schema: object } } }> };

function operationOf(method: string, path: string): [string, Operation] | undefined {
  for (const [template, verbs] of Object.entries(OPENAPI_DOCUMENT.paths)) {
    const pattern = new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}/?$`);
    const operation = (verbs as Record<string, unknown>)[method.toLowerCase()];
    if (pattern.test(path) && operation !== undefined) return [template, operation as Operation];
  }
  return undefined;
}

/** Checks the envelope's order of members, the status, the request id and the documented schema. */
export function expectDocumented(method: string, path: string, answer: WireAnswer): void {
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(answer.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  const body = JSON.parse(answer.text) as { code: unknown; data: unknown };
  const members = ['code', 'msg', 'data', ...('detail' in body ? ['detail'] : [])];
  expect(Object.keys(body)).toEqual(members);
  expect(body.code).toBe(answer.status);
  if (answer.status !== 200) expect(body.data).toBeNull();

  const operation = operationOf(method, path);
  if (operation === undefined) return;
  const [template, { responses }] = operation;
  const documented = responses[String(answer.status)];
  if (documented === undefined) throw new Error(`${method} ${template}: ${answer.status} is not documented`);
  const key = `${method} ${template} ${answer.status}`;
  const validate =
    compiled.get(key) ?? ajv.compile(closed(documented.content['application/json'].schema) as object);
  compiled.set(key, validate);
  expect({ errors: validate(body) ? [] : validate.errors, body }).toEqual({ errors: [], body });
}
