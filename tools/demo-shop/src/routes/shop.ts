import express, { type Express, type Response } from 'express';
import type { Chain, CreatedOrder, OrderFields } from '@opentill/sdk/orders';
import type { CallbackBook } from '../callbacks.ts';
import { payOutPage } from '../pages/merchant-pages.ts';
import { orderPage, ordersPage } from '../pages/order-pages.ts';
import { problemPage } from '../pages/layout.ts';
import { cartPage, shopWindow } from '../pages/shop-pages.ts';
import type { PayOrder } from '../pay-order.ts';
import { findProduct } from '../products.ts';
import type { ShopDeps } from '../shop-deps.ts';
import { isPayout, type ShopOrder } from '../shop-order.ts';

export interface ShopRoutesDeps extends Pick<ShopDeps, 'networks' | 'opentill' | 'newId' | 'clock' | 'port'> {
  readonly orders: ShopOrder[];
  readonly callbacks: Pick<CallbackBook, 'list'>;
  readonly payOrder: PayOrder;
}

const ORDERS_SHOWN_MAX = 200;
/** The end of an id is random: enough for a shop that keeps 200 orders. */
const ID_LENGTH = 10;
const form = express.urlencoded({ extended: false, limit: '64kb' });

export function addShop(app: Express, deps: ShopRoutesDeps): void {
  const { networks, orders } = deps;
  const html = (res: Response, page: string) => void res.type('html').send(page);
  const notFound = (res: Response, message: string) => html(res.status(404), problemPage(message));
  const orderIdFor = (kind: string) => `${kind}-${deps.newId().slice(-ID_LENGTH)}`;
  const keep = (created: CreatedOrder, about: Pick<ShopOrder, 'title' | 'productId'>): string => {
    orders.unshift({ ...created, ...about, createdAt: deps.clock.now().toISOString(), status: 'created' });
    orders.splice(ORDERS_SHOWN_MAX);
    return `/orders/${encodeURIComponent(created.orderId)}`;
  };

  app.get('/', (_req, res) => html(res, shopWindow()));
  app.get('/cart', (req, res) => {
    const product = findProduct(req.query['product']);
    if (product === undefined) return notFound(res, 'Your cart is empty.');
    html(res, cartPage(product, networks));
  });
  app.post('/buy', form, async (req, res) => {
    const { product: productId, asset } = (req.body ?? {}) as { product?: string; asset?: string };
    const product = findProduct(productId);
    if (product === undefined) return notFound(res, 'This shop has no such product.');
    const orderId = orderIdFor('shop');
    const created = await deps.opentill.createCollection({
      orderId,
      amount: product.price,
      ...readAsset(asset),
      description: product.name,
      returnUrl: `http://localhost:${deps.port}/orders/${orderId}`,
    });
    res.redirect(303, keep(created, { title: product.name, productId: product.id }));
  });
  app.get('/orders', (_req, res) => html(res, ordersPage(orders, networks)));
  app.get('/orders/:orderId', (req, res) => {
    const order = orders.find(({ orderId }) => orderId === req.params.orderId);
    if (order === undefined)
      return notFound(res, 'No such order. The shop keeps orders only until it is restarted.');
    const callbacks = deps.callbacks.list().filter(({ orderId }) => orderId === order.orderId);
    html(res, orderPage(order, callbacks, networks));
  });
  app.post('/orders/:orderId/pay', async (req, res) => {
    const { orderId } = req.params;
    const txid = await deps.payOrder(orderId);
    const order = orders.find((one) => one.orderId === orderId);
    if (order) order.txid = txid;
    res.redirect(303, `/orders/${encodeURIComponent(orderId)}`);
  });
  app.get('/pay-out', (_req, res) => html(res, payOutPage(networks, orders.filter(isPayout))));
  app.post('/pay-out', form, async (req, res) => {
    const { amount = '', receiver = '', asset } = (req.body ?? {}) as Record<string, string | undefined>;
    const created = await deps.opentill.createPayout({
      orderId: orderIdFor('payout'),
      amount,
      ...readAsset(asset),
      receiveAddress: receiver.trim(),
    });
    keep(created, { title: `Payout to ${shortened(receiver.trim())}` });
    res.redirect(303, '/pay-out');
  });
}

/** Parses `CHAIN/SYMBOL` of the form. The gateway rejects unknown values. */
function readAsset(asset = ''): Pick<OrderFields, 'chain' | 'symbol'> {
  const [chain = '', symbol = ''] = asset.split('/');
  return { chain: chain as Chain, symbol };
}

/** Beginning and end of an address. */
function shortened(address: string): string {
  return address.length > 16 ? `${address.slice(0, 6)}…${address.slice(-6)}` : address;
}
