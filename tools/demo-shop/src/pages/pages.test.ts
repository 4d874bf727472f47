import { expect, it } from 'vitest';
import type { ReceivedCallback } from '../callbacks.ts';
import { PICTURES } from '../pictures.ts';
import { PRODUCTS } from '../products.ts';
import type { ShopOrder } from '../shop-order.ts';
import { callbacksPage } from './callbacks-page.ts';
import { devnetPage, payOutPage } from './merchant-pages.ts';
import { orderPage, ordersPage } from './order-pages.ts';
import { problemPage } from './layout.ts';
import { cartPage, shopWindow } from './shop-pages.ts';

const EVIL = '<img src=x onerror="alert(1)">';
const ORDER: ShopOrder = {
  orderId: 'shop-1',
  productId: 'mug',
  title: 'Mug',
  amount: '12.90',
  symbol: 'USDT',
  chain: 'ETH_SEPOLIA',
  createdAt: '2026-01-02T03:04:05.000Z',
  paymentUrl: 'http://localhost:3010/checkout?orderId=shop-1&sign=0',
  status: 'created',
};
const CALLBACK: ReceivedCallback = {
  receivedAt: '2026-01-02T03:04:05.000Z',
  verified: true,
  notifyType: 'ORDER_SUCCESS',
  nonce: 'event-1',
  repeats: 1,
  orderId: 'shop-1',
  data: { orderType: 'COLLECTION', reason: EVIL },
};
const PAGES = {
  window: shopWindow(),
  cart: cartPage(PRODUCTS[0]!, []),
  orders: ordersPage([{ ...ORDER, title: EVIL }], []),
  order: orderPage({ ...ORDER, chain: EVIL, txid: EVIL }, [CALLBACK], []),
  callbacks: callbacksPage([CALLBACK], [{ ...ORDER, title: EVIL }], { to: EVIL, machineHost: EVIL }),
  payOut: payOutPage([], [{ ...ORDER, paymentUrl: null, title: EVIL }]),
  devnet: devnetPage([], { shopUrl: 'http://localhost:3011', webhookSecret: EVIL }),
  problem: problemPage(EVIL),
};

it.each(Object.entries(PAGES))('has one main, one heading and no unsafe text: %s', (_, html) => {
  expect(html.match(/<main>/g)).toHaveLength(1);
  expect(html.match(/<h1>/g)).toHaveLength(1);
  expect(html).not.toContain(EVIL);
  expect(html).not.toMatch(/ style=| on\w+="|<style/);
});

it('draws a picture and shows a price with its currency for each product', () => {
  expect(Object.keys(PICTURES).toSorted()).toEqual(PRODUCTS.map(({ id }) => id).toSorted());
  for (const { price } of PRODUCTS) expect(PAGES.window).toContain(`$${price}<`);
});

it('offers the test customer until a payment is sent', () => {
  const button = 'Demo: pay as a test customer';
  expect(orderPage(ORDER, [], [])).toContain(button);
  expect(orderPage({ ...ORDER, status: 'ORDER_PENDING' }, [], [])).toContain(button);
  for (const fields of [{ txid: '0x1' }, { status: 'ORDER_SUCCESS' }, { paymentUrl: null }])
    expect(orderPage({ ...ORDER, ...fields }, [], [])).not.toContain(button);
});

it('leads with the payment page, and sets the test customer apart', () => {
  const html = orderPage(ORDER, [], []);
  expect(html).toContain('<a id="payment-page" class="button" href="http://localhost:3010/');
  expect(html).toMatch(/Open the payment page<\/a>.*<aside class="demo"[^]*<button id="pay" class="quiet">/s);
});

it('says how a program outside the container of the shop is reached', () => {
  const page = (machineHost?: string) => callbacksPage([], [], { to: undefined, machineHost });
  expect(page('host.docker.internal')).toContain('<code>host.docker.internal</code>');
  expect(page()).not.toContain('container');
});

it('shows a callback as event, order and outcome with a folded body', () => {
  const { callbacks } = PAGES;
  for (const part of ['ORDER_SUCCESS', 'Paid', 'shop-1', 'verified', 'repeated 1×'])
    expect(callbacks).toContain(part);
  expect(callbacks).toMatch(/<details id="body-event-1-1"><summary>Body/);
});

it('folds the keys of the devnet page', () => {
  const network = {
    chain: 'ETH_SEPOLIA',
    name: 'Ethereum (local devnet)',
    family: 'EVM' as const,
    rpcUrl: 'http://127.0.0.1:8545',
    confirmations: 3,
    tokens: [],
    customer: { address: '0xabc', privateKey: '0xkey' },
  };
  const html = devnetPage([network], { shopUrl: 'http://localhost:3011', webhookSecret: 's' });
  expect(html).toContain('http://localhost:3011/devnet/pay');
  expect(html.replace(/<details>.*?<\/details>/gs, '')).not.toContain('0xkey');
});
