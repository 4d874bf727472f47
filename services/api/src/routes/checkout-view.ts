import { createHash } from 'node:crypto';
import type { PayinOrderAnswer } from '@opentill/contracts/http/answers';
import { escapeHtml } from './escape-html.ts';

/** What the hosted page shows of each status. */
const STATUS_TEXT: Readonly<Record<PayinOrderAnswer['status'], string>> = {
  INIT: 'Waiting for your payment',
  PENDING: 'Part of the payment has arrived',
  PENDING_CONFIRMATION: 'Payment seen, waiting for confirmations',
  SUCCESS: 'Paid. Thank you!',
  EXPIRED: 'This payment request has expired',
  FAILED: 'This payment has failed',
};
const OPEN: ReadonlySet<string> = new Set(['INIT', 'PENDING', 'PENDING_CONFIRMATION']);

const STYLE = `
:root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif}
body{margin:0;display:grid;min-height:100vh;place-items:center}
main{width:min(26rem,92vw);padding:1.5rem 0}
h1{font-size:1.3rem;margin:0 0 .3rem}
.amount{font-size:2rem;font-weight:600;margin:.2rem 0}
.qr svg{width:100%;max-width:15rem;height:auto;display:block;margin:1rem auto;background:#fff}
code{display:block;padding:.6rem;border:1px solid #8888;border-radius:.4rem;overflow-wrap:anywhere;user-select:all}
dl{display:grid;grid-template-columns:auto 1fr;gap:.2rem 1rem;margin:1rem 0}
dt{opacity:.7}dd{margin:0;text-align:right;overflow-wrap:anywhere}
.warn{border-left:.25rem solid #c80;padding-left:.7rem}`;

/** Counts down, and puts the page's newer state in place every few seconds; without it the page reloads itself. */
const SCRIPT = `
(() => {
  const REFRESH_MS = 3000;
  let receivedAt = performance.now();
  const main = () => document.querySelector('main');
  const show = () => {
    const left = main().querySelector('[data-seconds-left]');
    if (!left) return;
    const seconds = Math.max(0, Number(left.dataset.secondsLeft) - Math.floor((performance.now() - receivedAt) / 1000));
    left.textContent = Math.floor(seconds / 60) + ':' + String(seconds % 60).padStart(2, '0');
  };
  const refresh = async () => {
    if (main().dataset.open !== 'true') return;
    try {
      const response = await fetch(location.href, { cache: 'no-store' });
      if (response.ok) {
        const fresh = new DOMParser().parseFromString(await response.text(), 'text/html').querySelector('main');
        if (fresh) { receivedAt = performance.now(); main().replaceWith(document.adoptNode(fresh)); show(); }
      }
    } catch { /* offline for a moment */ }
    setTimeout(refresh, REFRESH_MS);
  };
  show();
  setInterval(show, 1000);
  setTimeout(refresh, REFRESH_MS);
})();`;

const sha256 = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** The page may run and style itself by its own two texts, and ask its own server. Nothing else. */
export const CHECKOUT_CSP = [
  "default-src 'none'",
  `script-src ${sha256(SCRIPT)}`,
  `style-src ${sha256(STYLE)}`,
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

function document(title: string, main: string, refreshes: boolean): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="robots" content="noindex"><title>${escapeHtml(title)}</title>
${refreshes ? '<noscript><meta http-equiv="refresh" content="5"></noscript>\n' : ''}<style>${STYLE}</style></head>
<body>${main}${refreshes ? `<script>${SCRIPT}</script>` : ''}</body></html>
`;
}

/** A page that says only why there is nothing to pay. */
export function noticePage(title: string, text: string): string {
  return document(title, `<main><h1>${escapeHtml(title)}</h1><p>${escapeHtml(text)}</p></main>`, false);
}

/** The page of an order. `qrSvg`: the deposit address as an SVG element. */
export function checkoutPage(order: PayinOrderAnswer, qrSvg: string): string {
  const open = OPEN.has(order.status);
  const payable = order.status === 'INIT' || order.status === 'PENDING';
  const row = (name: string, value: string | null) =>
    value === null ? '' : `<dt>${name}</dt><dd>${escapeHtml(value)}</dd>`;
  const confirmations =
    order.txid === null
      ? null
      : `${order.confirmedNum}${order.requiredConfirmations === null ? '' : ` of ${order.requiredConfirmations}`}`;
  const pay = `<p>Send exactly this amount on <strong>${escapeHtml(order.chain)}</strong> to</p>
<code>${escapeHtml(order.address)}</code><div class="qr">${qrSvg}</div>
<p class="warn">Only ${escapeHtml(order.symbol)} on ${escapeHtml(order.chain)}. Anything else sent here may be lost.</p>`;
  const main = `<main data-open="${open}" data-status="${order.status}"><h1>${STATUS_TEXT[order.status]}</h1>
${order.description === null ? '' : `<p>${escapeHtml(order.description)}</p>`}
<p class="amount">${escapeHtml(order.amount)} ${escapeHtml(order.symbol)}</p>
${payable ? pay : ''}
<dl>${row('Order', order.orderId)}${row('Received', order.receivedAmount)}${row('Transaction', order.txid)}${row('Confirmations', confirmations)}${row('Note', order.reason)}${
    payable
      ? `<dt>Time left</dt><dd data-seconds-left="${Math.max(0, order.expiredTime - order.serverTime)}">${countdown(order)}</dd>`
      : ''
  }</dl>
${order.returnUrl === null ? '' : `<p><a href="${escapeHtml(order.returnUrl)}" rel="noreferrer noopener">Back to the shop</a></p>`}</main>`;
  return document(`${order.amount} ${order.symbol}`, main, open);
}

function countdown(order: PayinOrderAnswer): string {
  const seconds = Math.max(0, order.expiredTime - order.serverTime);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}
