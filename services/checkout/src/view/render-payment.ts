import type { Say } from '../texts/create-say.ts';
import { CHAIN_NAMES, fullChainName, tokenKind } from './chain-names.ts';
import { dueAmount, isRunningOut, type CheckoutOrder } from './checkout-order.ts';
import { formatCountdown } from './format-countdown.ts';
import { markup, type Html } from './html.ts';
import { ICONS } from './icons.ts';
import { paymentUri } from './payment-uri.ts';
import { renderAmount } from './render-amount.ts';
import { qrCode } from './qr-code.ts';
import type { PageContext, WalletNotice } from './page-context.ts';
import { walletApp } from './wallet-app.ts';

/** Users compare only the ends of an address. */
const ADDRESS_END_LENGTH = 6;
const WORD_JOINER = '\u2060';

export function renderPayment(order: CheckoutOrder, around: PageContext, say: Say): Html {
  const isToken = order.contractAddress !== null;
  const chain = fullChainName(order.chain, isToken).replaceAll('-', `-${WORD_JOINER}`);
  const uri = paymentUri(order);
  const isShort = isRunningOut(order, around.nowSeconds);
  return markup`<div class="payment" data-payable>
    ${timeLeft(order, around, say)}
    ${isShort && markup`<p class="warn" role="alert">${ICONS.warning}<span>${say('runningOut')}</span></p>`}
    ${sum(order, say)}
    <p class="network">
      <span class="label">${say('network')}</span> <strong><bdi dir="ltr">${CHAIN_NAMES[order.chain].name} <span class="kind">${tokenKind(order.chain, isToken)}</span></bdi></strong>
    </p>
    ${around.onItsWay ? folded(codes(order, uri, say), uri, say) : codes(order, uri, say)}
    <div class="address-box">
      <p class="label">${say('address')}</p>
      ${copyButton('copyAddress', order.address, say)}
      <code class="address" dir="ltr">${address(order.address)}</code>
    </div>
    <p class="warn">${ICONS.warning}<span>${say('warning', { symbol: order.symbol, chain })}</span></p>
    <div class="wallets">
      ${!isShort && walletButtons(around, say)}
      ${walletNotice(chain, around, say)}
      ${uri !== null && !around.onItsWay && !isShort && markup`<a class="button plain open-wallet" href="${uri}">${ICONS.wallet}${say('openWallet')}</a>`}
      ${!around.onItsWay && !isShort && appLink(order, around, say)}
      ${around.mayPayAgain && markup`<button type="button" class="button plain" data-pay-again>${say('payAgain')}</button>`}
    </div>
  </div>`;
}

function timeLeft(order: CheckoutOrder, around: PageContext, say: Say): Html {
  const seconds = Math.max(0, order.expiredTime - around.nowSeconds);
  return markup`<p class="time-left">
    <span class="label">${say('timeLeft')}</span>
    <span role="timer" dir="ltr" data-seconds-left="${seconds}">${formatCountdown(seconds)}</span>
  </p>`;
}

function sum(order: CheckoutOrder, say: Say): Html {
  const { text } = dueAmount(order);
  const label = order.status === 'PENDING' ? 'amountMissing' : 'amountDue';
  return markup`<div class="sum">
    <p class="label">${say(label)}</p>
    ${renderAmount(text, order.symbol)}
    ${copyButton('copyAmount', text, say)}
  </div>`;
}

/** Shows all payment data, and on choice the bare address for wallets that cannot read it. Needs no script. */
function codes(order: CheckoutOrder, uri: string | null, say: Say): Html {
  const plain = () => qrCode(order.address, say('codeOfAddress'));
  if (uri === null) return markup`<div class="codes"><div class="code qr">${plain()}</div></div>`;
  return markup`<fieldset class="codes">
    <legend class="unseen">${say('chooseCode')}</legend>
    <input type="radio" name="code" id="code-amount" checked /><label for="code-amount">${say('withAmount')}</label>
    <input type="radio" name="code" id="code-address" /><label for="code-address">${say('addressOnly')}</label>
    <div class="code qr">${qrCode(uri, say('codeOfPayment'))}</div>
    <div class="code bare">${plain()}</div>
    <p class="soft bare">${say('addressOnlyHint')}</p>
  </fieldset>`;
}

/** Folds the code away while a payment is pending. */
function folded(content: Html, uri: string | null, say: Say): Html {
  const name = say(uri === null ? 'codeOfAddress' : 'codeOfPayment');
  return markup`<details class="folded"><summary>${name}</summary>${content}</details>`;
}

function address(text: string): Html {
  const end = text.length - ADDRESS_END_LENGTH;
  return markup`<b>${text.slice(0, ADDRESS_END_LENGTH)}</b>${text.slice(ADDRESS_END_LENGTH, end)}<b>${text.slice(end)}</b>`;
}

function copyButton(name: 'copyAmount' | 'copyAddress', text: string, say: Say): Html {
  return markup`<button type="button" class="copy needs-script" data-copy="${text}" title="${say(name)}">
    ${ICONS.copy}${ICONS.done}<span>${say(name)}</span>
  </button>`;
}

function walletButtons({ wallets, walletBusy }: PageContext, say: Say): Html[] {
  return wallets.map(({ id, name, icon }) => {
    const image = icon === null ? ICONS.wallet : markup`<img src="${icon}" alt="" width="24" height="24" />`;
    const attributes = walletBusy ? markup` disabled` : null;
    return markup`<button type="button" class="button wallet" data-wallet="${id}"${attributes}>${image}<span>${say('payWith', { wallet: name })}</span></button>`;
  });
}

/** Shown only on phones (page.css), and not when the page already has a wallet. */
function appLink(order: CheckoutOrder, { pageUrl, wallets }: PageContext, say: Say): Html | null {
  const app = pageUrl === null || wallets.length > 0 ? null : walletApp(order, pageUrl);
  if (app === null) return null;
  return markup`<a class="button plain open-app" href="${app.url}">${ICONS.wallet}${say('openIn', { wallet: app.name })}</a>`;
}

/** Always rendered: screen readers announce a live region only if it existed before. */
function walletNotice(chain: string, { walletNotice: notice }: PageContext, say: Say): Html {
  if (notice === null) return markup`<p class="notice" role="status"></p>`;
  const text = say(notice.text, { wallet: notice.wallet, chain });
  return markup`<p class="notice" role="status" data-tone="${toneOf(notice.text)}">${text}</p>`;
}

function toneOf(text: WalletNotice['text']): 'calm' | 'good' | 'warn' {
  if (text === 'walletSent') return 'good';
  return text === 'walletAsked' || text === 'walletRefused' ? 'calm' : 'warn';
}
