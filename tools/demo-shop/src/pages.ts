import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { ReceivedCallback } from './callbacks.ts';

export const PRODUCTS = [
  { id: 'sticker', name: 'Sticker', price: '1.50' },
  { id: 'mug', name: 'Mug', price: '12.90' },
  { id: 'hoodie', name: 'Hoodie', price: '49.00' },
] as const;

const CALLBACKS_SHOWN = 200;

export interface ShopOrder {
  readonly orderId: string;
  readonly product: string;
  readonly amount: string;
  readonly symbol: string;
  readonly chain: string;
  /** Null for a payout. */
  readonly paymentUrl: string | null;
  status: string;
}

/** Text made safe for HTML content and attributes. */
function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}

const STYLE = `body{font:16px/1.5 system-ui,sans-serif;max-width:64rem;margin:1.5rem auto;padding:0 1rem;color:#1b1f24;background:#fff}
h1{font-size:1.6rem;margin:.6rem 0 1rem}h2{font-size:1.15rem;margin:0 0 .4rem}a{color:#0b6e4f}
nav{padding-bottom:.6rem;border-bottom:1px solid #d8dee4}
table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.5rem .6rem;border-bottom:1px solid #d8dee4;vertical-align:top}th{color:#5b6672;font-weight:500}
.products{display:grid;grid-template-columns:repeat(auto-fit,minmax(17rem,1fr));gap:1rem;margin-bottom:2rem}
.card{border:1px solid #d8dee4;border-radius:8px;padding:1rem}.card select{width:100%;margin:.3rem 0 .8rem}.price{font-size:1.4rem;margin:0 0 .6rem}
button{background:#0b6e4f;color:#fff;border:0;border-radius:6px;padding:.4rem .9rem;font:inherit;cursor:pointer;white-space:nowrap}select{font:inherit;padding:.3rem}
input{font:inherit;padding:.3rem;box-sizing:border-box;width:100%;margin:.3rem 0 .8rem}code{font-size:.8rem;word-break:break-all}.good{color:#0b6e4f;font-weight:600}.bad{color:#b42318;font-weight:600}.soft{color:#5b6672}tr.head td{border-bottom:0;padding-bottom:0}td form{display:inline;margin-left:.6rem}`;

/** Replaces the element marked `data-live` every second, so that input elsewhere on the page is kept. */
const FOLLOW = `<script>
setInterval(async () => {
  try {
    const text = await (await fetch(location.href, { cache: 'no-store' })).text();
    const fresh = new DOMParser().parseFromString(text, 'text/html').querySelector('[data-live]');
    const shown = document.querySelector('[data-live]');
    if (fresh && fresh.innerHTML !== shown.innerHTML) shown.replaceWith(document.adoptNode(fresh));
  } catch { /* the shop is away for a moment */ }
}, 1000);
</script>`;

function page(title: string, body: string): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title><link rel="icon" href="data:,"><style>${STYLE}</style></head><body>
<nav><a href="/">Shop</a> · <a href="/callbacks">Callbacks</a> · <a href="/devnet">Devnet</a></nav><h1>${escapeHtml(title)}</h1>${body}${FOLLOW}</body></html>`;
}

/** Accounts with published keys: anvil's tenth, the first of the mnemonic `abandon … about`, the SUI devnet's second. */
const RECEIVERS = {
  EVM: '0xa0Ee7A142d267C1f36714E4a8F75612F20a79720',
  TRON: 'TUEZSdKsoDHQMeZwihtdoBiN46zxhGWYdH',
  SUI: '0xc562357204cbc1e3d473450c0d666061e169ceac641dbf2a008250c1e9ae8baa',
};

const CLOSED: ReadonlySet<string> = new Set(['ORDER_SUCCESS', 'ORDER_EXPIRED', 'ORDER_FAILED']);

/** Unpaid or underpaid orders. */
const PAYABLE: ReadonlySet<string> = new Set(['created', 'ORDER_PENDING']);

export function shopPage(networks: readonly NetworkConfig[], orders: readonly ShopOrder[]): string {
  const choices = networks
    .flatMap((n) =>
      n.tokens.map((t) => ({ value: `${n.chain}/${t.symbol}`, label: `${t.symbol} on ${n.name}` })),
    )
    .map((c) => `<option value="${escapeHtml(c.value)}">${escapeHtml(c.label)}</option>`)
    .join('');
  const cards = PRODUCTS.map(
    (p) => `<form class="card" method="post" action="/buy"><h2>${p.name}</h2><p class="price">${p.price}</p>
