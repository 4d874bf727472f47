import type { Say } from '../texts/create-say.ts';
import { LANGUAGE_VALUES, LANGUAGES, type Language } from '../texts/languages.ts';
import { stateOf, type CheckoutOrder } from './checkout-order.ts';
import { markup, type Html } from './html.ts';
import { ICONS, seal } from './icons.ts';
import { renderOrder } from './render-order.ts';
import { defaultPageContext } from './page-context.ts';
import { directionOf, type Theme } from './theme.ts';

export interface PageData {
  /** Before `/v1`: an origin or a path; empty for the page's own origin. */
  readonly apiBase: string;
  /** Null: the page chooses by its address and the browser. */
  readonly language: Language | null;
  readonly order: CheckoutOrder | null;
}

export interface Frame {
  readonly language: Language;
  readonly say: Say;
  readonly theme: Theme;
  readonly style: string;
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
  const around = defaultPageContext(order.serverTime);
  const title = `${order.amount} ${order.symbol} · ${say(stateOf(order, order.serverTime))}`;
  const main = renderOrder(order, around, say);
  const reload = ['INIT', 'PENDING', 'PENDING_CONFIRMATION'].includes(order.status);
  const head = markup`${reload && markup`<noscript><meta http-equiv="refresh" content="${RELOAD_SECONDS}" /></noscript>`}`;
  return renderDocument(frame, { title, head, main, data, query });
}

export function renderEmptyDocument(frame: Frame, data: PageData): string {
  const { say } = frame;
  const main = markup`<main data-state="loading" aria-busy="true">
    <div class="status" role="status"><h1>${say('loading')}</h1></div>
    <noscript><p class="advice">${say('needsScript')}</p></noscript>
  </main>`;
  return renderDocument(frame, { title: say('loading'), head: markup``, main, data, query: '' });
}

/** The reason why there is no order. `again` is the text of a link to the same page. */
export function renderNotice(frame: Frame, title: string, text: string, again: string | null): string {
  const main = renderNoticeMain(title, text, again);
  return renderDocument(frame, { title, head: markup``, main, data: null, query: null });
}

export function renderNoticeMain(title: string, text: string, again: string | null = null): Html {
  return markup`<main data-state="notice">
    <div class="status" role="status">${seal(again === null ? 'close' : 'time')}<h1>${title}</h1><p class="advice">${text}</p></div>
    ${again !== null && markup`<p class="back"><a class="button" href="">${again}</a></p>`}
  </main>`;
}

interface Content {
  readonly title: string;
  readonly head: Html;
  readonly main: Html;
  readonly data: PageData | null;
  /** Links to other languages keep it; null for no such links. */
  readonly query: string | null;
}

function renderDocument(frame: Frame, { title, head, main, data, query }: Content): string {
  const { language, say, theme, style, scripts, policy } = frame;
  const links = query === null ? null : renderLanguages(language, say, query);
  const loads =
    scripts === undefined || data === null
      ? null
      : markup`${scripts.ahead.map((url) => markup`<link rel="modulepreload" href="${url}" />`)}<script type="module" src="${scripts.main}"></script>`;
  return `<!doctype html>
${
  markup`<html lang="${language}" dir="${directionOf(language)}">
<head><meta charset="utf-8" />${policy !== undefined && markup`<meta http-equiv="Content-Security-Policy" content="${policy}" />`}<meta name="viewport" content="width=device-width,initial-scale=1" /><meta name="robots" content="noindex" /><meta name="referrer" content="no-referrer" /><link rel="icon" href="data:," /><meta name="color-scheme" content="light dark" /><title>${title}</title>${head}<style>${{ html: style }}</style>${loads}</head>
<body><div class="page"><header>${renderBrand(theme)}${links}</header>
${main}</div>${data !== null && markup`<script type="application/json" id="page-data">${{ html: toJson(data) }}</script>`}</body></html>`
    .html
}
`;
}

/** The JSON cannot close its script element. */
function toJson(data: PageData): string {
  return JSON.stringify(data).replace(/</g, '\\u003c');
}

function renderBrand({ name, logoUrl }: Theme): Html {
  const logo = logoUrl !== null && markup`<img src="${logoUrl}" alt="" height="32" />`;
  return markup`<p class="brand">${logo}${name !== '' && markup`<bdi>${name}</bdi>`}</p>`;
}

export function renderLanguages(language: Language, say: Say, query: string): Html {
  const items = LANGUAGE_VALUES.map((each) => {
    const target = new URLSearchParams(query);
    target.set(LANGUAGE_PARAMETER, each);
    const current = each === language ? markup` aria-current="true"` : null;
    const { name, direction } = LANGUAGES[each];
    return markup`<li><a href="?${target.toString()}" lang="${each}" hreflang="${each}" dir="${direction}"${current}>${name}</a></li>`;
  });
  return markup`<details class="languages">
    <summary><span class="unseen">${say('language')}: </span>${ICONS.world}${LANGUAGES[language].name}</summary>
    <ul>${items}</ul>
  </details>`;
}
