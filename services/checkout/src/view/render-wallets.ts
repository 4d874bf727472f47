import type { Say } from '../texts/create-say.ts';
import { fullChainName } from './chain-names.ts';
import { isRunningOut, type CheckoutOrder } from './checkout-order.ts';
import { markup, type Html } from './html.ts';
import { ICONS } from './icons.ts';
import { paymentUri } from './payment-uri.ts';
import type { PageContext, WalletNotice, WalletView } from './page-context.ts';
import { walletApp } from './wallet-app.ts';

const WORD_JOINER = '\u2060';

/** In one line, also where it contains a hyphen. */
export function unbrokenChainName({ chain, contractAddress }: CheckoutOrder): string {
  return fullChainName(chain, contractAddress !== null).replaceAll('-', `-${WORD_JOINER}`);
}

/** The way to pay with one press. Buttons keep their place while a wallet is asked. */
export function renderWallets(order: CheckoutOrder, around: PageContext, say: Say): Html {
  const isShort = isRunningOut(order, around.nowSeconds);
  const asking = around.asking !== null && markup` data-asking`;
  return markup`<div class="wallets"${asking}>
    ${!isShort && around.wallets.map((wallet) => walletButton(wallet, around, say))}
    ${!isShort && appLink(order, around, say)}
    ${walletNotice(order, around, say)}
    ${around.mayPayAgain && markup`<button type="button" class="button plain" data-pay-again>${say('payAgain')}</button>`}
  </div>`;
}

function walletButton({ id, name, icon }: WalletView, { asking, walletBusy }: PageContext, say: Say): Html {
  if (asking === id) {
    return markup`<button type="button" class="button wallet" data-wallet="${id}" data-asked aria-busy="true" disabled><i class="spinner"></i><span>${say('walletAsked', { wallet: name })}</span></button>`;
  }
  const image = icon === null ? ICONS.wallet : markup`<img src="${icon}" alt="" width="24" height="24" />`;
  const attributes = walletBusy ? markup` disabled` : null;
  return markup`<button type="button" class="button wallet" data-wallet="${id}"${attributes}>${image}<span>${say('payWith', { wallet: name })}</span></button>`;
}

/** Shown only on phones (page.css), and not when the page already has a wallet. */
function appLink(
  order: CheckoutOrder,
  { pageUrl, wallets, onItsWay, offline }: PageContext,
  say: Say,
): Html | null {
  if (wallets.length > 0 || onItsWay) return null;
  const uri = paymentUri(order);
  const app = uri !== null || pageUrl === null ? null : walletApp(order, pageUrl);
  const [url, text] =
    app === null ? [uri, say('openWallet')] : [app.url, say('openIn', { wallet: app.name })];
  if (url === null) return null;
  const kind = app === null ? 'open-wallet' : 'open-app';
  // A link without an address cannot be followed; it keeps its place.
  const target = offline ? markup` aria-disabled="true"` : markup` href="${url}"`;
  return markup`<a class="button ${kind}"${target}>${ICONS.wallet}${text}</a>`;
}

/** Always rendered: screen readers announce a live region only if it existed before. */
function walletNotice(order: CheckoutOrder, { walletNotice: notice, asking }: PageContext, say: Say): Html {
  if (notice === null) return markup`<p class="notice" role="status"></p>`;
  const text = say(notice.text, { wallet: notice.wallet, chain: unbrokenChainName(order) });
  // While a wallet is asked, its button shows the text.
  const tone = asking === null ? toneOf(notice.text) : 'spoken';
  return markup`<p class="notice" role="status" data-tone="${tone}">${text}</p>`;
}

function toneOf(text: WalletNotice['text']): 'calm' | 'good' | 'warn' {
  if (text === 'walletSent') return 'good';
  return text === 'walletAsked' || text === 'walletRefused' ? 'calm' : 'warn';
}
