import type { Say } from '../texts/create-say.ts';
import {
  dueAmount,
  isOnTestNetwork,
  paidAmounts,
  type CheckoutOrder,
  type CheckoutState,
} from './checkout-order.ts';
import { markup, type Html } from './html.ts';
import type { PageContext } from './page-context.ts';
import { renderAmount } from './render-amount.ts';

/** Merchant, amount and description. Stays in place for the whole life of an order. */
export function renderSummary(
  order: CheckoutOrder,
  state: CheckoutState,
  around: PageContext,
  say: Say,
): Html {
  const merchant = nameOf(order, around);
  const title = merchant === null ? say('paymentRequest') : say('payTo', { merchant });
  const { label, amount } = headline(order, state, say);
  return markup`<section class="summary">
    ${isOnTestNetwork(order) && markup`<p class="badge">${say('testNetwork')}</p>`}
    <h1>${title}</h1>
    ${label !== null && markup`<p class="label">${label}</p>`}
    ${renderAmount(amount, order, say)}
    ${order.description !== null && markup`<p class="description"><bdi>${order.description}</bdi></p>`}
  </section>`;
}

function nameOf({ merchant }: CheckoutOrder, { shopName }: Pick<PageContext, 'shopName'>): string | null {
  const name = merchant?.name ?? shopName;
  return name === '' ? null : name;
}

/** The figure that matters now; the facts hold the others. */
function headline(
  order: CheckoutOrder,
  state: CheckoutState,
  say: Say,
): { readonly label: string | null; readonly amount: string } {
  const { received } = paidAmounts(order);
  if (state === 'partial') return { label: say('amountMissing'), amount: dueAmount(order).text };
  if (state === 'underpaid' || state === 'late') return { label: say('received'), amount: received };
  return { label: null, amount: order.amount };
}
