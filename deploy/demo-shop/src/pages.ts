import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { ReceivedCallback } from './callbacks.ts';

/** What the shop sells. Prices are decimal strings, as everywhere. */
export const PRODUCTS = [
  { id: 'sticker', name: 'Sticker', price: '1.50' },
  { id: 'mug', name: 'Mug', price: '12.90' },
  { id: 'hoodie', name: 'Hoodie', price: '49.00' },
] as const;

/** An order of the shop, as its page lists it. */
export interface ShopOrder {
  readonly orderId: string;
  readonly product: string;
  readonly amount: string;
  readonly symbol: string;
  readonly chain: string;
  readonly paymentUrl: string;
  status: string;
}

/** Text made safe for HTML content and attributes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}

const STYLE = `body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1f24}
h1{font-size:1.6rem}table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.4rem .6rem;border-bottom:1px solid #d8dee4;vertical-align:top}
.products{display:flex;gap:1rem;flex-wrap:wrap}.card{border:1px solid #d8dee4;border-radius:8px;padding:1rem;min-width:14rem}
button{background:#0b6e4f;color:#fff;border:0;border-radius:6px;padding:.5rem 1rem;font:inherit;cursor:pointer}select{font:inherit;padding:.3rem}
code{font-size:.85rem;word-break:break-all}.bad{color:#b42318}`;

function page(title: string, body: string, refreshSeconds?: number): string {
  const refresh =
    refreshSeconds === undefined ? '' : `<meta http-equiv="refresh" content="${refreshSeconds}">`;
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>${refresh}<style>${STYLE}</style></head><body>
<nav><a href="/">Shop</a> · <a href="/callbacks">Callbacks</a> · <a href="/devnet">Devnet</a></nav><h1>${escapeHtml(title)}</h1>${body}</body></html>`;
}

/** The shop window with the orders so far. */
export function shopPage(networks: readonly NetworkConfig[], orders: readonly ShopOrder[]): string {
  const choices = networks
    .flatMap((n) =>
      n.tokens.map((t) => ({ value: `${n.chain}/${t.symbol}`, label: `${t.symbol} on ${n.name}` })),
    )
    .map((c) => `<option value="${escapeHtml(c.value)}">${escapeHtml(c.label)}</option>`)
    .join('');
  const cards = PRODUCTS.map(
    (p) => `<form class="card" method="post" action="/buy"><h2>${p.name}</h2><p>${p.price}</p>
<input type="hidden" name="product" value="${p.id}"><label>Pay with <select name="asset">${choices}</select></label>
<p><button>Buy</button></p></form>`,
  ).join('');
  const rows = orders
    .map(
      (
        o,
      ) => `<tr><td>${escapeHtml(o.orderId)}</td><td>${escapeHtml(o.product)}</td><td>${escapeHtml(o.amount)} ${escapeHtml(o.symbol)} on ${escapeHtml(o.chain)}</td>
<td>${escapeHtml(o.status)}</td><td><a href="${escapeHtml(o.paymentUrl)}">checkout</a>
<form method="post" action="/orders/${encodeURIComponent(o.orderId)}/pay"><button>Pay from the devnet wallet</button></form></td></tr>`,
    )
    .join('');
  return page(
    'Demo shop',
    `<div class="products">${cards}</div><h2>Orders</h2><table><tr><th>Order</th><th>Product</th><th>Price</th><th>Last callback</th><th></th></tr>${rows}</table>`,
  );
}

/** The callbacks received, newest first. */
export function callbacksPage(callbacks: readonly ReceivedCallback[]): string {
  const rows = callbacks
    .slice(0, 200)
    .map(
      (
        c,
      ) => `<tr><td>${escapeHtml(c.receivedAt)}</td><td>${escapeHtml(c.notifyType)}</td><td>${escapeHtml(c.orderId)}</td>
<td class="${c.verified ? '' : 'bad'}">${c.verified ? 'verified' : 'WRONG SIGNATURE'}${c.repeats > 0 ? `, repeated ${c.repeats}×` : ''}</td>
<td><code>${escapeHtml(JSON.stringify(c.data))}</code></td></tr>`,
    )
    .join('');
  return page(
    'Callbacks',
    `<p>As JSON: <a href="/callbacks.json">/callbacks.json</a></p><table><tr><th>Received</th><th>Type</th><th>Order</th><th>Signature</th><th>Data</th></tr>${rows}</table>`,
    2,
  );
}
