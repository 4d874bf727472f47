import type { JsonSchema } from '../http/schemas.ts';
import type { OperatorRole } from './roles.ts';
import { integer, object, text, type Of, type Properties, type Schema } from './typed-schema.ts';

/** An ACT, and the start of an EXPORT (CSV), is one transaction with its audit entry. The other kinds only read. */
export type RouteKind = 'READ' | 'LIST' | 'ACT' | 'EXPORT';

/** The router, the client and the OpenAPI document are derived from it. */
export interface OpsRoute {
  readonly kind: RouteKind;
  readonly method: 'GET' | 'POST' | 'PATCH';
  /** Path with `{names}` of the path parameters. */
  readonly path: `/v1/${string}`;
  readonly roles: readonly OperatorRole[];
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  readonly params: Schema<object>;
  readonly query: Schema<object>;
  readonly body?: Schema<object>;
  /** `data` of the answer; for a LIST one of its elements. */
  readonly answer: Schema<unknown>;
}

type InputOfParts<R> = (R extends { readonly params: infer P } ? Of<P> : unknown) &
  (R extends { readonly query: infer Q } ? Of<Q> : unknown) &
  (R extends { readonly body: infer B } ? Of<B> : unknown);

/** Path parameters, query and body in one object. */
export type InputOf<R extends OpsRoute> = InputOfParts<R>;
export type AnswerOf<R extends OpsRoute> = Of<R['answer']>;

const NOTHING = {};
const none = object('None.', NOTHING);

interface RouteDefinition<Params extends Properties, A> {
  readonly roles: readonly OperatorRole[];
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  readonly params?: Params;
  readonly answer: Schema<A>;
}

const params = <P extends Properties>(properties: P | undefined) =>
  object('Path parameters.', properties ?? (NOTHING as P));

const PAGE = {
  limit: integer('Maximum elements of a page.', { minimum: 1, maximum: 200, default: 50 }),
  cursor: text('`nextCursor` of the previous page.', { minLength: 1, maxLength: 200 }),
};

export function read<
  const P extends `/v1/${string}`,
  A,
  Params extends Properties = Record<never, never>,
  Q extends Properties = Record<never, never>,
>(path: P, definition: RouteDefinition<Params, A> & { readonly query?: Q }) {
  const { query, ...rest } = definition;
  const queries = object('Query parameters.', NOTHING, query ?? (NOTHING as Q));
  return {
    ...rest,
    kind: 'READ',
    method: 'GET',
    path,
    params: params(definition.params),
    query: queries,
  } as const;
}

/** Newest first; objects added meanwhile do not appear on later pages. */
export function page<
  const P extends `/v1/${string}`,
  A,
  Params extends Properties = Record<never, never>,
  F extends Properties = Record<never, never>,
>(path: P, definition: RouteDefinition<Params, A> & { readonly filters?: F }) {
  const { filters, ...rest } = definition;
  const query = object('Query parameters.', NOTHING, { ...PAGE, ...(filters ?? (NOTHING as F)) });
  return { ...rest, kind: 'LIST', method: 'GET', path, params: params(definition.params), query } as const;
}

export function act<
  const P extends `/v1/${string}`,
  A,
  B extends object = object,
  Params extends Properties = Record<never, never>,
>(
  path: P,
  definition: RouteDefinition<Params, A> & { readonly body?: Schema<B>; readonly method?: 'POST' | 'PATCH' },
) {
  const { method = 'POST', body = none as unknown as Schema<B>, ...rest } = definition;
  return {
    ...rest,
    kind: 'ACT',
    method,
    path,
    params: params(definition.params),
    query: none,
    body,
  } as const;
}

export function csv<const P extends `/v1/${string}`, Q extends Properties>(
  path: P,
  definition: Omit<RouteDefinition<Record<never, never>, never>, 'answer' | 'params'> & {
    readonly query: Q;
    readonly columns: readonly string[];
  },
) {
  const { query, columns, ...rest } = definition;
  const queries = object('Query parameters.', query);
  const answer: Schema<never> = { type: 'string', description: `CSV: ${columns.join(', ')}` };
  return {
    ...rest,
    kind: 'EXPORT',
    method: 'GET',
    path,
    params: params(undefined),
    query: queries,
    answer,
  } as const;
}

export function answerEnvelope(route: Pick<OpsRoute, 'kind' | 'answer'>): JsonSchema {
  if (route.kind !== 'LIST') {
    return {
      type: 'object',
      additionalProperties: false,
      required: ['data'],
      properties: { data: route.answer },
    };
  }
  return {
    type: 'object',
    additionalProperties: false,
    required: ['data', 'nextCursor'],
    properties: {
      data: { type: 'array', items: route.answer },
      nextCursor: {
        type: ['string', 'null'],
        description: 'Cursor of the next page; null: this is the last page.',
      },
    },
  };
}
