import type { Say } from '../texts/create-say.ts';
import type { TextName } from '../texts/en.ts';
import { CHAIN_NAMES } from './chain-names.ts';
import {
  contactUrlOf,
  type CheckoutOrder,
  type CheckoutState,
  type UnmatchedPayment,
} from './checkout-order.ts';
import { markup, type Html } from './html.ts';
import { ICONS } from './icons.ts';
import { renderTransaction } from './render-facts.ts';

const SENTENCES: Readonly<Record<UnmatchedPayment['reason'], TextName>> = {
  WRONG_TOKEN: 'unmatchedToken',
  WRONG_CHAIN: 'unmatchedChain',
  LATE: 'unmatchedLate',
  UNDERPAID: 'unmatchedShort',
  AFTER_SUCCESS: 'unmatchedAfter',
  ORDER_FAILED: 'unmatchedFailed',
};

/** The heading of these states covers a single payment of this reason. */
const COVERED_BY_STATE: Readonly<Partial<Record<CheckoutState, UnmatchedPayment['reason']>>> = {
  underpaid: 'UNDERPAID',
  late: 'LATE',
};

/** Payments that arrived and do not count. Null without any. */
export function renderUnmatched(order: CheckoutOrder, state: CheckoutState, say: Say): Html | null {
  const payments = order.unmatched ?? [];
  const [first, ...others] = payments;
  if (first === undefined || (others.length === 0 && first.reason === COVERED_BY_STATE[state])) return null;
  const contact = contactUrlOf(order);
  return markup`<div class="warn unmatched">${ICONS.warning}<div>
    <h2>${say('unmatchedTitle')}</h2>
    <ul>${payments.map((payment) => renderPayment(order, payment, say))}</ul>
    <p>${say('unmatchedHint')}</p>
    ${contact !== null && markup`<p><a href="${contact}" rel="noreferrer noopener">${say('contactShop')}</a></p>`}
  </div></div>`;
}

function renderPayment(order: CheckoutOrder, payment: UnmatchedPayment, say: Say): Html {
  const amount = say.money(payment.amount, payment.symbol);
  const chain = CHAIN_NAMES[payment.chain].name;
  const values = { amount, chain, symbol: order.symbol, expected: CHAIN_NAMES[order.chain].name };
  return markup`<li>${say(SENTENCES[payment.reason], values)}
    <span class="transaction">${renderTransaction(payment.txid, payment.explorerUrl, say)}</span></li>`;
}
