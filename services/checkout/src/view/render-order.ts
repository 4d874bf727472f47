import type { Say } from '../texts/create-say.ts';
import type { TextName } from '../texts/en.ts';
import {
  asksShop,
  contactUrlOf,
  hasUnmatched,
  isChosen,
  isOpen,
  isPayable,
  isQuestioned,
  paidAmounts,
  shopUrlOf,
  type CheckoutOrder,
  type CheckoutState,
  type PayableOrder,
} from './checkout-order.ts';
import { linkToOpen } from './folds.ts';
import { markup, type Html } from './html.ts';
import { ring, seal } from './icons.ts';
import { stateShown, type PageContext } from './page-context.ts';
import { renderChoice } from './render-choice.ts';
import { confirmingRing, renderConfirming } from './render-confirming.ts';
import { renderFacts, renderFoot, renderOrderNumber, renderReceipt } from './render-facts.ts';
import { heldAdvice, renderHeld } from './render-held.ts';
import { renderClock, renderPayment } from './render-payment.ts';
import { renderSummary } from './render-summary.ts';
import { payInstead, renderQuestion, renderUnmatched, unmatchedTitle } from './render-unmatched.ts';
import { renderWallets } from './render-wallets.ts';

const ADVICE: Readonly<Partial<Record<CheckoutState, TextName>>> = {
  partial: 'partialHint',
  checking: 'checkingHint',
  tooLate: 'tooLateUnpaid',
  timeOver: 'timeOverHint',
  reorganised: 'reorganisedHint',
  confirming: 'confirmingHint',
  paid: 'paidHint',
  expired: 'expiredHint',
  underpaid: 'underpaidHint',
  late: 'lateHint',
  failed: 'failedHint',
};

/** Their advice does not fit money that has arrived: see `renderUnmatched`. */
const START_AGAIN: ReadonlySet<CheckoutState> = new Set(['expired', 'tooLate']);
/** The outcome comes by itself. */
const TURNING: ReadonlySet<CheckoutState> = new Set(['checking', 'reorganised', 'sent', 'overdue']);
/** The page expects something else of the payer than to leave. */
const BUSY: ReadonlySet<CheckoutState> = new Set([
  'choose',
  'waiting',
  'partial',
  'checking',
  'sent',
  'overdue',
  'unsure',
  'reverted',
]);

/** Runs on the server, and after every change in the browser. Its parts keep their places in all states. */
export function renderOrder(order: CheckoutOrder, around: PageContext, say: Say): Html {
  const state = stateShown(order, around);
  const questioned = isQuestioned(order, state);
  const payable = isPayable(state) && !questioned && isChosen(order) ? order : null;
  const unpaid = isUnpaid(order, state);
  return markup`<main
    data-open="${String(isOpen(order))}"
    data-status="${order.status}"
    data-state="${state}"
    data-chain="${order.chain}"
  >
    ${renderSummary(order, state, around, say)}
    ${payable !== null ? renderWallets(payable, around, say) : markup`<div class="wallets"></div>`}
    <section class="step">
      <div class="status"><div role="status"><h2>${headingOf(order, state, say)}</h2>${!questioned && advice(order, state, around, say)}</div>${payable !== null || state === 'choose' ? renderClock(order, around.nowSeconds, say) : !questioned && sign(order, state)}</div>
      <p class="offline" role="status">${around.offline && offlineText(state, say)}</p>
      <div class="arrivals" role="status">${questioned ? renderQuestion(order, say) : renderUnmatched(order, state, say)}</div>
      ${state === 'choose' && renderChoice(order, around, say)}
      ${payable !== null && renderPayment(payable, around, say)}
      ${around.held?.state === state && renderHeld(around.held, say)}
      ${state === 'confirming' && renderConfirming(order, say)}
      ${state === 'paid' && renderReceipt(order, around, say)}
      ${state !== 'paid' && !unpaid && asksShop(order, state) && renderOrderNumber(order, say)}
      ${questioned && isChosen(order) ? question(order, around, say) : nextSteps(order, state, say)}
      ${unpaid && isChosen(order) && alreadyPaid(order, state, say)}
    </section>
    ${state === 'paid' ? markup`<div class="facts"></div>` : renderFacts(order, state, say)}
    ${renderFoot(order, state, around, say)}
  </main>`;
}

