import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import ajvFormats from 'ajv-formats';
import type { Request } from 'express';
import type { OpsRoute } from '@opentill/contracts/ops/route';
import { opsError } from '../ops-error.ts';

export type CheckInput = (request: Request) => Readonly<Record<string, unknown>>;

const OPTIONS = {
  allErrors: true,
  useDefaults: true,
  strict: true,
  strictRequired: false,
  allowUnionTypes: true,
  validateSchema: false, // a test of the contract checks it
} as const;

function createAjv(coerceTypes: boolean): Ajv2020 {
  const ajv = new Ajv2020({ ...OPTIONS, coerceTypes });
  ajvFormats.default(ajv);
  return ajv;
}

/** Path and query are strings to convert. A body must have the right types. */
const ajvForStrings = createAjv(true);
const ajvForJson = createAjv(false);

/** @returns a function that throws GatewayError INPUT_INVALID, with every error, or MEDIA_TYPE_UNSUPPORTED */
export function createCheckInput(route: OpsRoute): CheckInput {
  const params = ajvForStrings.compile(route.params);
  const query = ajvForStrings.compile(route.query);
  const body = route.body === undefined ? undefined : ajvForJson.compile(route.body);
  return (request) => {
    const problems: string[] = [];
    const given = {
      ...validated(query, queryOf(request, problems), 'query', problems),
      ...(body === undefined ? {} : validated(body, bodyOf(request), 'body', problems)),
      ...validated(params, { ...request.params }, 'path', problems),
    };
    if (problems.length > 0) throw opsError('INPUT_INVALID', `${problems.slice(0, 10).join('; ')}.`);
    return given;
  };
}

function validated(
  validate: ValidateFunction,
  value: Record<string, unknown>,
  place: string,
  problems: string[],
): Record<string, unknown> {
  if (!validate(value)) for (const error of validate.errors ?? []) problems.push(describe(place, error));
  return value;
}

/** Omits the value, which may be a misplaced secret. */
function describe(place: string, error: ErrorObject): string {
  const name = [place, ...error.instancePath.split('/').slice(1)].join('.');
  const params = error.params as Readonly<Record<string, unknown>>;
  if (error.keyword === 'enum')
    return `${name} must be one of ${(params['allowedValues'] as string[]).join(', ')}`;
  if (error.keyword === 'additionalProperties') {
    return `${name} has an unknown member: ${String(params['additionalProperty']).slice(0, 50)}`;
  }
  return `${name} ${error.message ?? 'is wrong'}`;
}

function queryOf(request: Request, problems: string[]): Record<string, unknown> {
  const queryStart = request.url.indexOf('?');
  const given = new URLSearchParams(queryStart < 0 ? '' : request.url.slice(queryStart + 1));
  const query: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  for (const [name, value] of given) {
    if (name in query) problems.push(`query.${name.slice(0, 50)} is given twice`);
    query[name] = value;
  }
  return { ...query };
}

function bodyOf(request: Request): Record<string, unknown> {
  const body: unknown = request.body;
  if (body === undefined) {
    const hasBody =
      request.headers['transfer-encoding'] !== undefined ||
      Number(request.headers['content-length'] ?? 0) > 0;
    if (!hasBody) return {};
    throw opsError('MEDIA_TYPE_UNSUPPORTED', 'Send the body as application/json.');
  }
  if (typeof body === 'object' && body !== null && !Array.isArray(body))
    return body as Record<string, unknown>;
  throw opsError('BODY_INVALID', 'The body must be a JSON object.');
}
