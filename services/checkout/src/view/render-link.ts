import type { Chain } from '@opentill/domain/chains';
import type { Say } from '../texts/create-say.ts';
import type { MerchantLinks } from './checkout-order.ts';
import { networkGlyph } from './glyphs.ts';
import { markup, type Html } from './html.ts';
import { qrCode } from './qr-code.ts';
import { renderAmount, renderPriceFigure } from './render-amount.ts';

interface LinkCoin {
  readonly symbol: string;
  readonly chain: Chain;
  readonly chainName: string;
}

/** A payment link as its page shows it. */
export interface LinkView {
  readonly merchant: MerchantLinks & {
    readonly name: string | null;
    readonly logoUrl: string | null;
    readonly accentColor: string | null;
  };
  readonly description: string | null;
  /** ISO 4217; null: the values are in units of the coin. */
  readonly currency: string | null;
  /** Null: the payer enters it, between the next two. Decimal text. */
  readonly amount: string | null;
  readonly minAmount: string | null;
  readonly maxAmount: string | null;
  /** If there are several, the customer chooses on the next page. Without a currency there is one. */
  readonly coins: readonly LinkCoin[];
  readonly isTestNetwork: boolean;
  /** Public address of the page. */
  readonly url: string;
}

/** The form of one visit. */
export interface LinkForm {
  /** Identifies the order that the form opens, however often it is sent. */
  readonly key: string;
  /** As the payer typed it; undefined at the first visit. Shown with the permitted range. */
  readonly entered?: string;
}

/** The page needs no script: a form leads to the payment. */
export function renderLinkMain(
  link: LinkView,
  form: LinkForm,
  { shopName, host }: { readonly shopName: string | null; readonly host: string | null },
  say: Say,
): Html {
  const merchant = link.merchant.name ?? (shopName === '' ? null : shopName);
  const title = merchant === null ? say('paymentRequest') : say('payTo', { merchant });
  return markup`<main data-state="link">
    <section class="summary">
      ${link.isTestNetwork && markup`<p class="badge">${say('testNetwork')}</p>`}
      <h1>${title}</h1>
      ${link.amount !== null && figureOf(link, link.amount, say)}
      ${link.description !== null && markup`<p class="description"><bdi>${link.description}</bdi></p>`}
    </section>
    <section class="step">
      <form class="enter" method="post">
        <input type="hidden" name="key" value="${form.key}" autocomplete="off" />
        ${link.amount === null && renderField(link, form, say)}
        ${link.coins.length > 0 && markup`<dl class="facts"><div><dt>${say('network')}</dt>${link.coins.map(renderCoin)}</div></dl>`}
        <button class="button">${say('continueToPay')}</button>
      </form>
    </section>
    <div class="page-code"><div class="code">${qrCode(link.url, say('scanPage'), null)}</div><p class="soft" aria-hidden="true">${say('scanPage')}</p></div>
    <p class="foot">${host !== null && markup`<span>${say('hostedBy', { host })}</span>`}</p>
  </main>`;
}

function renderCoin(coin: LinkCoin): Html {
  return markup`<dd>${networkGlyph(coin)}<bdi dir="ltr">${coin.symbol} · ${coin.chainName}</bdi></dd>`;
}

function figureOf(link: LinkView, amount: string, say: Say): Html {
  const [coin] = link.coins;
  return link.currency !== null || coin === undefined
    ? renderPriceFigure(amount, unitOf(link), say)
    : renderAmount(amount, coin, say);
}

function unitOf({ currency, coins: [coin] }: LinkView): string {
  return currency ?? coin?.symbol ?? '';
}

/** The browser checks the form of the amount, the server also its range. */
function renderField(link: LinkView, { entered }: LinkForm, say: Say): Html {
  const unit = unitOf(link);
  const range = say('amountBetween', {
    min: say.money(link.minAmount ?? '', unit),
    max: say.money(link.maxAmount ?? '', unit),
  });
  const isWrong = entered !== undefined;
  return markup`<div class="field"${isWrong && markup` data-wrong`}>
    <label for="amount" class="label">${say('amount')}</label>
    <p class="entry"><input id="amount" name="amount" value="${entered ?? ''}" inputmode="decimal" autocomplete="off" maxlength="40" required dir="ltr" aria-describedby="range"${isWrong && markup` aria-invalid="true" autofocus`} /><bdi dir="ltr">${unit}</bdi></p>
    <p id="range" class="soft"${isWrong && markup` role="alert"`}>${range}</p>
  </div>`;
}