function isUnpaid(order: CheckoutOrder, state: CheckoutState): boolean {
  return START_AGAIN.has(state) && !hasUnmatched(order);
}

export function headingOf(order: CheckoutOrder, state: CheckoutState, say: Say): string {
  return isQuestioned(order, state) ? unmatchedTitle(order, say) : say(state);
}

/** Money arrived that does not count. The means to pay are folded away. */
function question(order: PayableOrder, around: PageContext, say: Say): Html {
  const [contact, shop] = [contactUrlOf(order), shopUrlOf(order)];
  const opened = around.opened.has('anyway');
  return markup`<div class="next">
    ${contact !== null && linkTo(contact, say('contactShop'), 'button')}
    ${!opened && linkToOpen('anyway', around.pageUrl, 'button plain', payInstead(order, say))}
    ${shop !== null && linkTo(shop, say('backToShop'), 'quiet')}
  </div>
  ${
    opened &&
    markup`<div class="anyway" id="anyway" tabindex="-1">
      ${renderClock(order, around.nowSeconds, say)}
      ${renderWallets(order, around, say)}
      ${renderPayment(order, around, say)}
    </div>`
  }`;
}

/** For the payer whose payment has not been seen. */
function alreadyPaid(order: CheckoutOrder, state: CheckoutState, say: Say): Html {
  if (state === 'tooLate')
    return markup`<div class="paid-already"><p class="advice">${say('tooLatePaid')}</p></div>`;
  const contact = contactUrlOf(order);
  return markup`<div class="paid-already">
    <p class="advice">${say('alreadyPaid')}</p>
    ${renderOrderNumber(order, say)}
    ${contact !== null && linkTo(contact, say('contactShop'), 'button plain')}
  </div>`;
}

function offlineText(state: CheckoutState, say: Say): string {
  return isPayable(state) ? `${say('offline')} ${say('offlineWait')}` : say('offline');
}

function sign(order: CheckoutOrder, state: CheckoutState): Html {
  if (state === 'unsure' || state === 'reverted') return seal('warning');
  if (state === 'confirming') return confirmingRing(order);
  if (state === 'paid') return seal('done');
  if (state === 'failed') return seal('close');
  return TURNING.has(state) ? markup`<div class="seal">${ring(null)}</div>` : seal('time');
}

function advice(order: CheckoutOrder, state: CheckoutState, { held }: PageContext, say: Say): Html | null {
  if (held?.state === state) return markup`<p class="advice">${heldAdvice(held, say)}</p>`;
  if (START_AGAIN.has(state) && !isUnpaid(order, state)) return null;
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
function nextSteps(order: CheckoutOrder, state: CheckoutState, say: Say): Html | null {
  const [shop, contact] = [shopUrlOf(order), contactUrlOf(order)];
  const unpaid = isUnpaid(order, state);
  const asks = !unpaid && asksShop(order, state);
  const links = [
    ...(asks && contact !== null ? [[contact, say('contactShop')] as const] : []),
    ...(shop !== null ? [[shop, say(unpaid ? 'startAgain' : 'backToShop')] as const] : []),
  ];
  const prints = state === 'paid';
  if (links.length === 0 && !prints) return null;
  return markup`<div class="next">
    ${links.map(([url, text], place) => linkTo(url, text, BUSY.has(state) ? 'quiet' : place === 0 ? 'button' : 'button plain'))}
    ${prints && markup`<button type="button" class="quiet needs-script" data-print>${say('printReceipt')}</button>`}
  </div>`;
}

export function linkTo(url: string, text: string, kind: 'button' | 'button plain' | 'quiet'): Html {
  return markup`<a class="${kind}" href="${url}" rel="noreferrer noopener">${text}</a>`;
}
