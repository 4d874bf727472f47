import type { Say } from '../texts/create-say.ts';
import { chainNameOf, tokenName, tokenStandard } from './chain-names.ts';
import { copyButton } from './copy-button.ts';
import { dueAmount, urgencyOf, type CheckoutOrder, type PayableOrder } from './checkout-order.ts';
import { linkToOpen } from './folds.ts';
import { formatCountdown } from './format-countdown.ts';
import { networkGlyph } from './glyphs.ts';
import { markup, type Html } from './html.ts';
import { ICONS, ring } from './icons.ts';
import { paymentUri } from './payment-uri.ts';
import { qrCode } from './qr-code.ts';
import type { PageContext } from './page-context.ts';

/** Users compare only the ends of an address. */
const ADDRESS_END_LENGTH = 6;
/** The ring is full until the last half hour begins. */
const RING_SECONDS = 30 * 60;

/** Code, amount, address and network of a payable order. */
export function renderPayment(order: PayableOrder, around: PageContext, say: Say): Html {
  const { offline } = around;
  const amount = say.money(dueAmount(order).text, order.symbol);
  const hasPart = order.status === 'PENDING'; // its advice is to send the rest
  return markup`<div class="payment" id="pay" tabindex="-1" data-payable${offline && markup` data-offline inert aria-hidden="true"`}>
    <p class="scan">${say('scanOrSend', { amount })}</p>
    ${!hasPart && markup`<p class="soft send">${say('payOrSend', { amount })}</p>`}
    ${codes(order, around, say)}
    ${transfer(order, say)}
  </div>
  ${order.options !== undefined && around.asking === null && chooseAgain(order.options, around, say)}`;
}

/** Leads back to the list of coins. What arrived at an earlier address counts too. */
function chooseAgain(
  options: NonNullable<CheckoutOrder['options']>,
  { pageUrl }: PageContext,
  say: Say,
): Html {
  const hasOther = options.filter(({ chosen }) => chosen).length > 1;
  return markup`<div class="next">
    ${linkToOpen('choose', pageUrl, 'quiet', say('chooseAgain'))}
    ${hasOther && markup`<p class="soft hint">${say('chooseEarlier')}</p>`}
  </div>`;
}

/** Ring, state and time in the line above the code. */
export function renderClock(order: CheckoutOrder, nowSeconds: number, say: Say): Html {
  const seconds = Math.max(0, order.expiredTime - nowSeconds);
  return markup`<div class="clock" data-urgency="${urgencyOf(order, nowSeconds)}">
    ${ring(ringShare(seconds))}
    <p><span class="label">${say('timeLeft')}</span><span role="timer" dir="ltr" data-seconds-left="${seconds}">${formatCountdown(seconds)}</span></p>
  </div>`;
}

export function ringShare(seconds: number): number {
  return Math.min(1, seconds / RING_SECONDS);
}

function transfer(order: PayableOrder, say: Say): Html {
  const { text } = dueAmount(order);
  const standard = tokenStandard(order);
  const warning = say('warning', { symbol: tokenName(order), chain: chainNameOf(order) });
  return markup`<div class="transfer">
    <div class="sum">
      <p class="label">${say('amount')}</p>
      <p><strong><bdi dir="ltr" class="whole">${say.money(text, order.symbol)}</bdi></strong></p>
      ${copyButton('copyAmount', text, say)}
    </div>
    <div class="address-box">
      <p class="label">${say('address')}</p>
      <code class="address" dir="ltr">${address(order.address)}</code>
      ${copyButton('copyAddress', order.address, say)}
    </div>
    <div class="network">
      <p class="label">${say('network')}</p>
      <p><strong>${networkGlyph(order)}<bdi dir="ltr">${chainNameOf(order)}</bdi></strong>${standard !== null && markup` <bdi dir="ltr" class="soft whole">${standard}</bdi>`}</p>
      <p class="caution">${ICONS.warning}<span>${warning}</span></p>
    </div>
  </div>`;
}

/** The address, which every wallet reads; on choice all payment data. Needs no script. */
function codes(order: PayableOrder, { asking, opened, pageUrl }: PageContext, say: Say): Html {
  const uri = paymentUri(order);
  const plain = () => qrCode(order.address, say('codeOfAddress'), order.chain);
  const show =
    !opened.has('code') && linkToOpen('code', pageUrl, 'show-code', markup`${ICONS.code}${say('showCode')}`);
  const amount = say.money(dueAmount(order).text, order.symbol);
  const plainHint = say('addressOnlyHint', { amount });
  const attributes = markup` id="code" tabindex="-1"${asking !== null && markup` data-dimmed`}`;
  if (uri === null) {
    return markup`<div class="codes"${attributes}>${show}<div class="code qr">${plain()}</div><p class="soft hint">${plainHint}</p></div>`;
  }
  return markup`<fieldset class="codes"${attributes}>
    <legend class="unseen">${say('chooseCode')}</legend>
    ${show}
    <div class="tabs">
      <input type="radio" name="code" id="code-address" class="unseen" checked /><label for="code-address">${say('addressOnly')}</label>
      <input type="radio" name="code" id="code-amount" class="unseen" /><label for="code-amount">${say('withAmount')}</label>
    </div>
    <div class="code bare">${plain()}</div>
    <div class="code qr">${qrCode(uri, say('codeOfPayment'), order.chain)}</div>
    <p class="soft hint bare">${plainHint}</p>
    <p class="soft hint qr">${say('withAmountHint')}</p>
  </fieldset>`;
}

function address(text: string): Html {
  const end = text.length - ADDRESS_END_LENGTH;
  return markup`<b>${text.slice(0, ADDRESS_END_LENGTH)}</b>${text.slice(ADDRESS_END_LENGTH, end)}<b>${text.slice(end)}</b>`;
}
