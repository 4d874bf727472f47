import type { Say } from '../texts/create-say.ts';
import type { TextName } from '../texts/en.ts';
import {
  contactUrlOf,
  isOpen,
  isPayable,
  isRunningOut,
  paidAmounts,
  shopUrlOf,
  type CheckoutOrder,
  type CheckoutState,
} from './checkout-order.ts';
import { markup, type Html } from './html.ts';
import { ring, seal } from './icons.ts';
import { stateShown, type PageContext } from './page-context.ts';
import { confirmingRing, renderConfirming } from './render-confirming.ts';
import { renderFacts, renderFoot } from './render-facts.ts';
import { renderClock, renderPayment } from './render-payment.ts';
import { renderSummary } from './render-summary.ts';
import { renderUnmatched } from './render-unmatched.ts';
import { renderWallets } from './render-wallets.ts';

const ADVICE: Readonly<Partial<Record<CheckoutState, TextName>>> = {
  partial: 'partialHint',
  checking: 'checkingHint',
  timeOver: 'timeOverHint',
  reorganised: 'reorganisedHint',
  confirming: 'confirmingHint',
  paid: 'paidHint',
  expired: 'expiredHint',
  underpaid: 'underpaidHint',
  late: 'lateHint',
  failed: 'failedHint',
};

/** The payer has to ask the shop. */
const TO_CLARIFY: ReadonlySet<CheckoutState> = new Set(['underpaid', 'late', 'failed']);

/** Runs on the server, and after every change in the browser. Its parts keep their places in all states. */
export function renderOrder(order: CheckoutOrder, around: PageContext, say: Say): Html {
  const state = stateShown(order, around);
  const payable = isPayable(state);
  return markup`<main
    data-open="${String(isOpen(order))}"
    data-status="${order.status}"
    data-state="${state}"
    data-chain="${order.chain}"
  >
    ${renderSummary(order, state, around, say)}
    ${payable ? renderWallets(order, around, say) : markup`<div class="wallets"></div>`}
    <section class="step">
      <div class="status"><div role="status"><h2>${say(state)}</h2>${advice(order, state, say)}</div>${payable ? renderClock(order, around.nowSeconds, say) : sign(order, state)}</div>
      <p class="offline" role="status">${around.offline && say('offline')}</p>
      <div class="arrivals" role="status">${renderUnmatched(order, state, say)}</div>
      ${payable && renderPayment(order, around, say)}
      ${state === 'confirming' && renderConfirming(order, say)}
      ${nextSteps(order, state, isRunningOut(order, around.nowSeconds) && payable, say)}
    </section>
    ${renderFacts(order, state, say)}
    ${renderFoot(order, around, say)}
  </main>`;
}

function sign(order: CheckoutOrder, state: CheckoutState): Html {
  if (state === 'confirming') return confirmingRing(order);
  if (state === 'paid') return seal('done');
  if (state === 'failed') return seal('close');
  const turning = state === 'checking' || state === 'reorganised';
  return turning ? markup`<div class="seal">${ring(null)}</div>` : seal('time');
}

function advice(order: CheckoutOrder, state: CheckoutState, say: Say): Html | null {
  const name = ADVICE[state];
  if (name === undefined) return null;
  const { received, tooMuch } = paidAmounts(order);
  const { symbol } = order;
  const values = { received: say.money(received, symbol), amount: say.money(order.amount, symbol) };
  const extra = (state === 'paid' || state === 'confirming') && tooMuch !== null;
  return markup`<p class="advice">${say(name, values)}</p>
    ${extra && markup`<p class="advice">${say('tooMuchHint', { amount: say.money(tooMuch, symbol) })}</p>`}`;
}

/** Links to the shop and its help. While the order is payable, paying is the next step. */
function nextSteps(order: CheckoutOrder, state: CheckoutState, covered: boolean, say: Say): Html | null {
  const [shop, contact] = [shopUrlOf(order), contactUrlOf(order)];
  const busy = isPayable(state) || state === 'checking';
  const asks = TO_CLARIFY.has(state) || (state === 'paid' && paidAmounts(order).tooMuch !== null);
  const links = [
    ...(asks && contact !== null ? [[contact, say('contactShop')] as const] : []),
    ...(shop !== null && !covered ? [[shop, say('backToShop')] as const] : []),
  ];
  const prints = state === 'paid';
  if (links.length === 0 && !prints) return null;
  return markup`<div class="next">
    ${links.map(
      ([url, text], place) =>
        markup`<a class="${busy ? 'quiet' : place === 0 ? 'button' : 'button plain'}" href="${url}" rel="noreferrer noopener">${text}</a>`,
    )}
    ${prints && markup`<button type="button" class="quiet needs-script" data-print>${say('printReceipt')}</button>`}
  </div>`;
}