<input type="hidden" name="product" value="${p.id}"><label class="soft">Pay with <select name="asset">${choices}</select></label>
<button>Buy</button></form>`,
  ).join('');
  const receivers = Object.entries(RECEIVERS)
    .map(([family, address]) => `<option value="${address}">${family}</option>`)
    .join('');
  const payOut = `<form class="card" method="post" action="/pay-out"><h2>Pay out</h2>
<label class="soft">To <input name="receiver" list="receivers" value="${RECEIVERS.EVM}"></label><datalist id="receivers">${receivers}</datalist><label class="soft">Amount <input name="amount" value="5.00"></label>
<label class="soft">In <select name="asset">${choices}</select></label><button>Send</button></form>`;
  const rows = orders.map(orderRow).join('');
  const table = `<table><tr><th>Order</th><th>What</th><th>Amount</th><th>Last callback</th><th></th></tr>${rows}</table>`;
  return page(
    'Demo shop',
    `<div class="products">${cards}${payOut}</div><h2>Orders</h2><div data-live>${orders.length === 0 ? '<p class="soft">None yet.</p>' : table}</div>`,
  );
}

function orderRow(o: ShopOrder): string {
  const mood = o.status === 'ORDER_SUCCESS' ? 'good' : CLOSED.has(o.status) ? 'bad' : '';
  return `<tr><td><code>${escapeHtml(o.orderId)}</code></td><td>${escapeHtml(o.product)}</td><td>${escapeHtml(o.amount)} ${escapeHtml(o.symbol)} on ${escapeHtml(o.chain)}</td>
<td class="${mood}">${escapeHtml(o.status)}</td><td>${o.paymentUrl === null ? '' : checkout(o, o.paymentUrl)}</td></tr>`;
}

function checkout(o: ShopOrder, paymentUrl: string): string {
  const pay = `<form method="post" action="/orders/${encodeURIComponent(o.orderId)}/pay"><button>Pay from the devnet wallet</button></form>`;
  return `<a href="${escapeHtml(paymentUrl)}">checkout</a>${PAYABLE.has(o.status) ? pay : ''}`;
}

export function callbacksPage(callbacks: readonly ReceivedCallback[]): string {
  const rows = callbacks.slice(0, CALLBACKS_SHOWN).map(callbackRow).join('');
  const table = `<table><tr><th>Received</th><th>Type</th><th>Order</th><th>Signature</th></tr>${rows}</table>`;
  return page(
    'Callbacks',
    `<p>As JSON: <a href="/callbacks.json">/callbacks.json</a></p><div data-live>${callbacks.length === 0 ? '<p class="soft">None yet.</p>' : table}</div>`,
  );
}

function callbackRow(c: ReceivedCallback): string {
  const repeats = c.repeats > 0 ? `, repeated ${c.repeats}×` : '';
  return `<tbody><tr class="head"><td><code>${escapeHtml(c.receivedAt.slice(11, 23))}</code></td><td>${escapeHtml(c.notifyType)}</td><td><code>${escapeHtml(c.orderId)}</code></td>
<td class="good">verified${repeats}</td></tr>
<tr><td colspan="4"><code class="soft">${escapeHtml(JSON.stringify(c.data))}</code></td></tr></tbody>`;
}
