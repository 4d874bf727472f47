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
import { explainBody } from '../explain/explain-envelope.ts';
import { exchangeOf, keepExchange } from '../exchange.ts';
import type { Observe } from '../observe.ts';
import { createClientAddress } from '../client-address.ts';
import {
  checkoutAssetRoute,
  checkoutErrorPage,
  checkoutRoute,
  chooseOnPageRoute,
  unknownPathPage,
  type CheckoutRouteDeps,
} from './checkout.ts';
import { chooseOptionRoute } from './choose-option.ts';
import { allowOrigins, answerPreflight } from './cross-origin.ts';
import {
  docsRoute,
  faviconAnswer,
  guideRoute,
  guidesAnswer,
  openApiAnswer,
  rootAnswer,
  withoutSlash,
  type DocsDeps,
} from './docs.ts';
import { LINK_PAGE_PATH, linkCodeRoute, linkPageRoute, openLinkOrderRoute } from './link-page.ts';
import { linkRoutes } from './link-routes.ts';
import { merchantLogoRoute } from './merchant-logo.ts';
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

type ErrorPage = (request: Request, status: number) => Answer;

export interface RouterDeps extends CheckoutRouteDeps, OrderEventsDeps, DocsDeps {
  readonly observe: Observe;
  readonly newId: NewId;
  readonly trustedProxies: readonly string[];
  readonly corsOrigins: readonly string[];
  /** True in the production profile, which is behind TLS. */
  readonly strictTransportSecurity: boolean;
  /** GET /readyz; undefined when the public port does not serve it. */
  readonly readiness: (() => Promise<Answer>) | undefined;
}

/** Builds all routes. A known path answers other methods with 405, an unknown path with 404. */
export function buildRouter(deps: RouterDeps): Express {
  const { observe } = deps;
  const app = express();
  app.disable('x-powered-by').disable('etag').set('query parser', false);
  app.use(beginExchange(deps), securityHeaders(deps.strictTransportSecurity));

  const merchantRoutes = Router();
  addMerchantRoutes(routeAdders(merchantRoutes, deps), deps);
  app.use(merchantRoutes);
  // A base URL `/m/<merchantId>` names the merchant. The signed path excludes this prefix.
  app.use('/m/:merchantId', nameMerchant, merchantRoutes);
  const { get, getOrPost } = routeAdders(app, deps);
  get('/m/:merchantId/logo', merchantLogoRoute(deps));
  getOrPost('/checkout', checkoutRoute(deps), chooseOnPageRoute(deps), checkoutErrorPage(deps));
  get('/checkout/assets/:name', checkoutAssetRoute(deps));
  getOrPost(LINK_PAGE_PATH, linkPageRoute(deps), openLinkOrderRoute(deps), checkoutErrorPage(deps));
  get(`${LINK_PAGE_PATH}/qr.svg`, linkCodeRoute(deps));
  const unknown: Route = (request) =>
    unknownPathPage(deps, request) ?? refusal('NOT_FOUND', 'path: is unknown; /docs lists all paths');
  addDocuments(get, deps, unknown);
  if (deps.readiness !== undefined) get('/readyz', deps.readiness);

  app.use(answerWith(observe, 'not found', unknown, undefined));
  app.use(answerRouterError(observe));
  return app;
}

function addDocuments(get: RouteAdders['get'], deps: DocsDeps, unknown: Route): void {
  const [openApi, favicon, root, guides] = [openApiAnswer(), faviconAnswer(), rootAnswer(), guidesAnswer()];
  const guide = guideRoute();
  get('/', () => root);
  get('/docs', withoutSlash(docsRoute(deps)));
  get(
    '/docs/guides',
    withoutSlash(() => guides),
  );
  // A wildcard is a list of segments.
  get(
    '/docs/guides/*path',
    withoutSlash(
      (request, exchange) => guide([request.params['path'] ?? []].flat()) ?? unknown(request, exchange),
    ),
  );
  get('/openapi.json', () => openApi);
  // Browsers ask for the second one on pages that name no icon.
  get('/favicon.svg', () => favicon);
  get('/favicon.ico', () => favicon);
}

type RouteAdders = ReturnType<typeof routeAdders>;

function routeAdders(router: IRouter, { observe, corsOrigins }: Pick<RouterDeps, 'observe' | 'corsOrigins'>) {
  const answering = (name: string, route: Route, errorPage?: ErrorPage): RequestHandler =>
    answerWith(observe, name, route, errorPage);
  const notAllowed = (allow: string): RequestHandler => {
    const detail = `method: this path takes ${allow}`;
    const answer = { ...refusal('METHOD_NOT_ALLOWED', detail), headers: { Allow: allow } };
    return answering('method not allowed', () => answer);
  };
  const origins = allowOrigins(corsOrigins);
  return {
    post: (path: string, route: Route) =>
      router.route(path).post(answering(path, route)).all(notAllowed('POST')),
    get: (path: string, route: Route, errorPage?: ErrorPage) =>
      router
        .route(path)
        .get(answering(path, route, errorPage))
        .all(notAllowed('GET, HEAD')),
    getOrPost: (path: string, route: Route, posted: Route, errorPage: ErrorPage) =>
      router
        .route(path)
        .get(answering(path, route, errorPage))
        .post(answering(path, posted, errorPage))
        .all(notAllowed('GET, HEAD, POST')),
    getFromAnyPage: (path: string, route: Route) =>
      router
        .route(path)
        .get(origins, answering(path, route))
        .options(origins, answerPreflight(observe, 'GET'))
        .all(notAllowed('GET, HEAD, OPTIONS')),
    postFromAnyPage: (path: string, route: Route) =>
      router
        .route(path)
        .post(origins, answering(path, route))
        .options(origins, answerPreflight(observe, 'POST'))
        .all(notAllowed('POST, OPTIONS')),
  };
}

function addMerchantRoutes(
  { post, get, getFromAnyPage, postFromAnyPage }: RouteAdders,
  deps: RouterDeps,
): void {
  post(CREATE_COLLECTION_PATH, createCollectionRoute(deps));
  post(CREATE_PAYOUT_PATH, createPayoutRoute(deps));
  for (const [path, route] of linkRoutes(deps)) post(path, route);
  get('/v1/order/status/:orderId', statusRoute(deps));
  getFromAnyPage('/v1/order/pay', payRoute(deps));
  getFromAnyPage('/v1/order/getOrderStatus', getOrderStatusRoute(deps));
  getFromAnyPage('/v1/symbol/supportSymbols', supportSymbolsRoute(deps));
  getFromAnyPage('/v1/order/events', orderEventsRoute(deps));
  postFromAnyPage('/v1/order/choose', chooseOptionRoute(deps));
}

const nameMerchant: RequestHandler = (request, response, next) => {
  exchangeOf(response).namedMerchantId = String(request.params['merchantId']);
  next();
};

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

/** For data responses: browsers must not load further resources from them. Pages set their own policy. */
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
      const refused = refusal(refusalOf(error), explainBody(error));
      if (refused.status >= 500) observe.requestFailed(exchange, refused.status, error);
      answer = errorPage === undefined ? refused : errorPage(request, refused.status);
    }
    if (answer === undefined) return;
    // The rest of an unread body must not be parsed as the next request.
    if (!request.complete) response.setHeader('Connection', 'close');
    send(response, answer);
    observe.requestAnswered(exchange, answer.status);
  };
}

/** Answers errors of express itself, such as a path with invalid percent-encoding. */
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
