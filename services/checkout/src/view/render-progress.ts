import type { Say } from '../texts/create-say.ts';
import { type CheckoutOrder, type CheckoutState } from './checkout-order.ts';
import { markup, type Html } from './html.ts';

const HASH_END_LENGTH = 6;
const HASH_SHOWN_WHOLE = 24;

export function renderConfirming(order: CheckoutOrder, say: Say): Html {
  const { requiredConfirmations: required, confirmedNum } = order;
  const bar =
    required === null
      ? markup`<progress aria-label="${say('confirmations')}"></progress>`
      : markup`<progress aria-label="${say('confirmations')}" value="${Math.min(confirmedNum, required)}" max="${required}"></progress>`;
  return markup`<div class="confirming">
    <ol class="steps">
      <li class="passed">${say('stepSeen')}</li>
      <li aria-current="step">${say('stepConfirming')}</li>
      <li>${say('stepDone')}</li>
    </ol>
    ${bar}
    <p class="soft">${required === null ? say('finalHint') : markup`${say('confirmations')}: <b>${confirmations(order, say)}</b>`}</p>
  </div>`;
}

function confirmations({ confirmedNum, requiredConfirmations }: CheckoutOrder, say: Say): string {
  if (requiredConfirmations === null) return String(confirmedNum);
  const count = String(Math.min(confirmedNum, requiredConfirmations));
  return say('countOf', { count, total: String(requiredConfirmations) });
}

export function renderDetails(order: CheckoutOrder, state: CheckoutState, say: Say): Html {
  // After expiry this includes late payments.
  const received = (order.status === 'EXPIRED' ? order.actualAmount : null) ?? order.receivedAmount;
  const rows: (readonly [name: string, value: Html | string | false])[] = [
    [say('order'), markup`<bdi>${order.orderId}</bdi>`],
    [
      say('received'),
      (order.status !== 'INIT' || !['waiting', 'checking', 'reorganised'].includes(state)) &&
        markup`<bdi dir="ltr">${received} ${order.symbol}</bdi>`,
    ],
    [say('confirmations'), state === 'partial' && order.txid !== null && confirmations(order, say)],
    [say('transaction'), order.txid !== null && transaction(order.txid, order.explorerUrl, say)],
  ];
  const list = rows
    .filter(([, value]) => value !== false)
    .map(([name, value]) => markup`<div><dt>${name}</dt><dd>${value}</dd></div>`);
  return markup`<dl>${list}</dl>`;
}

function transaction(txid: string, url: string | null, say: Say): Html {
  const short =
    txid.length <= HASH_SHOWN_WHOLE
      ? txid
      : `${txid.slice(0, HASH_END_LENGTH + 2)}…${txid.slice(-HASH_END_LENGTH)}`;
  const hash = markup`<code dir="ltr" title="${txid}" data-txid="${txid}">${short}</code>`;
  if (url === null) return hash;
  const link = { rel: 'noreferrer noopener', label: say('viewTransaction') };
  return markup`${hash} <a href="${url}" target="_blank" rel="${link.rel}">${link.label}</a>`;
}
