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
const TIME_OVER_TEXT = 'The time to pay is over';
const OPEN: ReadonlySet<string> = new Set(['INIT', 'PENDING', 'PENDING_CONFIRMATION']);

const STYLE = `
:root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif;--page:#f3f5f7;--card:#fff;--line:#d8dee4;--soft:#5b6672;--waiting:#9a6700;--good:#0b6e4f;--bad:#b42318}
@media(prefers-color-scheme:dark){:root{--page:#0f1216;--card:#191e24;--line:#343c45;--soft:#9aa5b1;--waiting:#e3b341;--good:#3fb68b;--bad:#f97066}}
*{box-sizing:border-box}
body{margin:0;display:grid;min-height:100vh;place-items:center;background:var(--page)}
main{width:min(28rem,100vw);padding:1.5rem;background:var(--card);border:1px solid var(--line);border-radius:.8rem;overflow-wrap:anywhere}
h1{font-size:1rem;margin:0 0 .6rem;color:var(--waiting)}
[data-status=SUCCESS] h1{color:var(--good)}
[data-status=EXPIRED] h1,[data-status=FAILED] h1{color:var(--bad)}
p{margin:.5rem 0}
.amount{font-size:2rem;line-height:1.2;font-weight:600}
.soft,dt{color:var(--soft)}
.qr svg{width:100%;max-width:13rem;height:auto;display:block;margin:1rem auto;background:#fff;border-radius:.4rem}
code{font-size:.8rem}
.address{display:block;padding:.6rem;border:1px solid var(--line);border-radius:.4rem;text-align:center;font-size:clamp(.68rem,3vw,.9rem);user-select:all}
progress{width:100%;height:.5rem;accent-color:var(--good)}
dl{display:grid;grid-template-columns:auto 1fr;gap:.3rem 1.5rem;margin:1rem 0 0;padding-top:1rem;border-top:1px solid var(--line)}
dd{margin:0;text-align:right}
a{color:var(--good)}
.warn{border-left:.25rem solid var(--waiting);padding-left:.7rem}`;

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
    const how = main().querySelector('[data-payable]');
    if (seconds === 0 && how) { how.remove(); main().querySelector('h1').textContent = '${TIME_OVER_TEXT}'; }
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

/** What the page shows beside the answer of GET pay. */
export interface CheckoutExtras {
  /** The deposit address as an SVG element. */
  readonly qrSvg: string;
  /** What is still to be sent, in display units; null when nothing is. */
  readonly missingAmount: string | null;
}

/** The page of an order. */
export function checkoutPage(order: PayinOrderAnswer, extras: CheckoutExtras): string {
  const open = OPEN.has(order.status);
  const awaited = order.status === 'INIT' || order.status === 'PENDING';
  const payable = awaited && order.serverTime < order.expiredTime;
  const title = awaited && !payable ? TIME_OVER_TEXT : STATUS_TEXT[order.status];
  const symbol = escapeHtml(order.symbol);
  const partly = order.status === 'PENDING' && extras.missingAmount !== null;
  const amount = escapeHtml(partly ? (extras.missingAmount ?? '') : order.amount);
  const main = `<main data-open="${open}" data-status="${order.status}"><h1>${title}</h1>
${order.description === null ? '' : `<p><bdi>${escapeHtml(order.description)}</bdi></p>`}
<p class="amount">${amount} ${symbol}</p>
${partly ? `<p class="soft">still to pay of ${escapeHtml(order.amount)} ${symbol}</p>` : ''}
${payable ? payment(order, amount, extras.qrSvg) : progress(order)}
${detailList(order, payable)}
${order.returnUrl === null ? '' : `<p><a href="${escapeHtml(order.returnUrl)}" rel="noreferrer noopener">Back to the shop</a></p>`}</main>`;
  return document(`${order.amount} ${order.symbol}`, main, open);
}

/** How to pay: amount, chain, address, drawing. */
function payment(order: PayinOrderAnswer, amount: string, qrSvg: string): string {
  const [symbol, chain] = [escapeHtml(order.symbol), escapeHtml(order.chain)];
  return `<div data-payable><p>Send exactly <strong>${amount} ${symbol}</strong> on <strong>${chain}</strong> to</p>
<code class="address">${escapeHtml(order.address)}</code><div class="qr">${qrSvg}</div>
<p class="warn">Only ${symbol} on ${chain}. Anything else sent here may be lost.</p></div>`;
}

function progress(order: PayinOrderAnswer): string {
  if (order.status === 'EXPIRED' && order.txid !== null)
    return '<p class="warn">What you sent has arrived and is recorded. Please ask the shop about it.</p>';
  if (order.status !== 'PENDING_CONFIRMATION' || order.requiredConfirmations === null) return '';
  const { confirmedNum, requiredConfirmations: required } = order;
  return `<p><progress value="${Math.min(confirmedNum, required)}" max="${required}"></progress></p>`;
}

function detailList(order: PayinOrderAnswer, payable: boolean): string {
  const { confirmedNum, requiredConfirmations: required } = order;
  const confirmations =
    required === null ? `${confirmedNum}` : `${Math.min(confirmedNum, required)} of ${required}`;
  // After expiry also what came too late.
  const received = (order.status === 'EXPIRED' ? order.actualAmount : null) ?? order.receivedAmount;
  const rows: (readonly [name: string, html: string | null])[] = [
    ['Order', escapeHtml(order.orderId)],
    ['Received', `${escapeHtml(received)} ${escapeHtml(order.symbol)}`],
    ['Transaction', order.txid === null ? null : `<code>${escapeHtml(order.txid)}</code>`],
    ['Confirmations', order.txid === null ? null : confirmations],
    ['Note', order.reason === null ? null : escapeHtml(order.reason)],
  ];
  const list = rows.map(([name, html]) => (html === null ? '' : `<dt>${name}</dt><dd>${html}</dd>`)).join('');
  return `<dl>${list}${payable ? timeLeft(order) : ''}</dl>`;
}

function timeLeft(order: PayinOrderAnswer): string {
  const seconds = Math.max(0, order.expiredTime - order.serverTime);
  return `<dt>Time left</dt><dd data-seconds-left="${seconds}">${countdown(seconds)}</dd>`;
}

function countdown(seconds: number): string {
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}
