import { createServer, type Server } from 'node:http';
import express, {
  type Express,
  type NextFunction,
  type Request,
  type RequestHandler,
  type Response,
} from 'express';
import { OpentillError } from '@opentill/sdk/opentill-error';
import { createCallbackBook } from './callbacks.ts';
import { DevnetRefusal } from './devnet-refusal.ts';
import { problemPage } from './pages/layout.ts';
import { createPayOrder } from './pay-order.ts';
import { addCallbacks } from './routes/callbacks.ts';
import { addDevnet } from './routes/devnet.ts';
import { addFiles } from './routes/files.ts';
import { addShop } from './routes/shop.ts';
import { requireOwnPage } from './require-own-page.ts';
import { RequestRefusal } from './request-refusal.ts';
import type { ShopDeps } from './shop-deps.ts';
import type { ShopOrder } from './shop-order.ts';

/** Answered when the gateway sent no HTTP status: the outcome of the request is unknown. */
const BAD_GATEWAY = 502;
const POLICY =
  "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/** A merchant's shop with a callback receiver, and the customers' wallet of the devnets. */
export function createApp(deps: ShopDeps): { start(): Promise<void>; stop(): Promise<void> } {
  const server: Server = createServer(buildShop(deps));
  return {
    start: () =>
      new Promise((resolve, reject) => {
        server.once('error', reject);
        server.listen(deps.port, deps.host, () => resolve());
      }),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

export function buildShop(deps: ShopDeps): Express {
  const orders: ShopOrder[] = [];
  const book = createCallbackBook();
  const payOrder = createPayOrder(deps.opentill, deps.wallet);
  const app = express();
  app.disable('x-powered-by');
  app.use(pageHeaders, requireOwnPage);
  addFiles(app);
  addShop(app, { ...deps, orders, payOrder, callbacks: book });
  addCallbacks(app, { ...deps, orders, book });
  addDevnet(app, { ...deps, payOrder });
  app.use((req, res) => answerProblem(req, res, 404, 'There is no such page in this shop.'));
  app.use((error: unknown, req: Request, res: Response, _next: NextFunction) => {
    if (error instanceof OpentillError)
      return answerProblem(req, res, error.httpStatus ?? BAD_GATEWAY, textOf(error));
    if (error instanceof RequestRefusal) return answerProblem(req, res, error.status, error.message);
    if (error instanceof DevnetRefusal) return answerProblem(req, res, 400, error.message);
    const refused = refusedByParser(error);
    if (refused !== undefined) return answerProblem(req, res, refused.status, refused.message);
    deps.logger.error('shop request failed', { error: String(error) });
    answerProblem(req, res, 500, 'The demo shop failed; its log says why.');
  });
  return app;
}

/** Express and its body parser give their errors a status. */
function refusedByParser(error: unknown): { readonly status: number; readonly message: string } | undefined {
  const { status, message } = (error ?? {}) as { status?: unknown; message?: unknown };
  if (typeof status !== 'number' || status < 400 || status >= 500) return undefined;
  return { status, message: `The request cannot be read: ${String(message)}` };
}

const textOf = ({ message, detail }: OpentillError): string =>
  detail === undefined ? message : `${message} (${detail})`;

const pageHeaders: RequestHandler = (_req, res, next) => {
  res.set({ 'Content-Security-Policy': POLICY, 'X-Content-Type-Options': 'nosniff' });
  next();
};

/** A page for browsers, JSON for programs. */
function answerProblem(req: Request, res: Response, status: number, message: string): void {
  res.status(status);
  if (req.accepts(['json', 'html']) === 'html') res.type('html').send(problemPage(message));
  else res.json({ error: message });
}
