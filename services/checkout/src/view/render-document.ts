import type { Say } from '../texts/create-say.ts';
import { LANGUAGE_VALUES, LANGUAGES, type Language } from '../texts/languages.ts';
import {
  contactUrlOf,
  isChosen,
  isOpen,
  shopUrlOf,
  type CheckoutOrder,
  type CheckoutState,
  type MerchantLinks,
} from './checkout-order.ts';
import { copyButton } from './copy-button.ts';
import { foldsIn } from './folds.ts';
import { markup, type Html } from './html.ts';
import { ICONS, seal } from './icons.ts';
import { renderLinkMain, type LinkForm, type LinkView } from './render-link.ts';
import { headingOf, linkTo, renderOrder } from './render-order.ts';
import { defaultPageContext, stateShown, type PageContext } from './page-context.ts';
import { directionOf, type Theme } from './theme.ts';

export interface PageData {
  /** Before `/v1`: an origin or a path; empty for the page's own origin. */
  readonly apiBase: string;
  /** Null: the page chooses by its address and the browser. */
  readonly language: Language | null;
  readonly order: CheckoutOrder | null;
  /** The page shows the reason why there is no order; its script only copies. */
  readonly isNotice?: true;
  /** The theme's name and logo, for merchants without their own. */
  readonly brand: Brand;
  /** Undefined: the page does not offer WalletConnect. */
  readonly walletConnect?: WalletConnectSettings | undefined;
}

export interface WalletConnectSettings {
  readonly projectId: string;
  /** `wss://…` */
  readonly relayUrl: string;
}

export type Brand = Pick<Theme, 'name' | 'logoUrl'>;

export interface Frame {
  readonly language: Language;
  readonly say: Say;
  readonly theme: Theme;
  readonly style: string;
  /** The page's public address without query; null where the page must find it out. */
  readonly baseUrl: string | null;
  /** The script and the files that it loads at once. Undefined for a page without a script. */
  readonly scripts: { readonly main: string; readonly ahead: readonly string[] } | undefined;
  /** Needed if the host cannot send the policy as a header. */
  readonly policy?: string;
}

const LANGUAGE_PARAMETER = 'lang';

const RELOAD_SECONDS = 5;

export function renderOrderDocument(
  frame: Frame,
  order: CheckoutOrder,
  data: PageData,
  query: string,
): string {
  const { say } = frame;
  const { name: shopName } = data.brand;
  const { baseUrl } = frame;
  const pageUrl = baseUrl === null ? null : `${baseUrl}?${query}`;
  const around: PageContext = {
    ...defaultPageContext(order.serverTime),
    pageUrl,
    opened: foldsIn(new URLSearchParams(query)),
    host: hostOf(baseUrl),
    shopName,
  };
  const state = stateShown(order, around);
  const title = titleOf(order, state, say);
  const main = renderOrder(order, around, say);
  // A reload would take the keyboard's focus out of the list of coins.
  const head = markup`${isOpen(order) && state !== 'choose' && markup`<noscript><meta http-equiv="refresh" content="${RELOAD_SECONDS}" /></noscript>`}`;
  const brand = brandOf(order, data);
  return renderDocument(frame, { title, head, main, data, query, brand });
}

function hostOf(baseUrl: string | null): string | null {
  return baseUrl === null ? null : new URL(baseUrl).host;
}

export function titleOf(order: CheckoutOrder, state: CheckoutState, say: Say): string {
  const { price, currency } = order;
  const isPriced = !isChosen(order) && price !== undefined && currency !== undefined;
  const amount = isPriced ? say.money(price, currency) : say.money(order.amount, order.symbol);
  return `${amount} · ${headingOf(order, state, say)}`;
}

/** The merchant's name and logo; the theme's for a merchant without them. */
export function brandOf(
  { merchant }: { readonly merchant?: { readonly name: string | null; readonly logoUrl: string | null } },
  { brand, apiBase }: Pick<PageData, 'brand' | 'apiBase'>,
): Brand {
  const name = merchant?.name ?? null;
  const logo = merchant?.logoUrl ?? null;
  if (name === null && logo === null) return brand;
  // A path is one of the gateway's, which may be another host than the page's.
  const logoUrl = logo !== null && logo.startsWith('/') ? `${apiBase}${logo}` : logo;
  return { name: name ?? brand.name, logoUrl };
}

/** The page of a payment link. `query`: see Content. */
export function renderLinkDocument(
  frame: Frame,
  link: LinkView,
  form: LinkForm,
  { query, apiBase }: { readonly query: string } & Pick<PageData, 'apiBase'>,
): string {
  const { say, theme, baseUrl } = frame;
  const brand = brandOf(link, { brand: theme, apiBase });
  const around = { shopName: theme.name, host: hostOf(baseUrl) };
  const main = renderLinkMain(link, form, around, say);
  const name = link.merchant.name ?? theme.name;
  const title = [link.description, name === '' ? say('paymentRequest') : name].filter(Boolean).join(' · ');
  return renderDocument(frame, { title, head: markup``, main, data: null, query, brand });
}

export function renderEmptyDocument(frame: Frame, data: PageData): string {
  const { say } = frame;
  const main = markup`<main data-state="loading" aria-busy="true">
    <section class="summary" role="status"><h1>${say('loading')}</h1></section>
    <noscript><p class="advice">${say('needsScript')}</p></noscript>
  </main>`;
  const title = say('loading');
  return renderDocument(frame, { title, head: markup``, main, data, query: '', brand: data.brand });
}

