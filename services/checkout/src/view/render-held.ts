import type { Say } from '../texts/create-say.ts';
import { explorerUrlOf } from './checkout-order.ts';
import { markup, type Html } from './html.ts';
import type { HeldView } from './page-context.ts';
import { renderTransaction } from './render-facts.ts';

const ADVICE = {
  sent: 'walletSent',
  overdue: 'walletOverdue',
  unsure: 'walletFailed',
  reverted: 'walletReverted',
} as const satisfies Readonly<Record<HeldView['state'], string>>;

export function heldAdvice({ state, wallet }: HeldView, say: Say): string {
  return say(ADVICE[state], { wallet });
}

/** Takes the place of amount, address and time once a wallet was asked to send. */
export function renderHeld(held: HeldView, say: Say): Html {
  const { state, wallet, transaction, explorerTxUrl } = held;
  const again = markup`<button type="button" class="button plain" data-pay-again>${say('payAgain')}</button>`;
  return markup`<div class="held">
    ${
      transaction !== null &&
      markup`<dl class="facts"><div><dt>${say('transaction')}</dt><dd>${renderTransaction(transaction, explorerUrlOf(explorerTxUrl, transaction), say)}</dd></div></dl>`
    }
    ${
      state === 'sent'
        ? markup`<details class="doubt"><summary class="quiet">${say('notSent')}</summary><p class="advice">${say('walletOverdue', { wallet })}</p>${again}</details>`
        : again
    }
  </div>`;
}
