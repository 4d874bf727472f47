import express, {
  Router,
  type ErrorRequestHandler,
  type Express,
  type IRouter,
  type Request,
  type RequestHandler,
} from 'express';
import helmet from 'helmet';
import { refusal, refusalOf, send, type Answer } from '../answer.ts';
import type { NewId } from '@opentill/runtime/ids';
import { exchangeOf, keepExchange } from '../exchange.ts';
import type { Observe } from '../observe.ts';
import { createClientAddress } from '../client-address.ts';
import { checkoutAssetRoute, checkoutErrorPage, checkoutRoute, type CheckoutRouteDeps } from './checkout.ts';
import { allowOrigins, answerPreflight } from './cross-origin.ts';
import { docsAnswer, openApiAnswer } from './docs.ts';
import {
  CREATE_COLLECTION_PATH,
  CREATE_PAYOUT_PATH,
  createCollectionRoute,
  createPayoutRoute,
  getOrderStatusRoute,
  payRoute,
  statusRoute,
  type Route,
} from './order-routes.ts';
import { orderEventsRoute, type OrderEventsDeps } from './order-events.ts';
import { supportSymbolsRoute } from './support-symbols.ts';

/** The page for an error that is ours. */
type ErrorPage = (request: Request, status: number) => Answer;

export interface RouterDeps extends CheckoutRouteDeps, OrderEventsDeps {
  readonly observe: Observe;
  readonly newId: NewId;
  readonly trustedProxies: readonly string[];
  readonly corsOrigins: readonly string[];
  /** The production profile is behind TLS. */
  readonly strictTransportSecurity: boolean;
  /** GET /readyz; undefined where the public port has none. */
  readonly readiness: (() => Promise<Answer>) | undefined;
}

/** All routes. A path that exists answers other methods with 405, any other path with 404. */
export function buildRouter(deps: RouterDeps): Express {
  const { observe } = deps;
  const app = express();
  app.disable('x-powered-by').disable('etag').set('query parser', false);
  app.use(beginExchange(deps), securityHeaders(deps.strictTransportSecurity));

  const merchantRoutes = Router();
  addMerchantRoutes(placing(merchantRoutes, deps), deps);
  app.use(merchantRoutes);
  // A client whose base URL is `/m/<merchantId>` names its merchant by it, and signs the path as without it.
  app.use('/m/:merchantId', nameMerchant, merchantRoutes);
  const { get } = placing(app, deps);
  get('/checkout', checkoutRoute(deps), checkoutErrorPage(deps));
  get('/checkout/assets/:name', checkoutAssetRoute(deps));
  const openApi = openApiAnswer();
  const docs = docsAnswer();
  get('/openapi.json', () => openApi);
  get('/docs', () => docs);
  if (deps.readiness !== undefined) get('/readyz', deps.readiness);

  app.use(answerWith(observe, 'not found', () => refusal('NOT_FOUND'), undefined));
  app.use(answerRouterError(observe));
  return app;
}

type Placing = ReturnType<typeof placing>;

/** The ways to add a route to a router. */
function placing(router: IRouter, { observe, corsOrigins }: Pick<RouterDeps, 'observe' | 'corsOrigins'>) {
  const answering = (name: string, route: Route, errorPage?: ErrorPage): RequestHandler =>
    answerWith(observe, name, route, errorPage);
  const notAllowed = (allow: string): RequestHandler => {
    const answer = { ...refusal('METHOD_NOT_ALLOWED'), headers: { Allow: allow } };
    return answering('method not allowed', () => answer);
  };
  const origins = allowOrigins(corsOrigins);
  const preflight = answerPreflight(observe);
  return {
    post: (path: string, route: Route) =>
      router.route(path).post(answering(path, route)).all(notAllowed('POST')),
    get: (path: string, route: Route, errorPage?: ErrorPage) =>
      router
        .route(path)
        .get(answering(path, route, errorPage))
        .all(notAllowed('GET, HEAD')),
    getFromAnyPage: (path: string, route: Route) =>
      router
        .route(path)
        .get(origins, answering(path, route))
        .options(origins, preflight)
        .all(notAllowed('GET, HEAD, OPTIONS')),
  };
}

/** All routes below `/v1`. */
function addMerchantRoutes({ post, get, getFromAnyPage }: Placing, deps: RouterDeps): void {
  post(CREATE_COLLECTION_PATH, createCollectionRoute(deps));
  post(CREATE_PAYOUT_PATH, createPayoutRoute(deps));
  get('/v1/order/status/:orderId', statusRoute(deps));
  getFromAnyPage('/v1/order/pay', payRoute(deps));
  getFromAnyPage('/v1/order/getOrderStatus', getOrderStatusRoute(deps));
  getFromAnyPage('/v1/symbol/supportSymbols', supportSymbolsRoute(deps));
  getFromAnyPage('/v1/order/events', orderEventsRoute(deps));
}

const nameMerchant: RequestHandler = (request, response, next) => {
  exchangeOf(response).namedMerchantId = String(request.params['merchantId']);
  next();
};

/** Gives the request its id and its place in the log. */
function beginExchange(deps: Pick<RouterDeps, 'newId' | 'trustedProxies'>): RequestHandler {
  const clientAddressOf = createClientAddress(deps.trustedProxies);
  return (request, response, next) => {
    const requestId = deps.newId();
    keepExchange(response, {
      requestId,
      startedMs: performance.now(),
      clientAddress: clientAddressOf(request),
      method: request.method,
      route: 'none',
    });
    response.setHeader('X-Request-Id', requestId);
    response.setHeader('Cache-Control', 'no-store');
    next();
  };
}

/** For answers that are data: nothing may be loaded from them. Pages set their own policy over it. */
function securityHeaders(strictTransportSecurity: boolean): RequestHandler {
  return helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { 'default-src': ["'none'"], 'frame-ancestors': ["'none'"], 'base-uri': ["'none'"] },
    },
    strictTransportSecurity,
  });
}

function answerWith(
  observe: Observe,
  name: string,
  route: Route,
  errorPage: ErrorPage | undefined,
): RequestHandler {
  return async (request, response) => {
    const exchange = exchangeOf(response);
    exchange.route = name;
    let answer: Answer | undefined;
    try {
      answer = await route(request, exchange);
    } catch (error) {
      const refused = refusal(refusalOf(error));
      if (refused.status >= 500) observe.requestFailed(exchange, refused.status, error);
      answer = errorPage === undefined ? refused : errorPage(request, refused.status);
    }
    if (answer === undefined) return;
    // What is left of a body that was not read must not be taken for the next request.
    if (!request.complete) response.setHeader('Connection', 'close');
    send(response, answer);
    observe.requestAnswered(exchange, answer.status);
  };
}

/** What express itself refuses: a path whose percent signs make no sense. */
function answerRouterError(observe: Observe): ErrorRequestHandler {
  return (error: unknown, _request, response, _next) => {
    const exchange = exchangeOf(response);
    const unreadable = (error as { status?: unknown } | null)?.status === 400;
    const answer = refusal(unreadable ? 'BAD_REQUEST' : 'INTERNAL');
    if (!unreadable) observe.requestFailed(exchange, answer.status, error);
    send(response, answer);
    observe.requestAnswered(exchange, answer.status);
  };
}
