import type { Say } from '../texts/create-say.ts';
import type { TextName } from '../texts/en.ts';
import { chainNameOf } from './chain-names.ts';
import {
  dueAmount,
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

/** The only reason of all unmatched payments; undefined for several. */
function commonReason({ unmatched = [] }: CheckoutOrder): UnmatchedPayment['reason'] | undefined {
  const reason = unmatched[0]?.reason;
  return unmatched.every((payment) => payment.reason === reason) ? reason : undefined;
}

export function unmatchedTitle(order: CheckoutOrder, say: Say): string {
  const reason = commonReason(order);
  if (reason === 'WRONG_TOKEN') return say('wrongToken');
  return say(reason === 'WRONG_CHAIN' ? 'wrongChain' : 'unmatchedTitle');
}

/** The way to pay what is still due. Names what differs from the payment that arrived. */
export function payInstead(order: CheckoutOrder, say: Say): string {
  const { symbol } = order;
  const amount = say.money(dueAmount(order).text, symbol);
  return commonReason(order) === 'WRONG_TOKEN'
    ? say('payInstead', { symbol, amount })
    : say('payOnChain', { amount, chain: chainNameOf(order) });
}

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
    <h2>${unmatchedTitle(order, say)}</h2>
    ${renderList(order, say)}
  </div></div>`;
}

/** Below the heading of the page, which is `unmatchedTitle`. */
export function renderQuestion(order: CheckoutOrder, say: Say): Html {
  return markup`<div class="warn question"><div>${renderList(order, say)}</div></div>`;
}

function renderList(order: CheckoutOrder, say: Say): Html {
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
