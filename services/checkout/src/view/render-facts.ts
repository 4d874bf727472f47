import type { Say } from '../texts/create-say.ts';
import { confirmationsOf } from './render-confirming.ts';
import {
  contactUrlOf,
  paidAmounts,
  receivedBaseUnits,
  type CheckoutOrder,
  type CheckoutState,
} from './checkout-order.ts';
import { copyButton } from './copy-button.ts';
import { markup, type Html } from './html.ts';
import type { PageContext } from './page-context.ts';

const HASH_END_LENGTH = 6;
const HASH_SHOWN_WHOLE = 24;

type Row = readonly [name: string, value: Html | false];

/** Amounts that differ from the headline, and the numbers that a payer needs to ask the shop. */
export function renderFacts(order: CheckoutOrder, state: CheckoutState, say: Say): Html {
  return markup`<dl class="facts">${rowsOf([
    ...amountRows(order, state, say),
    [
      say('confirmations'),
      state === 'partial' && order.txid !== null && markup`${confirmationsOf(order, say)}`,
    ],
    ...numberRows(order, say),
  ])}</dl>`;
}

/** All of a paid order in one list, for printing. */
export function renderReceipt(
  order: CheckoutOrder,
  { timeZone }: Pick<PageContext, 'timeZone'>,
  say: Say,
): Html {
  const { transactionTime: time = null } = order;
  const amounts = amountRows(order, 'paid', say);
  return markup`<dl class="facts receipt">${rowsOf([
    ...(amounts.length > 0 ? amounts : [[say('amount'), moneyOf(order, order.amount, say)] as const]),
    [
      say('paidAt'),
      time !== null &&
        markup`<time datetime="${new Date(time * 1000).toISOString()}">${say.time(time, timeZone)}</time>`,
    ],
    ...numberRows(order, say),
  ])}</dl>`;
}

function rowsOf(rows: readonly Row[]): Html[] {
  return rows
    .filter(([, value]) => value !== false)
    .map(([name, value]) => markup`<div><dt>${name}</dt><dd>${value}</dd></div>`);
}

function numberRows(order: CheckoutOrder, say: Say): Row[] {
  return [
    [say('order'), markup`<bdi>${order.orderId}</bdi>${copyButton('copyOrder', order.orderId, say)}`],
    [say('transaction'), order.txid !== null && renderTransaction(order.txid, order.explorerUrl, say)],
  ];
}

function moneyOf({ symbol }: CheckoutOrder, amount: string, say: Say): Html {
  return markup`<bdi dir="ltr" class="whole">${say.money(amount, symbol)}</bdi>`;
}

function amountRows(order: CheckoutOrder, state: CheckoutState, say: Say): Row[] {
  const { received, tooMuch, missing } = paidAmounts(order);
  const money = (amount: string) => moneyOf(order, amount, say);
  const has = receivedBaseUnits({ ...order, receivedAmount: received }) > 0n;
  // An order that is paid exactly has one amount: its price.
  if (!has || (tooMuch === null && missing === null && state !== 'late')) return [];
  return [
    [say('price'), money(order.amount)],
    [say('received'), state !== 'underpaid' && state !== 'late' && money(received)],
    [say('tooMuch'), tooMuch !== null && money(tooMuch)],
    [say('missing'), missing !== null && state !== 'partial' && money(missing)],
  ];
}

export function renderTransaction(txid: string, url: string | null, say: Say): Html {
  const short =
    txid.length <= HASH_SHOWN_WHOLE
      ? txid
      : `${txid.slice(0, HASH_END_LENGTH + 2)}…${txid.slice(-HASH_END_LENGTH)}`;
  const hash = markup`<code dir="ltr" title="${txid}" data-txid="${txid}">${short}</code>`;
  const link =
    url !== null &&
    markup`<a href="${url}" target="_blank" rel="noreferrer noopener">${say('viewTransaction')}</a>`;
  return markup`${hash}${copyButton('copyTransaction', txid, say)}${link}`;
}

/** The page's last line: whose page it is, and where help is. */
export function renderFoot(order: CheckoutOrder, { host }: Pick<PageContext, 'host'>, say: Say): Html {
  const help = contactUrlOf(order);
  return markup`<p class="foot">
    ${host !== null && markup`<span>${say('hostedBy', { host })}</span>`}
    ${help !== null && markup`<a class="help" href="${help}" rel="noreferrer noopener">${say('contactShop')}</a>`}
  </p>`;
}
