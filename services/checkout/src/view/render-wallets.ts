import type { Say } from '../texts/create-say.ts';
import { chainNameOf } from './chain-names.ts';
import type { CheckoutOrder, PayableOrder } from './checkout-order.ts';
import { markup, type Html } from './html.ts';
import { ICONS } from './icons.ts';
import { paymentUri } from './payment-uri.ts';
import { WALLET_CONNECT, type PageContext, type WalletNotice, type WalletView } from './page-context.ts';
import { walletApp } from './wallet-app.ts';

/** The way to pay with one press. Buttons keep their place while a wallet is asked. */
export function renderWallets(order: PayableOrder, around: PageContext, say: Say): Html {
  const asking = around.asking !== null && markup` data-asking`;
  // Without a connection the page cannot know whether the payment is still needed.
  const usable = !around.offline || around.asking !== null;
  return markup`<div class="wallets"${asking}>
    ${usable && around.wallets.map((wallet) => walletButton(wallet, around, say))}
    ${usable && appLink(order, around, say)}
    ${walletNotice(order, around, say)}
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

/** Shown only on phones (page.css), and not when the browser has a wallet. */
function appLink(order: PayableOrder, { pageUrl, wallets }: PageContext, say: Say): Html | null {
  if (wallets.some(({ id }) => id !== WALLET_CONNECT)) return null;
  const uri = paymentUri(order);
  const app = uri !== null || pageUrl === null ? null : walletApp(order, pageUrl);
  const [url, text] =
    app === null ? [uri, say('openWallet')] : [app.url, say('openIn', { wallet: app.name })];
  if (url === null) return null;
  const kind = `${app === null ? 'open-wallet' : 'open-app'}${wallets.length > 0 ? ' plain' : ''}`;
  return markup`<a class="button ${kind}" href="${url}">${ICONS.wallet}${text}</a>`;
}

/** Always rendered: screen readers announce a live region only if it existed before. */
function walletNotice(order: CheckoutOrder, { walletNotice: notice, asking }: PageContext, say: Say): Html {
  if (notice === null) return markup`<p class="notice" role="status"></p>`;
  const text = say(notice.text, { wallet: notice.wallet, chain: chainNameOf(order) });
  // While a wallet is asked, its button shows the text.
  const tone = asking === null ? toneOf(notice.text) : 'spoken';
  return markup`<p class="notice" role="status" data-tone="${tone}">${text}</p>`;
}

function toneOf(text: WalletNotice['text']): 'calm' | 'warn' {
  return text === 'walletAsked' || text === 'walletRefused' ? 'calm' : 'warn';
}
