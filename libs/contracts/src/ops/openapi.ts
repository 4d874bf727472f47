import type { JsonSchema } from '../http/schemas.ts';
import { OPS_OPERATIONS, OPS_ROUTES } from './catalog.ts';
import { OPS_ERRORS, type OpsErrorCode } from './errors.ts';
import { cursor, decision, incident, nonce, order, orderDetail, payout } from './order-views.ts';
import { answerEnvelope, type OpsRoute } from './route.ts';
import { transfer } from './transfer-routes.ts';

/** Named in the document, because several answers contain them. */
const NAMED: ReadonlyMap<unknown, string> = new Map(
  Object.entries({
    Merchant: OPS_ROUTES.getMerchant.answer,
    CallbackEndpoint: OPS_ROUTES.listCallbackEndpoints.answer,
    Order: order,
    OrderDetail: orderDetail,
    Transfer: transfer,
    Decision: decision,
    Payout: payout,
    Nonce: nonce,
    Halt: OPS_ROUTES.setHalt.answer,
    Hold: OPS_ROUTES.setHold.answer,
    Incident: incident,
    ChainCursor: cursor,
    Rescan: OPS_ROUTES.getRescan.answer,
    Operator: OPS_ROUTES.getMe.answer,
  }).map(([name, schema]) => [schema, name]),
);

/** Replaces named schemas by references; `top` itself is written in full. */
function byName(value: unknown, top?: unknown): unknown {
  const name = value === top ? undefined : NAMED.get(value);
  if (name !== undefined) return { $ref: `#/components/schemas/${name}` };
  if (Array.isArray(value)) return value.map((item) => byName(item, top));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, byName(item, top)]));
}

const SCHEMAS = Object.fromEntries([...NAMED].map(([schema, name]) => [name, byName(schema, schema)]));

export const OPS_ERROR_SCHEMA: JsonSchema = {
  type: 'object',
  description: 'A refusal: a stable code, and a message that says what to correct.',
  additionalProperties: false,
  required: ['error'],
  properties: {
    error: {
      type: 'object',
      additionalProperties: false,
      required: ['code', 'message', 'requestId'],
      properties: {
        code: { type: 'string', enum: Object.keys(OPS_ERRORS) },
        message: { type: 'string' },
        requestId: { type: 'string', description: 'Id of the request in log and audit log.' },
      },
    },
  },
};

const ALWAYS: readonly OpsErrorCode[] = [
  'INPUT_INVALID',
  'UNAUTHENTICATED',
  'FORBIDDEN',
  'TOO_MANY_REQUESTS',
  'INTERNAL',
  'UNAVAILABLE',
];
const OF_ACTS: readonly OpsErrorCode[] = [
  'BODY_INVALID',
  'BODY_TOO_LARGE',
  'MEDIA_TYPE_UNSUPPORTED',
  'EXISTS',
  'STATE_CONFLICT',
  'OWN_ROLE',
  'UNPROCESSABLE',
];

function refusals(route: OpsRoute): Record<string, object> {
  const codes: OpsErrorCode[] = [...ALWAYS];
  if (route.kind === 'ACT') codes.push(...OF_ACTS);
  if (route.kind === 'LIST') codes.push('CURSOR_INVALID');
  if (route.path.includes('{') || route.kind === 'ACT') codes.push('NOT_FOUND');
  const byStatus = Map.groupBy(codes, (code) => OPS_ERRORS[code]);
  return Object.fromEntries(
    [...byStatus]
      .toSorted(([a], [b]) => a - b)
      .map(([status, of]) => [
        String(status),
        {
          description: of.join(' · '),
          content: { 'application/json': { schema: { $ref: '#/components/schemas/Refusal' } } },
        },
      ]),
  );
}

function parameters(schema: JsonSchema, place: 'path' | 'query'): readonly object[] {
  const properties = schema['properties'] as Readonly<Record<string, JsonSchema>>;
  const required = schema['required'] as readonly string[];
  return Object.entries(properties).map(([name, { description, ...rest }]) => ({
    name,
    in: place,
    required: required.includes(name),
    description,
    schema: rest,
  }));
}

function operation(operationId: string, route: OpsRoute): object {
  const type = route.kind === 'EXPORT' ? 'text/csv' : 'application/json';
  const schema = byName(route.kind === 'EXPORT' ? route.answer : answerEnvelope(route));
  return {
    operationId,
    summary: route.summary,
    ...(route.description === undefined ? {} : { description: route.description }),
    tags: [route.tag],
    'x-roles': route.roles,
    parameters: [...parameters(route.params, 'path'), ...parameters(route.query, 'query')],
    ...(route.body === undefined
      ? {}
      : { requestBody: { required: false, content: { 'application/json': { schema: route.body } } } }),
    responses: { '200': { description: 'Done', content: { [type]: { schema } } }, ...refusals(route) },
  };
}

function paths(): Record<string, Record<string, object>> {
  const all: Record<string, Record<string, object>> = {};
  for (const id of OPS_OPERATIONS) {
    const route: OpsRoute = OPS_ROUTES[id];
    (all[route.path] ??= {})[route.method.toLowerCase()] = operation(id, route);
  }
  return all;
}

/** `golden/openapi-ops.json` is the reviewed copy. */
export const OPS_OPENAPI_DOCUMENT = {
  openapi: '3.1.0',
  info: {
    title: 'Opentill ops API',
    version: '1.0.0',
    description:
      'For operators, not for merchants. An answer is `{"data"}`, for a list `{"data","nextCursor"}`; a refusal is `{"error":{"code","message","requestId"}}`. Every act is recorded in the audit log, also a refused one. `x-roles` lists the roles that may call an operation.',
    license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
  },
  servers: [{ url: '/' }],
  security: [{ operator: [] }],
  paths: paths(),
  components: {
    securitySchemes: { operator: { type: 'http', scheme: 'bearer', description: 'An operator’s token.' } },
    schemas: { Refusal: OPS_ERROR_SCHEMA, ...SCHEMAS },
  },
};
