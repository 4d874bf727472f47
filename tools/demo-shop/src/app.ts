import { createServer, type Server } from 'node:http';
import express, { type Express, type NextFunction, type Request, type Response } from 'express';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Clock } from '@opentill/runtime/clock';
import type { NewId } from '@opentill/runtime/ids';
import type { Logger } from '@opentill/runtime/logger';
import type { Opentill } from '@opentill/sdk/client';
import { OpentillError } from '@opentill/sdk/opentill-error';
import type { Chain, OrderFields } from '@opentill/sdk/orders';
import { expressCallbacks } from '@opentill/sdk/receive-callbacks';
import { createCallbackBook, nextOrderStatus } from './callbacks.ts';
import type { DevnetWallet } from './devnet-wallet.ts';
import { DevnetRefusal } from './devnet-refusal.ts';
import { callbacksPage, PRODUCTS, shopPage, type ShopOrder } from './pages.ts';
import { createPayOrder, type PayOrder } from './pay-order.ts';

export interface ShopDeps {
  readonly port: number;
  readonly host: string;
  readonly networks: readonly NetworkConfig[];
  readonly opentill: Opentill;
  readonly webhookSecret: string;
  readonly wallet: DevnetWallet;
  readonly clock: Clock;
  readonly newId: NewId;
  readonly logger: Logger;
}

const ORDERS_SHOWN_MAX = 200;
const BODY_LIMIT = '64kb';
/** Answered when the gateway sent no HTTP status: the outcome of the request is unknown. */
const BAD_GATEWAY = 502;

/** A merchant's shop with a callback receiver, and the customers' wallet of the devnets. */
export function createApp(deps: ShopDeps): { start(): Promise<void>; stop(): Promise<void> } {
  const orders: ShopOrder[] = [];
  const payOrder = createPayOrder(deps.opentill, deps.wallet);
  const app = express();
  app.disable('x-powered-by');
  addShop(app, deps, orders, payOrder);
  addCallbacks(app, deps, orders);
  addDevnet(app, deps, payOrder);
  app.use((error: unknown, _req: Request, res: Response, _next: NextFunction) => {
    if (error instanceof OpentillError)
      return void res.status(error.httpStatus ?? BAD_GATEWAY).json({ error: error.message });
    if (error instanceof DevnetRefusal) return void res.status(400).json({ error: error.message });
    deps.logger.error('shop request failed', { error: String(error) });
    res.status(500).json({ error: 'The demo shop failed; its log says why.' });
  });
  const server: Server = createServer(app);
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

function addShop(app: Express, deps: ShopDeps, orders: ShopOrder[], payOrder: PayOrder): void {
  app.get('/', (_req, res) => void res.type('html').send(shopPage(deps.networks, orders)));
  app.post('/buy', express.urlencoded({ extended: false, limit: BODY_LIMIT }), async (req, res) => {
    const { product: productId, asset } = req.body as { product?: string; asset?: string };
    const product = PRODUCTS.find((p) => p.id === productId);
    if (product === undefined) return void res.status(400).json({ error: 'No such product.' });
    const created = await deps.opentill.createCollection({
      orderId: `shop-${deps.newId()}`,
      amount: product.price,
      ...readAsset(asset),
      description: product.name,
      returnUrl: `http://localhost:${deps.port}/`,
    });
    orders.unshift({ ...created, product: product.name, status: 'created' });
    orders.splice(ORDERS_SHOWN_MAX);
    res.redirect(303, created.paymentUrl ?? '/');
  });
  app.post('/pay-out', express.urlencoded({ extended: false, limit: BODY_LIMIT }), async (req, res) => {
    const { amount = '', receiver = '', asset } = req.body as Record<string, string | undefined>;
    const created = await deps.opentill.createPayout({
      orderId: `payout-${deps.newId()}`,
      amount,
      ...readAsset(asset),
      receiveAddress: receiver,
    });
    orders.unshift({ ...created, product: `Payout to ${receiver}`, status: 'created' });
    orders.splice(ORDERS_SHOWN_MAX);
    res.redirect(303, '/');
  });
  app.post('/orders/:orderId/pay', async (req, res) => {
    await payOrder(req.params.orderId);
    res.redirect(303, '/');
  });
}

/** Parses `CHAIN/SYMBOL` of the form. The gateway rejects unknown values. */
function readAsset(asset = ''): Pick<OrderFields, 'chain' | 'symbol'> {
  const [chain = '', symbol = ''] = asset.split('/');
  return { chain: chain as Chain, symbol };
}

function addCallbacks(app: Express, deps: ShopDeps, orders: readonly ShopOrder[]): void {
  const { webhookSecret: secrets, clock, logger } = deps;
  const book = createCallbackBook();
  app.post(
    '/callbacks',
    expressCallbacks({
      secrets,
      now: () => clock.now(),
      onCallback(verified) {
        const callback = book.keep(verified, clock.now());
        const order = orders.find((o) => o.orderId === callback.orderId);
        if (order) order.status = nextOrderStatus(order.status, callback);
      },
      onError: (error) => logger.warn('callback refused', { error: String(error) }),
    }),
  );
  app.get('/callbacks', (_req, res) => void res.type('html').send(callbacksPage(book.list())));
  app.get('/callbacks.json', (req, res) => {
    const { orderId } = req.query;
    const all = book.list();
    res.json(typeof orderId === 'string' ? all.filter((c) => c.orderId === orderId) : all);
  });
}

function addDevnet(app: Express, deps: ShopDeps, payOrder: PayOrder): void {
  app.get('/devnet', (_req, res) => void res.json(deps.wallet.describe()));
  app.post('/devnet/pay', express.json({ limit: BODY_LIMIT }), async (req, res) => {
    const body = (req.body ?? {}) as Record<string, unknown>;
    if (typeof body['orderId'] === 'string') return void res.json({ txid: await payOrder(body['orderId']) });
    const { chain, symbol, to, amount } = body;
    if ([chain, symbol, to, amount].some((field) => typeof field !== 'string')) {
      throw new DevnetRefusal('Give {"orderId"} or {"chain","symbol","to","amount"}, all strings.');
    }
    const txid = await deps.wallet.pay({
      chain: String(chain),
      symbol: String(symbol),
      to: String(to),
      amount: String(amount),
    });
    res.json({ txid });
  });
}