export interface Notice {
  readonly title: string;
  readonly text: string;
  /** The text of a link to the same page. */
  readonly again: string | null;
  /** The order number of the link, which the page has not verified. */
  readonly orderId: string | null;
  /** Links of the merchant that the link names. */
  readonly merchant?: MerchantLinks | undefined;
}

/** The reason why there is no order. `query`: see Content. */
export function renderNotice(frame: Frame, notice: Notice, query: string): string {
  const { say } = frame;
  const { title, text, again, orderId } = notice;
  const parts = { title, text, orderId, seal: again === null ? 'close' : 'time' } as const;
  const main = renderNoticeMain({ ...parts, links: noticeLinks(notice, say) }, say, hostOf(frame.baseUrl));
  const { language, theme: brand } = frame;
  const data = { apiBase: '', language, order: null, isNotice: true, brand } as const;
  return renderDocument(frame, {
    title,
    head: markup``,
    main,
    data: orderId === null ? null : data,
    query,
    brand,
  });
}

/** A later try, the shop, and its help. */
function noticeLinks({ again, orderId, merchant }: Notice, say: Say): Html[] {
  const known = { orderId: orderId ?? '', returnUrl: null, ...(merchant && { merchant }) };
  const [shop, contact] = [shopUrlOf(known), contactUrlOf(known)];
  return [
    again !== null && markup`<a class="button" href="">${again}</a>`,
    shop !== null && linkTo(shop, say('backToShop'), again === null ? 'button' : 'button plain'),
    contact !== null && linkTo(contact, say('contactShop'), 'button plain'),
  ].filter((link) => link !== false);
}

interface NoticeParts extends Pick<Notice, 'title' | 'text' | 'orderId'> {
  readonly seal: 'close' | 'time';
  readonly links: readonly Html[];
}

export function renderNoticeMain(notice: NoticeParts, say: Say, host: string | null): Html {
  const { title, text, orderId, links } = notice;
  return markup`<main data-state="notice">
    <section class="step">
      <div class="status"><div role="status"><h1>${title}</h1><p class="advice">${text}</p></div>${seal(notice.seal)}</div>
      ${orderId !== null && markup`<dl class="facts"><div><dt>${say('order')}</dt><dd><code class="given" dir="ltr">${orderId}</code>${copyButton('copyOrder', orderId, say)}</dd></div></dl>`}
      ${links.length > 0 && markup`<div class="next">${links}</div>`}
    </section>
    <p class="foot">${host !== null && markup`<span>${say('hostedBy', { host })}</span>`}</p>
  </main>`;
}

interface Content {
  readonly title: string;
  readonly head: Html;
  readonly main: Html;
  readonly data: PageData | null;
  /** Links to other languages keep it. */
  readonly query: string;
  readonly brand: Brand;
}

function renderDocument(frame: Frame, content: Content): string {
  const { title, head, main, data, query, brand } = content;
  const { language, say, style, scripts, policy } = frame;
  const links = renderLanguages(language, say, query);
  const loads =
    scripts === undefined || data === null
      ? null
      : markup`${scripts.ahead.map((url) => markup`<link rel="modulepreload" href="${url}" />`)}<script type="module" src="${scripts.main}"></script>`;
  return `<!doctype html>
${
  markup`<html lang="${language}" dir="${directionOf(language)}">
<head><meta charset="utf-8" />${policy !== undefined && markup`<meta http-equiv="Content-Security-Policy" content="${policy}" />`}<meta name="viewport" content="width=device-width,initial-scale=1" /><meta name="robots" content="noindex" /><meta name="referrer" content="no-referrer" /><link rel="icon" href="data:," /><meta name="color-scheme" content="light dark" /><title>${title}</title>${head}<style>${{ html: style }}</style>${loads}</head>
<body><div class="page"><header>${renderBrand(brand, hostOf(frame.baseUrl))}${links}</header>
${main}</div>${data !== null && markup`<script type="application/json" id="page-data">${{ html: toJson(data) }}</script>`}</body></html>`
    .html
}
`;
}

/** The JSON cannot close its script element. */
function toJson(data: PageData): string {
  return JSON.stringify(data).replace(/</g, '\\u003c');
}

/** Shows the host for merchants without name and logo. */
export function renderBrand({ name, logoUrl }: Brand, host: string | null): Html {
  const text = name === '' && logoUrl === null ? host : name;
  const logo = logoUrl !== null && markup`<img src="${logoUrl}" alt="" height="32" />`;
  return markup`<p class="brand">${logo}${text !== null && text !== '' && markup`<bdi>${text}</bdi>`}</p>`;
}

export function renderLanguages(language: Language, say: Say, query: string): Html {
  const items = LANGUAGE_VALUES.map((each) => {
    const target = new URLSearchParams(query);
    target.set(LANGUAGE_PARAMETER, each);
    const current = each === language ? markup` aria-current="true"` : null;
    return markup`<li><a href="?${target.toString()}" lang="${each}" hreflang="${each}"${current}><bdi>${LANGUAGES[each].name}</bdi></a></li>`;
  });
  return markup`<details class="languages">
    <summary><span class="unseen">${say('language')}: </span>${ICONS.world}${LANGUAGES[language].name}</summary>
    <ul>${items}</ul>
  </details>`;
}
