import type { Say } from '../texts/create-say.ts';
import {
  dueAmount,
  isChosen,
  isOnTestNetwork,
  isPartlyPaid,
  isPayable,
  isQuestioned,
  paidAmounts,
  type CheckoutOrder,
  type CheckoutState,
} from './checkout-order.ts';
import { markup, type Html } from './html.ts';
import type { PageContext } from './page-context.ts';
import { renderAmount, renderPriceFigure as renderFigure } from './render-amount.ts';

/** Title, amount and description. Stays in place for the whole life of an order. */
export function renderSummary(
  order: CheckoutOrder,
  state: CheckoutState,
  around: PageContext,
  say: Say,
): Html {
  const amount = amountOf(order, state);
  return markup`<section class="summary">
    ${isForTests(order) && markup`<p class="badge">${say('testNetwork')}</p>`}
    <h1>${titleOf(order, state, nameOf(order, around), say)}</h1>
    ${isPartlyPaid(order, state) && markup`<p class="label">${say('amountMissing')}</p>`}
    ${isChosen(order) ? renderAmount(amount, order, say) : renderPriceFigure(order, say)}
    ${isChosen(order) && amount === order.amount && renderPrice(order, say)}
    ${order.description !== null && markup`<p class="description"><bdi>${order.description}</bdi></p>`}
  </section>`;
}

/** Before the choice, the coins may be of several networks. */
function isForTests(order: CheckoutOrder): boolean {
  const { options = [] } = order;
  return isChosen(order) ? isOnTestNetwork(order) : options.every(({ isTestNetwork }) => isTestNetwork);
}

/** The amount while no coin is chosen. */
function renderPriceFigure({ price, currency }: CheckoutOrder, say: Say): Html | false {
  return price !== undefined && currency !== undefined && renderFigure(price, currency, say);
}

/** The price in the shop's currency, from which the amount was computed. */
function renderPrice({ price, currency }: CheckoutOrder, say: Say): Html | false {
  if (price === undefined || currency === undefined) return false;
  return markup`<p class="worth"><bdi dir="ltr" class="whole">${say.money(price, currency)}</bdi></p>`;
}

function nameOf({ merchant }: CheckoutOrder, { shopName }: Pick<PageContext, 'shopName'>): string | null {
  const name = merchant?.name ?? shopName;
  return name === '' ? null : name;
}

/** What the page is about now. It asks to pay only while it offers a way to pay. */
function titleOf(order: CheckoutOrder, state: CheckoutState, merchant: string | null, say: Say): string {
  switch (state) {
    case 'paid':
      return merchant === null ? say('paidTitle') : say('paidTo', { merchant });
    case 'expired':
      return say('expiredTitle');
    case 'underpaid': {
      const received = say.figure(paidAmounts(order).received);
      return say('receivedOf', { received, amount: say.figure(order.amount) });
    }
    case 'late':
      return say('lateTitle');
    case 'failed':
      return say('failedTitle');
    default:
      if (merchant === null) return say('paymentRequest');
      return (isPayable(state) || state === 'choose') && !isQuestioned(order, state)
        ? say('payTo', { merchant })
        : say('paymentTo', { merchant });
  }
}

/** The figure that matters now; the facts hold the others. */
function amountOf(order: CheckoutOrder, state: CheckoutState): string {
  if (isPartlyPaid(order, state)) return dueAmount(order).text;
  return state === 'underpaid' || state === 'late' ? paidAmounts(order).received : order.amount;
}
