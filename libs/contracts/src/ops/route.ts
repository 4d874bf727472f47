import type { JsonSchema } from '../http/schemas.ts';
import type { OperatorRole } from './roles.ts';
import { integer, object, text, type Of, type Properties, type Schema } from './typed-schema.ts';

/**
 * What a route does. READ and LIST change nothing; an ACT is one transaction with its entry in the audit log, and so is
 * the begin of an EXPORT, which answers CSV.
 */
export type RouteKind = 'READ' | 'LIST' | 'ACT' | 'EXPORT';

/** One operation of the ops API: everything that the router, the client and the OpenAPI document are made of. */
export interface OpsRoute {
  readonly kind: RouteKind;
  readonly method: 'GET' | 'POST' | 'PATCH';
  /** With `{names}` of path parameters. */
  readonly path: `/v1/${string}`;
  readonly roles: readonly OperatorRole[];
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  readonly params: Schema<object>;
  readonly query: Schema<object>;
  /** Of an ACT. */
  readonly body?: Schema<object>;
  /** `data` of the answer; of a LIST its elements. */
  readonly answer: Schema<unknown>;
}

type InputOfParts<R> = (R extends { readonly params: infer P } ? Of<P> : unknown) &
  (R extends { readonly query: infer Q } ? Of<Q> : unknown) &
  (R extends { readonly body: infer B } ? Of<B> : unknown);

/** Path parameters, query and body of an operation, in one object. */
export type InputOf<R extends OpsRoute> = InputOfParts<R>;
/** `data` of its answer; of a LIST an element of it. */
export type AnswerOf<R extends OpsRoute> = Of<R['answer']>;

const NOTHING = {};
const none = object('None.', NOTHING);

interface Told<Params extends Properties, A> {
  readonly roles: readonly OperatorRole[];
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  readonly params?: Params;
  readonly answer: Schema<A>;
}

const params = <P extends Properties>(properties: P | undefined) =>
  object('Of the path.', properties ?? (NOTHING as P));

/** How a list is asked for, page by page. */
const PAGE = {
  limit: integer('The most elements of a page.', { minimum: 1, maximum: 200, default: 50 }),
  cursor: text('`nextCursor` of the page before.', { minLength: 1, maxLength: 200 }),
};

/** GET of one thing. */
export function read<
  const P extends `/v1/${string}`,
  A,
  Params extends Properties = Record<never, never>,
  Q extends Properties = Record<never, never>,
>(path: P, told: Told<Params, A> & { readonly query?: Q }) {
  const { query, ...rest } = told;
  const queries = object('Of the query.', NOTHING, query ?? (NOTHING as Q));
  return { ...rest, kind: 'READ', method: 'GET', path, params: params(told.params), query: queries } as const;
}

/** GET of a page, newest first; what is added meanwhile is on no later page. */
export function page<
  const P extends `/v1/${string}`,
  A,
  Params extends Properties = Record<never, never>,
  F extends Properties = Record<never, never>,
>(path: P, told: Told<Params, A> & { readonly filters?: F }) {
  const { filters, ...rest } = told;
  const query = object('Of the query.', NOTHING, { ...PAGE, ...(filters ?? (NOTHING as F)) });
  return { ...rest, kind: 'LIST', method: 'GET', path, params: params(told.params), query } as const;
}

/** What changes something. */
export function act<
  const P extends `/v1/${string}`,
  A,
  B extends object = object,
  Params extends Properties = Record<never, never>,
>(path: P, told: Told<Params, A> & { readonly body?: Schema<B>; readonly method?: 'POST' | 'PATCH' }) {
  const { method = 'POST', body = none as unknown as Schema<B>, ...rest } = told;
  return { ...rest, kind: 'ACT', method, path, params: params(told.params), query: none, body } as const;
}

/** GET of a CSV file. */
export function csv<const P extends `/v1/${string}`, Q extends Properties>(
  path: P,
  told: Omit<Told<Record<never, never>, never>, 'answer' | 'params'> & {
    readonly query: Q;
    readonly columns: readonly string[];
  },
) {
  const { query, columns, ...rest } = told;
  const queries = object('Of the query.', query);
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

/** An answer with this `data`. */
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
      nextCursor: { type: ['string', 'null'], description: 'Of the next page; null: this is the last.' },
    },
  };
}
