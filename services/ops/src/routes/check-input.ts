import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import ajvFormats from 'ajv-formats';
import type { Request } from 'express';
import type { OpsRoute } from '@opentill/contracts/ops/route';
import { refuse } from '../refuse.ts';

/** Reads and checks what a request gives: path parameters, query and body, as one object. */
export type CheckInput = (request: Request) => Readonly<Record<string, unknown>>;

const OPTIONS = {
  allErrors: true,
  useDefaults: true,
  strict: true,
  strictRequired: false,
  allowUnionTypes: true,
  validateSchema: false, // a test of the contract sees to it
} as const;

function createAjv(coerceTypes: boolean): Ajv2020 {
  const ajv = new Ajv2020({ ...OPTIONS, coerceTypes });
  ajvFormats.default(ajv);
  return ajv;
}

/** Texts of path and query become the integers and booleans that the schemas ask for; a body must have them as such. */
const ofTexts = createAjv(true);
const ofJson = createAjv(false);

/**
 * Compiles the schemas of a route.
 * @returns a function that throws GatewayError INPUT_INVALID, which names every mistake, or MEDIA_TYPE_UNSUPPORTED
 */
export function createCheckInput(route: OpsRoute): CheckInput {
  const params = ofTexts.compile(route.params);
  const query = ofTexts.compile(route.query);
  const body = route.body === undefined ? undefined : ofJson.compile(route.body);
  return (request) => {
    const problems: string[] = [];
    const given = {
      ...checked(query, queryOf(request, problems), 'query', problems),
      ...(body === undefined ? {} : checked(body, bodyOf(request), 'body', problems)),
      ...checked(params, { ...request.params }, 'path', problems),
    };
    if (problems.length > 0) throw refuse('INPUT_INVALID', `${problems.slice(0, 10).join('; ')}.`);
    return given;
  };
}

function checked(
  validate: ValidateFunction,
  value: Record<string, unknown>,
  place: string,
  problems: string[],
): Record<string, unknown> {
  if (!validate(value)) for (const error of validate.errors ?? []) problems.push(describe(place, error));
  return value;
}

/** ajv's words without the value, which may be a secret that somebody put into the wrong place. */
function describe(place: string, error: ErrorObject): string {
  const name = [place, ...error.instancePath.split('/').slice(1)].join('.');
  const params = error.params as Readonly<Record<string, unknown>>;
  if (error.keyword === 'enum')
    return `${name} must be one of ${(params['allowedValues'] as string[]).join(', ')}`;
  if (error.keyword === 'additionalProperties') {
    return `${name} has a member that is not known: ${String(params['additionalProperty']).slice(0, 50)}`;
  }
  return `${name} ${error.message ?? 'is wrong'}`;
}

function queryOf(request: Request, problems: string[]): Record<string, unknown> {
  const mark = request.url.indexOf('?');
  const given = new URLSearchParams(mark < 0 ? '' : request.url.slice(mark + 1));
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
    throw refuse('MEDIA_TYPE_UNSUPPORTED', 'Send the body as application/json.');
  }
  if (typeof body === 'object' && body !== null && !Array.isArray(body))
    return body as Record<string, unknown>;
  throw refuse('BODY_INVALID', 'The body must be a JSON object.');
}
