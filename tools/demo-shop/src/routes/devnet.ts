import express, { type Express } from 'express';
import { devnetPage } from '../pages/merchant-pages.ts';
import type { PayOrder } from '../pay-order.ts';
import { RequestRefusal } from '../request-refusal.ts';
import type { ShopDeps } from '../shop-deps.ts';

const BODY_LIMIT = '64kb';

export interface DevnetRoutesDeps extends Pick<ShopDeps, 'wallet' | 'webhookSecret' | 'port'> {
  readonly payOrder: PayOrder;
}

export function addDevnet(app: Express, deps: DevnetRoutesDeps): void {
  const { wallet, payOrder, webhookSecret } = deps;
  const shopUrl = `http://localhost:${deps.port}`;
  app.get('/devnet', (_req, res) => {
    res.type('html').send(devnetPage(wallet.describe(), { shopUrl, webhookSecret }));
  });
  app.get('/devnet.json', (_req, res) => void res.json({ webhookSecret, networks: wallet.describe() }));
  // For the commands of the gateway's /docs, which does not know the secret.
  app.get('/devnet/webhook-secret', (_req, res) => void res.type('text').send(webhookSecret));
  app.post('/devnet/pay', express.json({ limit: BODY_LIMIT }), async (req, res) => {
    const body = (req.body ?? {}) as Record<string, unknown>;
    if (typeof body['orderId'] === 'string') return void res.json({ txid: await payOrder(body['orderId']) });
    const { chain, symbol, to, amount } = body;
    if ([chain, symbol, to, amount].some((field) => typeof field !== 'string')) {
      throw new RequestRefusal(400, 'Give {"orderId"} or {"chain","symbol","to","amount"}, all strings.');
    }
    const txid = await wallet.pay({
      chain: String(chain),
      symbol: String(symbol),
      to: String(to),
      amount: String(amount),
    });
    res.json({ txid });
  });
}
