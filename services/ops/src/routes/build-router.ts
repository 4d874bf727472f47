import express, { type ErrorRequestHandler, type Express, type RequestHandler, type Response } from 'express';
import helmet from 'helmet';
import { OPS_OPERATIONS, OPS_ROUTES, type OpsOperation } from '@opentill/contracts/ops/catalog';
import { OPS_OPENAPI_DOCUMENT } from '@opentill/contracts/ops/openapi';
import type { OpsRoute } from '@opentill/contracts/ops/route';
import type { NewId } from '@opentill/runtime/ids';
import { errorResponse, toErrorBody, send, type Answer } from '../response.ts';
import type { Authenticate } from '../authenticate.ts';
import { exchangeOf, keepExchange, type Exchange } from '../exchange.ts';
import type { SendCsv } from '../exports/send-csv.ts';
import type { Act, CsvExport, Done, Handlers } from '../handlers.ts';
import type { LimitReads } from '../limit-reads.ts';
import type { Observe } from '../observe.ts';
import type { Page } from '../page.ts';
import type { Perform } from '../perform.ts';
import { opsError } from '../ops-error.ts';
import { createCheckInput } from './check-input.ts';

export interface RouterDeps {
  readonly handlers: Handlers;
  readonly authenticate: Authenticate;
  readonly perform: Perform;
  readonly sendCsv: SendCsv;
  readonly limitReads: LimitReads;
  readonly observe: Observe;
  readonly newId: NewId;
}

type Input = Readonly<Record<string, unknown>>;

const readJson = express.json({ limit: '128kb', type: 'application/json', inflate: false });

/** A known path answers other methods with 405, an unknown path with 404. */
export function buildRouter(deps: RouterDeps): Express {
  const app = express();
  app.disable('x-powered-by').disable('etag').set('query parser', false);
  app.use(beginExchange(deps.newId), securityHeaders());
  app.get(
    '/openapi.json',
    answering(deps, 'openapi', async () => ({ status: 200, body: OPS_OPENAPI_DOCUMENT })),
  );
  for (const [path, operations] of Map.groupBy(OPS_OPERATIONS, (id) => OPS_ROUTES[id].path)) {
    const route = app.route(path.replaceAll(/\{(\w+)\}/g, ':$1'));
    for (const id of operations) {
      const method = OPS_ROUTES[id].method.toLowerCase() as 'get' | 'post' | 'patch';
      route[method](operationRoute(deps, id));
    }
    const allowed = operations.map((id) => OPS_ROUTES[id].method).join(', ');
    route.all(answering(deps, 'method not allowed', () => methodNotAllowed(allowed)));
  }
  app.use(
    answering(deps, 'not found', () => {
      throw opsError('NOT_FOUND', 'There is no such path; GET /openapi.json lists all paths.');
    }),
  );
  app.use(answerRouterError(deps));
  return app;
}

function methodNotAllowed(allowed: string): never {
  throw opsError('METHOD_NOT_ALLOWED', `This path allows ${allowed}.`);
}

function beginExchange(newId: NewId): RequestHandler {
  return (request, response, next) => {
    const requestId = newId();
    keepExchange(response, {
      requestId,
      startedMs: performance.now(),
      clientAddress: request.socket.remoteAddress ?? 'unknown',
      method: request.method,
      operation: 'none',
    });
    response.setHeader('X-Request-Id', requestId);
    response.setHeader('Cache-Control', 'no-store');
    next();
  };
}

function securityHeaders(): RequestHandler {
  return helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { 'default-src': ["'none'"], 'frame-ancestors': ["'none'"] },
    },
  });
}

type Respond = (
  exchange: Exchange,
  request: express.Request,
  response: Response,
) => Promise<Answer | undefined>;

/** Sends what `respond` returns or throws. Undefined: `respond` has sent the response itself. */
function answering(deps: RouterDeps, operation: string, respond: Respond): RequestHandler {
  return async (request, response) => {
    const exchange = exchangeOf(response);
    exchange.operation = operation;
    let answer: Answer | undefined;
    try {
      answer = await respond(exchange, request, response);
    } catch (error) {
      answer = toErrorAnswer(deps, exchange, error);
    }
    if (answer !== undefined) {
      // The unread rest of a body must not be parsed as the next request.
      if (!request.complete) response.setHeader('Connection', 'close');
      send(response, answer);
    }
    deps.observe.requestAnswered(exchange, response.statusCode);
  };
}

