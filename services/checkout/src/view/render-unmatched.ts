import type { Say } from '../texts/create-say.ts';
import type { TextName } from '../texts/en.ts';
import { chainNameOf } from './chain-names.ts';
import type { CheckoutOrder, CheckoutState, UnmatchedPayment } from './checkout-order.ts';
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

/** The newest ones; any number may arrive. */
const SHOWN_MAX = 3;

/** Payments that arrived and do not count. Null without any. */
export function renderUnmatched(order: CheckoutOrder, state: CheckoutState, say: Say): Html | null {
  const [first, ...others] = order.unmatched ?? [];
  if (first === undefined || (others.length === 0 && first.reason === COVERED_BY_STATE[state])) return null;
  return markup`<div class="warn unmatched">${ICONS.warning}<div>
    <h2>${say('unmatchedTitle')}</h2>
    ${renderUnmatchedList(order, say)}
  </div></div>`;
}

export function renderUnmatchedList(order: CheckoutOrder, say: Say): Html {
  const payments = order.unmatched ?? [];
  const shown = payments.slice(0, SHOWN_MAX);
  const more = (order.unmatchedCount ?? payments.length) - shown.length;
  return markup`<ul>${shown.map((payment) => renderPayment(order, payment, say))}${more > 0 && markup`<li>${say('unmatchedMore', { count: String(more) })}</li>`}</ul>
    <p>${say('unmatchedHint')}</p>`;
}

function renderPayment(order: CheckoutOrder, payment: UnmatchedPayment, say: Say): Html {
  const amount = say.money(payment.amount, payment.symbol);
  const values = {
    amount,
    chain: chainNameOf(payment),
    symbol: order.symbol,
    expected: chainNameOf(order),
  };
  return markup`<li>${say(SENTENCES[payment.reason], values)}
    <span class="transaction">${renderTransaction(payment.txid, payment.explorerUrl, say)}</span></li>`;
}
