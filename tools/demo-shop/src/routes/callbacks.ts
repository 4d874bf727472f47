import express, { type Express } from 'express';
import { expressCallbacks } from '@opentill/sdk/receive-callbacks';
import { nextOrderStatus, type CallbackBook } from '../callbacks.ts';
import { createCallbackForwarder } from '../forward-callbacks.ts';
import { callbacksPage } from '../pages/callbacks-page.ts';
import { RequestRefusal } from '../request-refusal.ts';
import type { ShopDeps } from '../shop-deps.ts';
import type { ShopOrder } from '../shop-order.ts';

export interface CallbackRoutesDeps extends Pick<
  ShopDeps,
  'webhookSecret' | 'clock' | 'logger' | 'port' | 'machineHost'
> {
  readonly orders: readonly ShopOrder[];
  readonly book: CallbackBook;
}

const BODY_LIMIT = '64kb';

export function addCallbacks(app: Express, deps: CallbackRoutesDeps): void {
  const { webhookSecret: secrets, clock, logger, orders, book } = deps;
  const forwarder = createCallbackForwarder({ ownPort: deps.port, machineHost: deps.machineHost });
  app.post('/callbacks', express.raw({ type: () => true, limit: BODY_LIMIT }), async (req, res) => {
    const receive = expressCallbacks({
      secrets,
      now: () => clock.now(),
      onCallback(verified) {
        const callback = book.keep(verified, clock.now());
        const order = orders.find((o) => o.orderId === callback.orderId);
        if (order) order.status = nextOrderStatus(order.status, callback);
        // The answer to the gateway does not wait for the copy.
        void forwarder.forward({ body: req.body as Buffer, headers: req.headers }).then((outcome) => {
          if (outcome !== undefined) callback.forwarded = outcome;
        });
      },
      onError: (error) => logger.warn('callback refused', { error: String(error) }),
    });
    await receive(req, res);
  });
  app.post('/callbacks/forward', express.urlencoded({ extended: false, limit: BODY_LIMIT }), (req, res) => {
    const { url = '' } = (req.body ?? {}) as { url?: string };
    if (!forwarder.setTarget(url === '' ? undefined : url))
      throw new RequestRefusal(
        400,
        `"${url}" is not an http URL of another program on this machine, such as http://localhost:4000/.`,
      );
    res.redirect(303, '/callbacks');
  });
  app.get('/callbacks', (_req, res) => {
    res
      .type('html')
      .send(callbacksPage(book.list(), orders, { to: forwarder.target, machineHost: deps.machineHost }));
  });
  app.get('/callbacks.json', (req, res) => {
    const { orderId } = req.query;
    const all = book.list();
    res.json(typeof orderId === 'string' ? all.filter((c) => c.orderId === orderId) : all);
  });
}