function toErrorAnswer({ observe }: RouterDeps, exchange: Exchange, error: unknown): Answer {
  const refusal = toErrorBody(error);
  const answer = errorResponse(refusal, exchange.requestId);
  if (answer.status >= 500) observe.requestFailed(exchange, error);
  return answer;
}

/** Authentication, then role, then input: without permission a client learns no more. */
function operationRoute(deps: RouterDeps, id: OpsOperation): RequestHandler {
  const route: OpsRoute = OPS_ROUTES[id];
  const checkInput = createCheckInput(route);
  const audited = route.kind === 'ACT' || route.kind === 'EXPORT';
  return answering(deps, id, async (exchange, request, response) => {
    let input: Input | undefined;
    try {
      const operator = await deps.authenticate.operatorOf(exchange, request.headers.authorization);
      await deps.perform.requireRole(operator, route);
      if (route.body !== undefined) await parseBody(request, response);
      input = checkInput(request);
      return await answerOperation(deps, id, { exchange, operator, input, response });
    } catch (error) {
      if (audited) await deps.perform.auditRefusal(exchange, { id, route, ...(input && { input }) }, error);
      throw error;
    }
  });
}

function parseBody(request: express.Request, response: Response): Promise<void> {
  return new Promise((resolve, reject) => {
    readJson(request, response, (error?: unknown) => {
      if (error === undefined) return resolve();
      const { type } = error as { readonly type?: string };
      if (type === 'entity.too.large')
        reject(opsError('BODY_TOO_LARGE', 'The body may have at most 128 KiB.'));
      else if (type === 'encoding.unsupported' || type === 'charset.unsupported') {
        reject(opsError('MEDIA_TYPE_UNSUPPORTED', 'Send the body as application/json, in UTF-8.'));
      } else reject(opsError('BODY_INVALID', 'The body must be a JSON object.'));
    });
  });
}

interface Called {
  readonly exchange: Exchange;
  readonly operator: NonNullable<Exchange['operator']>;
  readonly input: Input;
  readonly response: Response;
}

/** Leaves out the types of single operations, which the catalog has checked. */
interface AnyHandlers {
  readonly read: (input: Input, operator: Called['operator']) => Promise<unknown>;
  readonly list: (input: Input) => Promise<Page<unknown>>;
  readonly act: (act: Act, input: Input) => Promise<Done<unknown>>;
  readonly export: (input: Input) => CsvExport;
}

async function answerOperation(
  deps: RouterDeps,
  id: OpsOperation,
  called: Called,
): Promise<Answer | undefined> {
  const { exchange, operator, input, response } = called;
  const route: OpsRoute = OPS_ROUTES[id];
  const handler = deps.handlers[id] as unknown;
  switch (route.kind) {
    case 'READ': {
      const read = () => (handler as AnyHandlers['read'])(input, operator);
      return { status: 200, body: { data: await deps.limitReads(operator.operatorId, read) } };
    }
    case 'LIST': {
      const list = () => (handler as AnyHandlers['list'])(input);
      return { status: 200, body: await deps.limitReads(operator.operatorId, list) };
    }
    case 'ACT': {
      const work = (act: Act) => (handler as AnyHandlers['act'])(act, input);
      const data = await deps.perform.act(exchange, operator, { id, route, input }, work);
      return { status: 200, body: { data } };
    }
    case 'EXPORT': {
      const wanted = (handler as AnyHandlers['export'])(input);
      const begin = async () => {
        const work = async () => ({ answer: null });
        await deps.perform.act(exchange, operator, { id, route, input }, work);
      };
      await deps.sendCsv(response, wanted, begin, (error) => deps.observe.requestFailed(exchange, error));
      return undefined;
    }
  }
}

/** Answers errors of express itself, such as an invalid percent encoding in the path. */
function answerRouterError(deps: RouterDeps): ErrorRequestHandler {
  return (error: unknown, _request, response, _next) => {
    const exchange = exchangeOf(response);
    const unreadable = (error as { readonly status?: unknown } | null)?.status === 400;
    const shown = unreadable ? opsError('INPUT_INVALID', 'The path has an invalid percent encoding.') : error;
    const answer = toErrorAnswer(deps, exchange, shown);
    send(response, answer);
    deps.observe.requestAnswered(exchange, answer.status);
  };
}
