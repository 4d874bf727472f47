import type { Say } from '../texts/create-say.ts';
import { chainNameOf, tokenStandard } from './chain-names.ts';
import { coinKey } from './render-choice.ts';
import { confirmationsOf } from './render-confirming.ts';
import {
  asksShop,
  contactUrlOf,
  isPartlyPaid,
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
    ...(asksShop(order, state) ? [] : [orderRow(order, say)]),
    transactionRow(order, say),
  ])}</dl>`;
}

/** For the payer to give to the shop: below the text that asks for it. */
export function renderOrderNumber(order: CheckoutOrder, say: Say): Html {
  return markup`<dl class="facts number">${rowsOf([orderRow(order, say)])}</dl>`;
}

/** All of a paid order in one list, for printing. */
export function renderReceipt(
  order: CheckoutOrder,
  { timeZone }: Pick<PageContext, 'timeZone'>,
  say: Say,
): Html {
  const { transactionTime: time = null } = order;
  const amounts = amountRows(order, 'paid', say);
  const inCoins = coinRows(order, say);
  const whole = inCoins.length > 0 ? inCoins : [[say('amount'), moneyOf(order, order.amount, say)] as const];
  return markup`<dl class="facts receipt">${rowsOf([
    ...(amounts.length > 0 ? amounts : whole),
    priceRow(order, say),
    [
      say('paidAt'),
      time !== null &&
        markup`<time datetime="${new Date(time * 1000).toISOString()}">${say.time(time, timeZone)}</time>`,
    ],
    [say('network'), inCoins.length === 0 && networkOf(order)],
    orderRow(order, say),
    transactionRow(order, say),
  ])}</dl>`;
}

function rowsOf(rows: readonly Row[]): Html[] {
  return rows
    .filter(([, value]) => value !== false)
    .map(([name, value]) => markup`<div><dt>${name}</dt><dd>${value}</dd></div>`);
}

/** In the shop's currency. */
function priceRow({ price, currency }: CheckoutOrder, say: Say): Row {
  const isPriced = price !== undefined && currency !== undefined;
  return [say('price'), isPriced && markup`<bdi dir="ltr" class="whole">${say.money(price, currency)}</bdi>`];
}

function orderRow({ orderId }: CheckoutOrder, say: Say): Row {
  return [say('order'), markup`<bdi>${orderId}</bdi>${copyButton('copyOrder', orderId, say)}`];
}

function transactionRow({ txid, explorerUrl }: CheckoutOrder, say: Say): Row {
  return [say('transaction'), txid !== null && renderTransaction(txid, explorerUrl, say)];
}

function networkOf(order: CheckoutOrder): Html {
  const standard = tokenStandard(order);
  return markup`<bdi dir="ltr">${chainNameOf(order)}</bdi>${standard !== null && markup` <bdi dir="ltr" class="soft whole">${standard}</bdi>`}`;
}

function moneyOf({ symbol }: Pick<CheckoutOrder, 'symbol'>, amount: string, say: Say): Html {
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
    ...receivedRows(order, received, state, say),
    [say('tooMuch'), tooMuch !== null && money(tooMuch)],
    [say('missing'), missing !== null && !isPartlyPaid(order, state) && money(missing)],
  ];
}

function receivedRows(
  order: CheckoutOrder,
  received: string,
  state: CheckoutState,
  say: Say,
): readonly Row[] {
  const inCoins = coinRows(order, say);
  if (inCoins.length > 0) return inCoins;
  return [[say('received'), state !== 'underpaid' && state !== 'late' && moneyOf(order, received, say)]];
}

/** What was paid in each coin, with its network. Empty while all of it was paid in the current coin. */
function coinRows(order: CheckoutOrder, say: Say): readonly Row[] {
  const { payments = [], options = [] } = order;
  const key = coinKey(order);
  if (payments.every((payment) => coinKey(payment) === key)) return [];
  return payments.map((payment) => {
    const option = options.find((one) => coinKey(one) === coinKey(payment));
    return [
      say('received'),
      markup`${moneyOf(payment, payment.amount, say)} <bdi dir="ltr" class="soft">${chainNameOf(option ?? payment)}</bdi>`,
    ];
  });
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

/** The page's last line: whose page it is, and where help is, unless the page links to it above. */
export function renderFoot(
  order: CheckoutOrder,
  state: CheckoutState,
  { host }: Pick<PageContext, 'host'>,
  say: Say,
): Html {
  const help = asksShop(order, state) ? null : contactUrlOf(order);
  return markup`<p class="foot">
    ${host !== null && markup`<span>${say('hostedBy', { host })}</span>`}
    ${help !== null && markup`<a class="help" href="${help}" rel="noreferrer noopener">${say('contactShop')}</a>`}
  </p>`;
}
