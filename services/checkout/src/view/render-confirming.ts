import type { Say } from '../texts/create-say.ts';
import type { CheckoutOrder } from './checkout-order.ts';
import { markup, type Html } from './html.ts';
import { ring } from './icons.ts';

/** The ring takes the place of the seal that follows it. */
export function confirmingRing({ confirmedNum, requiredConfirmations: required }: CheckoutOrder): Html {
  if (required === null) return markup`<div class="seal">${ring(null)}</div>`;
  const count = Math.min(confirmedNum, required);
  const figures = markup`<b dir="ltr">${count}/${required}</b>`;
  return markup`<div class="seal">${ring(required === 0 ? 1 : count / required, figures)}</div>`;
}

export function renderConfirming(order: CheckoutOrder, say: Say): Html {
  const { requiredConfirmations: required, confirmedNum } = order;
  const label = say('confirmations');
  const bar =
    required === null
      ? markup`<progress class="unseen" aria-label="${label}"></progress>`
      : markup`<progress class="unseen" aria-label="${label}" value="${Math.min(confirmedNum, required)}" max="${required}"></progress>`;
  return markup`<div class="confirming">
    <ol class="steps">
      <li class="passed">${say('stepSeen')}</li>
      <li aria-current="step">${say('stepConfirming')}</li>
      <li>${say('stepDone')}</li>
    </ol>
    ${bar}
    <p class="soft">${required === null ? say('finalHint') : markup`${label}: <b>${confirmationsOf(order, say)}</b>`}</p>
  </div>`;
}

export function confirmationsOf({ confirmedNum, requiredConfirmations }: CheckoutOrder, say: Say): string {
  if (requiredConfirmations === null) return String(confirmedNum);
  const count = String(Math.min(confirmedNum, requiredConfirmations));
  return say('countOf', { count, total: String(requiredConfirmations) });
}
