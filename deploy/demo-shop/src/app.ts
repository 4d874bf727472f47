import { createServer, type Server } from 'node:http';
import express, { type Express, type NextFunction, type Request, type Response } from 'express';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Clock } from '@opentill/runtime/clock';
import type { NewId } from '@opentill/runtime/ids';
import type { Logger } from '@opentill/runtime/logger';
import { nextOrderStatus, type CallbackBook } from './callbacks.ts';
import type { DevnetWallet } from './devnet-wallet.ts';
import { DevnetRefusal } from './devnet-refusal.ts';
import { GatewayRefusal, type GatewayClient } from './gateway-client.ts';
import { callbacksPage, PRODUCTS, shopPage, type ShopOrder } from './pages.ts';

export interface ShopDeps {
  readonly port: number;
  readonly host: string;
  readonly networks: readonly NetworkConfig[];
  readonly gateway: GatewayClient;
  readonly wallet: DevnetWallet;
  readonly callbacks: CallbackBook;
  readonly clock: Clock;
  readonly newId: NewId;
  readonly logger: Logger;
}

const ORDERS_SHOWN_MAX = 200;
const BODY_LIMIT = '64kb';

/** The demo shop: a merchant that sells, receives callbacks, and holds the devnets' customer wallet. */
export function createApp(deps: ShopDeps): { start(): Promise<void>; stop(): Promise<void> } {
  const orders: ShopOrder[] = [];
  const app = express();
  app.disable('x-powered-by');
  addShop(app, deps, orders);
  addCallbacks(app, deps, orders);
  addDevnet(app, deps);
  app.use((error: unknown, _req: Request, res: Response, _next: NextFunction) => {
    if (error instanceof GatewayRefusal) return void res.status(error.code).json({ error: error.message });
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

function addShop(app: Express, deps: ShopDeps, orders: ShopOrder[]): void {
  app.get('/', (_req, res) => void res.type('html').send(shopPage(deps.networks, orders)));
  app.post('/buy', express.urlencoded({ extended: false, limit: BODY_LIMIT }), async (req, res) => {
    const { product: productId, asset = '' } = req.body as { product?: string; asset?: string };
    const product = PRODUCTS.find((p) => p.id === productId);
    const [chain = '', symbol = ''] = asset.split('/');
    if (product === undefined) return void res.status(400).json({ error: 'No such product.' });
    const created = await deps.gateway.createCollection({
      orderId: `shop-${deps.newId()}`,
      amount: product.price,
      symbol,
      chain,
      description: product.name,
      returnUrl: `http://localhost:${deps.port}/`,
    });
    orders.unshift({ ...created, product: product.name, status: 'created' });
    orders.splice(ORDERS_SHOWN_MAX);
    res.redirect(303, created.paymentUrl);
  });
  app.post('/pay-out', express.urlencoded({ extended: false, limit: BODY_LIMIT }), async (req, res) => {
    const { amount = '', receiver = '', asset = '' } = req.body as Record<string, string | undefined>;
    const [chain = '', symbol = ''] = asset.split('/');
    const created = await deps.gateway.createPayout({
      orderId: `payout-${deps.newId()}`,
      amount,
      symbol,
      chain,
      receiveAddress: receiver,
    });
    orders.unshift({ ...created, paymentUrl: null, product: `Payout to ${receiver}`, status: 'created' });
    orders.splice(ORDERS_SHOWN_MAX);
    res.redirect(303, '/');
  });
  app.post('/orders/:orderId/pay', async (req, res) => {
    await payOrder(deps, req.params.orderId);
    res.redirect(303, '/');
  });
}

function addCallbacks(app: Express, deps: ShopDeps, orders: readonly ShopOrder[]): void {
  app.post('/callbacks', express.raw({ type: () => true, limit: BODY_LIMIT }), (req, res) => {
    const callback = deps.callbacks.receive(req.body as Buffer, deps.clock.now());
    if (callback === 'NOT_A_CALLBACK') return void res.status(400).json({ error: 'Not a callback.' });
    if (callback === 'NOT_GENUINE') {
      return void res.status(401).json({ error: 'The signature or the time is wrong.' });
    }
    const order = orders.find((o) => o.orderId === callback.orderId);
    if (order) order.status = nextOrderStatus(order.status, callback);
    res.json({ ok: true });
  });
  app.get('/callbacks', (_req, res) => void res.type('html').send(callbacksPage(deps.callbacks.list())));
  app.get('/callbacks.json', (req, res) => {
    const { orderId } = req.query;
    const all = deps.callbacks.list();
    res.json(typeof orderId === 'string' ? all.filter((c) => c.orderId === orderId) : all);
  });
}

function addDevnet(app: Express, deps: ShopDeps): void {
  app.get('/devnet', (_req, res) => void res.json(deps.wallet.describe()));
  app.post('/devnet/pay', express.json({ limit: BODY_LIMIT }), async (req, res) => {
    const body = (req.body ?? {}) as Record<string, unknown>;
    if (typeof body['orderId'] === 'string')
      return void res.json({ txid: await payOrder(deps, body['orderId']) });
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

async function payOrder(deps: ShopDeps, orderId: string): Promise<string> {
  const order = await deps.gateway.paymentDetails(orderId);
  return deps.wallet.pay({
    chain: order.chain,
    symbol: order.symbol,
    to: order.address,
    amount: order.amount,
  });
}
