import type { Say } from '../texts/create-say.ts';
import type { TextName } from '../texts/en.ts';
import { fullChainName } from './chain-names.ts';
import { isOpen, isPayable, type CheckoutOrder, type CheckoutState } from './checkout-order.ts';
import { markup, type Html } from './html.ts';
import { seal } from './icons.ts';
import { renderAmount } from './render-amount.ts';
import { renderPayment } from './render-payment.ts';
import { renderConfirming, renderDetails } from './render-progress.ts';
import { stateShown, type PageContext } from './page-context.ts';

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

/** Runs on the server, and after every change in the browser. */
export function renderOrder(order: CheckoutOrder, around: PageContext, say: Say): Html {
  const state = stateShown(order, around);
  const payable = isPayable(state);
  return markup`<main
    data-open="${String(isOpen(order))}"
    data-status="${order.status}"
    data-state="${state}"
    data-chain="${order.chain}"
  >
    <div class="status" role="status">${sealOf(state)}<h1>${say(state)}</h1>${advice(order, state, say)}</div>
    <p class="offline" role="status">${around.offline && say('offline')}</p>
    ${order.description !== null && markup`<p class="description"><bdi>${order.description}</bdi></p>`}
    ${payable ? renderPayment(order, around, say) : summary(order, state, say)}
    ${state === 'confirming' && renderConfirming(order, say)} ${renderDetails(order, state, say)}
    ${order.returnUrl !== null && wayBack(order.returnUrl, payable || state === 'checking', say)}
  </main>`;
}

function summary(order: CheckoutOrder, state: CheckoutState, say: Say): Html {
  const amount = state === 'paid' ? (order.actualAmount ?? order.amount) : order.amount;
  return markup`<div class="sum">
    <p class="label">${say('amountPaid')}</p>
    ${renderAmount(amount, order.symbol)}
    <p class="soft"><bdi dir="ltr">${fullChainName(order.chain, order.contractAddress !== null)}</bdi></p>
  </div>`;
}

function sealOf(state: CheckoutState): Html | null {
  if (state === 'paid') return seal('done');
  if (state === 'failed') return seal('close');
  return ['expired', 'underpaid', 'late', 'timeOver'].includes(state) ? seal('time') : null;
}

function advice(order: CheckoutOrder, state: CheckoutState, say: Say): Html | null {
  const name = ADVICE[state];
  if (name === undefined) return null;
  const received =
    state === 'underpaid' ? (order.actualAmount ?? order.receivedAmount) : order.receivedAmount;
  const values = { received, amount: `${order.amount} ${order.symbol}` };
  return markup`<p class="advice">${say(name, values)}</p>`;
}

/** `quiet`: the link is not the next step. */
function wayBack(returnUrl: string, quiet: boolean, say: Say): Html {
  return markup`<p class="back">
    <a class="${quiet ? 'quiet' : 'button'}" href="${returnUrl}" rel="noreferrer noopener">${say('backToShop')}</a>
  </p>`;
}
