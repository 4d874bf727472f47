import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { ReceivedCallback } from '../callbacks.ts';
import { dollars, findProduct } from '../products.ts';
import { isPayable, isPayout, statusOf, type ShopOrder } from '../shop-order.ts';
import { callbackRow } from './callbacks-page.ts';
import { escapeHtml, renderPage, timeOf } from './layout.ts';
import { nameOf, picture } from './shop-pages.ts';

/** Callback types in the order in which a paid order, or a payout, gets them. */
const STAGES = ['ORDER_PENDING', 'ORDER_PENDING_CONFIRMATION', 'ORDER_SUCCESS'];
const COLLECTION_STEPS = ['Order placed', 'Payment seen', 'Payment confirmed: we ship'];
const PAYOUT_STEPS = ['Payout accepted', 'In a block', 'Delivered'];

function badge(order: ShopOrder): string {
  const { words, mood } = statusOf(order);
  return `<span class="badge ${mood}" data-status="${escapeHtml(order.status)}">${escapeHtml(words)}</span>`;
}

export function ordersPage(orders: readonly ShopOrder[], networks: readonly NetworkConfig[]): string {
  const rows = orders.map((order) => `<li>${orderRow(order, networks)}</li>`).join('');
  const empty = '<p class="dim">None yet. <a href="/">Buy something</a> first.</p>';
  return renderPage({
    title: 'Orders',
    path: '/orders',
    body: `<div data-live>${orders.length === 0 ? empty : `<ul class="rows">${rows}</ul>`}</div>`,
  });
}

export function orderRow(order: ShopOrder, networks: readonly NetworkConfig[]): string {
  const product = findProduct(order.productId);
  const asset = `${escapeHtml(order.amount)} ${escapeHtml(order.symbol)} on ${escapeHtml(nameOf(networks, order.chain))}`;
  return `<div class="row${product ? ' pictured' : ''}">${product ? picture(product, '') : ''}<p><a href="/orders/${encodeURIComponent(order.orderId)}">${escapeHtml(order.title)}</a></p>${badge(order)}
<p class="dim">${asset} · <code>${escapeHtml(order.orderId)}</code> · ${timeOf(order.createdAt)}</p></div>`;
}

/** Page of one order. It is where its customer comes back to from the payment page. */
export function orderPage(
  order: ShopOrder,
  callbacks: readonly ReceivedCallback[],
  networks: readonly NetworkConfig[],
): string {
  const product = findProduct(order.productId);
  const reports = callbacks.map((callback) => `<li>${callbackRow(callback)}</li>`).join('');
  const item = product
    ? `<div class="item">${picture(product)}<div><h2>${product.name}</h2><p class="dim">${escapeHtml(product.text)}</p></div><span class="price">${dollars(product.price)}</span></div>`
    : `<h2>${escapeHtml(order.title)}</h2>`;
  return renderPage({
    title: isPayout(order) ? 'Payout' : 'Your order',
    body: `<div data-live><div class="two"><section class="card" aria-label="Order">${item}
<dl><dt>Order number</dt><dd><code>${escapeHtml(order.orderId)}</code></dd><dt>${isPayable(order) ? 'To pay' : 'Amount'}</dt><dd class="total">${escapeHtml(order.amount)} ${escapeHtml(order.symbol)}</dd><dt>Network</dt><dd>${escapeHtml(nameOf(networks, order.chain))}</dd></dl></section>
<section class="card" aria-label="Status"><p>${badge(order)}</p>${payment(order)}${progress(order)}</section></div>${testCustomer(order)}
<h2>What the gateway reported</h2>${callbacks.length === 0 ? '<p class="dim">No callback yet.</p>' : `<ul class="rows">${reports}</ul>`}</div>`,
  });
}

function progress(order: ShopOrder): string {
  const steps = isPayout(order) ? PAYOUT_STEPS : COLLECTION_STEPS;
  const reached = Math.max(0, STAGES.indexOf(order.status));
  return `<ol class="steps">${steps.map((step, at) => `<li${at <= reached ? ' class="done"' : ''}>${step}</li>`).join('')}</ol>`;
}

/** The way to pay, as in a shop with real money. */
function payment(order: ShopOrder): string {
  if (order.paymentUrl === null) return '';
  const isOpen = statusOf(order).mood === 'open';
  const [look, words] = isOpen
    ? ['button', 'Open the payment page']
    : ['button quiet', 'See the payment page'];
  return `<div class="pay"><a id="payment-page" class="${look}" href="${escapeHtml(order.paymentUrl)}" target="_blank" rel="noopener">${words}</a></div>`;
}

/** Pays without a wallet. Real shops have no such thing, so it is apart from the order. */
function testCustomer(order: ShopOrder): string {
  if (order.txid !== undefined)
    return `<aside class="demo" aria-label="Demo"><p>Demo: the test customer sent <code>${escapeHtml(order.txid)}</code></p></aside>`;
  if (!isPayable(order)) return '';
  return `<aside class="demo" aria-label="Demo"><p>No wallet at hand? A funded wallet of the local chain can send ${escapeHtml(order.amount)} ${escapeHtml(order.symbol)} for you.</p>
<form method="post" action="/orders/${encodeURIComponent(order.orderId)}/pay"><button id="pay" class="quiet">Demo: pay as a test customer</button></form></aside>`;
}
