import type { ReceivedCallback } from '../callbacks.ts';
import type { ShopOrder } from '../shop-order.ts';
import { escapeHtml, renderPage, timeOf } from './layout.ts';

const CALLBACKS_SHOWN = 200;

export interface Forwarding {
  readonly to: string | undefined;
  /** Set when the shop runs in a container. */
  readonly machineHost: string | undefined;
}

/** Meaning of each callback type in words. */
const MEANINGS: Readonly<Record<string, string>> = {
  ORDER_PENDING: 'Created, or partly paid',
  ORDER_PENDING_CONFIRMATION: 'Payment seen, not yet confirmed',
  ORDER_SUCCESS: 'Paid',
  ORDER_EXPIRED: 'Expired',
  ORDER_FAILED: 'Failed',
  ORDER_REVERTED: 'Payment taken back by a reorganisation',
  ORDER_UNMATCHED: 'A payment arrived that does not count',
  COLLECT_PENDING: 'Sweep to cold storage sent',
  COLLECT_SUCCESS: 'Sweep to cold storage arrived',
  COLLECT_FAILED: 'Sweep to cold storage failed',
};

const PAYOUT_MEANINGS: Readonly<Record<string, string>> = {
  ORDER_PENDING: 'Payout accepted, or sent',
  ORDER_PENDING_CONFIRMATION: 'Payout in a block',
  ORDER_SUCCESS: 'Payout delivered',
  ORDER_FAILED: 'Payout failed',
};

export function callbacksPage(
  callbacks: readonly ReceivedCallback[],
  orders: readonly ShopOrder[],
  forwarding: Forwarding,
): string {
  const rows = callbacks
    .slice(0, CALLBACKS_SHOWN)
    .map((callback) => `<li>${callbackRow(callback, orderOf(callback, orders))}</li>`)
    .join('');
  const empty = '<p class="dim">None yet. <a href="/">Buy something</a> first.</p>';
  return renderPage({
    title: 'Callbacks',
    path: '/callbacks',
    body: `<p class="lead">What the gateway posted to this shop, newest first.</p>${forwardForm(forwarding)}
<div data-live>${callbacks.length === 0 ? empty : `<ul class="rows">${rows}</ul>`}</div><p class="dim">For programs: <a href="/callbacks.json">callbacks.json</a></p>`,
  });
}

/** @param about HTML that names the order; empty on the order's own page */
export function callbackRow(callback: ReceivedCallback, about = ''): string {
  const { nonce, repeats, notifyType, receivedAt, forwarded, data } = callback;
  const meaning =
    (isPayoutData(data) ? PAYOUT_MEANINGS[notifyType] : undefined) ?? MEANINGS[notifyType] ?? '';
  const facts = [
    about,
    timeOf(receivedAt),
    repeats > 0 ? `repeated ${repeats}×` : '',
    forwarded === undefined ? '' : `forwarded: ${escapeHtml(forwarded)}`,
  ].filter((fact) => fact !== '');
  return `<div class="row"><p><strong>${escapeHtml(notifyType)}</strong> ${escapeHtml(meaning)}</p><span class="badge good">✓ verified</span>
<p class="dim">${facts.join(' · ')}</p></div>
<details id="body-${escapeHtml(nonce)}-${repeats}"><summary>Body</summary><pre tabindex="0" role="region" aria-label="Body of ${escapeHtml(notifyType)} ${escapeHtml(receivedAt)}"><code>${escapeHtml(JSON.stringify(data, null, 2))}</code></pre></details>`;
}

/** Names the order of a callback, with a link to an order of this shop. */
function orderOf({ orderId }: ReceivedCallback, orders: readonly ShopOrder[]): string {
  if (orderId === '') return '';
  const order = orders.find((one) => one.orderId === orderId);
  const link = order
    ? `<a href="/orders/${encodeURIComponent(orderId)}">${escapeHtml(order.title)}</a> · `
    : '';
  return `${link}<code>${escapeHtml(orderId)}</code>`;
}

function isPayoutData(data: unknown): boolean {
  return (data as { readonly orderType?: unknown } | null)?.orderType === 'PAYOUT';
}

function forwardForm({ to, machineHost }: Forwarding): string {
  const stop =
    to === undefined
      ? ''
      : `<form method="post" action="/callbacks/forward"><input type="hidden" name="url" value=""><button class="quiet">Stop</button></form>`;
  const container =
    machineHost === undefined
      ? ''
      : `<p class="hint">This shop runs in a container and reaches your machine as <code>${escapeHtml(machineHost)}</code>. On Linux your program must listen on 0.0.0.0, because 127.0.0.1 is out of a container's reach. To verify a callback, use the webhook secret of the <a href="/devnet">devnet page</a>.</p>`;
  return `<section class="card" aria-label="Forwarding"><div class="inline"><form class="inline" method="post" action="/callbacks/forward"><div><label for="url">Send a copy, unchanged, to your own program</label><input id="url" name="url" inputmode="url" value="${escapeHtml(to ?? 'http://localhost:4000/callbacks')}"></div><button>${to === undefined ? 'Forward' : 'Change'}</button></form>${stop}</div><p class="hint">Each copy is sent once, without retries, with the header <code>opentill-copy: 1</code>.</p>${container}</section>
${to === undefined ? '' : `<p class="notice good">Forwarding to ${escapeHtml(to)}</p>`}`;
}
