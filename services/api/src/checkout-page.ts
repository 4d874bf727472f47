import { promisify } from 'node:util';
import { gzip, gzipSync } from 'node:zlib';
import type { IncomingMessage } from 'node:http';
import { contentPolicy, type PolicyNeeds } from '@opentill/checkout/content-policy';
import { servedFiles, type ServedPage } from '@opentill/checkout/page-assets';
import type { LoadedTheme } from '@opentill/checkout/read-theme';
import { ALL_TEXTS } from '@opentill/checkout/texts/all-texts';
import { createSay } from '@opentill/checkout/texts/create-say';
import type { TextName } from '@opentill/checkout/texts/en';
import {
  acceptedLanguages,
  isLanguage,
  preferredLanguage,
  type Language,
} from '@opentill/checkout/texts/languages';
import type { CheckoutOrder, MerchantLinks } from '@opentill/checkout/view/checkout-order';
import {
  renderLinkDocument,
  renderNotice,
  renderOrderDocument,
  type Frame,
} from '@opentill/checkout/view/render-document';
import type { LinkForm, LinkView } from '@opentill/checkout/view/render-link';
import { themeOf, themeStyle } from '@opentill/checkout/view/theme';
import { NAME_PATTERN } from '@opentill/contracts/http/schema-words';
import { page, type Answer } from './answer.ts';
import { queryOf } from './routes/query.ts';

/** Reason for a page without an order. Each has a heading and advice. */
export type Notice = Extract<
  TextName,
  'notFound' | 'linkNotValid' | 'linkEnded' | 'soldOut' | 'tooManyRequests' | 'notAvailable' | 'noPage'
>;

const HINTS = {
  notFound: 'linkNotValidHint',
  linkNotValid: 'linkNotValidHint',
  linkEnded: 'linkEndedHint',
  soldOut: 'soldOutHint',
  tooManyRequests: 'tooManyRequestsHint',
  notAvailable: 'notAvailableHint',
  noPage: 'noPageHint',
} as const satisfies Readonly<Record<Notice, TextName>>;

/** Temporary notices, whose page offers another try. */
const TEMPORARY: ReadonlySet<Notice> = new Set(['tooManyRequests', 'notAvailable', 'soldOut']);

export interface CheckoutDesign extends LoadedTheme, ServedPage {}

/** The checkout page as HTTP responses, in the visitor's language. */
export interface CheckoutPage {
  order(request: IncomingMessage, query: URLSearchParams, order: CheckoutOrder): Promise<Answer>;
  /** The page of a payment link. */
  link(request: IncomingMessage, status: number, link: LinkView, form: LinkForm): Answer;
  /** `merchant`: the one that the link names. */
  notice(request: IncomingMessage, status: number, notice: Notice, merchant?: MerchantLinks): Answer;
  /** A script or the logo; undefined for an unknown name. */
  asset(request: IncomingMessage, name: string): Answer | undefined;
}

/** File names contain a hash of the content. */
const IMMUTABLE = 'public, max-age=31536000, immutable';
const compress = promisify(gzip);

/** Builds the page from its assets and theme. `baseUrl` is its public URL, without a query. */
export function createCheckoutPage(design: CheckoutDesign, baseUrl: string): CheckoutPage {
  const path = new URL(baseUrl).pathname.replace(/\/$/, '');
  const assetUrl = (name: string) => `${path}/assets/${name}`;
  // When a proxy serves the page under a path, the API is under the same path.
  const apiBase = path.endsWith('/checkout') ? path.slice(0, -'/checkout'.length) : '';
  const { assets, logo, walletConnect } = design;
  const theme = { ...design.theme, logoUrl: logo === null ? null : assetUrl(logo.name) };
  const brand = { name: theme.name, logoUrl: theme.logoUrl };
  const kept = keepAssets(design);

  function frameFor(language: Language, scripts: boolean, accent?: string | null): Frame {
    const ahead = [...assets.shared, assets.texts[language]].map(assetUrl);
    return {
      language,
      say: createSay(language, ALL_TEXTS[language]),
      theme,
      style: assets.style + themeStyle(themeOf(theme, accent)),
      baseUrl,
      scripts: scripts ? { main: assetUrl(assets.script), ahead } : undefined,
    };
  }

  return {
    async order(request, query, order) {
      const language = languageOf(request, query);
      const data = { apiBase, language, order, brand, walletConnect };
      const frame = frameFor(language, true, order.merchant?.accentColor);
      const html = renderOrderDocument(frame, order, data, query.toString());
      const { style } = frame;
      const { relayUrl } = walletConnect ?? {};
      const policy = contentPolicy({ style, scripts: true, relayUrl, ...policyNeeds(order) });
      const answer = page(200, html, `${policy}; frame-ancestors 'none'`);
      const headers = { ...answer.headers, Vary: 'Accept-Encoding, Accept-Language' };
      if (!takesGzip(request)) return { ...answer, headers };
      return { ...answer, headers: { ...headers, 'Content-Encoding': 'gzip' }, body: await compress(html) };
    },
    link(request, status, link, form) {
      const query = queryOf(request);
      const frame = frameFor(languageOf(request, query), false, link.merchant.accentColor);
      const html = renderLinkDocument(frame, link, form, { query: query.toString(), apiBase });
      // The form leads to the order's page, which may be on another host.
      const forms = [new URL(baseUrl).origin];
      const policy = contentPolicy({ style: frame.style, scripts: false, chains: [], forms });
      return page(status, html, `${policy}; frame-ancestors 'none'`);
    },
    notice(request, status, notice, merchant) {
      const query = queryOf(request);
      const orderId = orderIdOf(query);
      const scripts = orderId !== null;
      const frame = frameFor(languageOf(request, query), scripts);
      const { say } = frame;
      const again = TEMPORARY.has(notice) ? say('tryAgain') : null;
      const content = { title: say(notice), text: say(HINTS[notice]), again, orderId, merchant };
      const html = renderNotice(frame, content, query.toString());
      const policy = contentPolicy({ style: frame.style, scripts, chains: [] });
      return page(status, html, `${policy}; frame-ancestors 'none'`);
    },
    asset(request, name) {
      const found = kept.get(name);
      if (found === undefined) return undefined;
      const small = takesGzip(request) && found.compressed !== undefined;
      return {
        status: 200,
        body: small ? (found.compressed ?? found.body) : found.body,
        contentType: found.contentType,
        headers: {
          'Cache-Control': IMMUTABLE,
          Vary: 'Accept-Encoding',
          ...(small ? { 'Content-Encoding': 'gzip' } : {}),
        },
      };
    },
  };
}

/** The page keeps its policy when the customer chooses another coin. */
function policyNeeds({ chain, options }: CheckoutOrder): Pick<PolicyNeeds, 'chains' | 'forms'> {
  if (options === undefined) return { chains: [chain] };
  return { chains: [chain, ...options.map((option) => option.chain)], forms: [] };
}

/** Keeps all files in memory, since they are small and frequently requested. Compresses them once, except images. */
function keepAssets(design: CheckoutDesign) {
  return new Map(
    servedFiles(design).map(({ name, body, contentType }) => {
      const compressed = /^(text|image\/svg)/.test(contentType) ? gzipSync(body, { level: 9 }) : undefined;
      return [name, { body, contentType, compressed }];
    }),
  );
}

const ORDER_ID = new RegExp(NAME_PATTERN);

/** For the payer to name to the shop; other characters could pass for a text of the page. */
function orderIdOf(query: URLSearchParams): string | null {
  const orderId = query.get('orderId');
  return orderId !== null && ORDER_ID.test(orderId) ? orderId : null;
}

function languageOf(request: IncomingMessage, query: URLSearchParams): Language {
  const asked = query.get('lang');
  if (isLanguage(asked)) return asked;
  return preferredLanguage(acceptedLanguages(request.headers['accept-language'] ?? ''));
}

function takesGzip(request: IncomingMessage): boolean {
  return /\bgzip\b(?!\s*;\s*q=0(\.0*)?\b)/i.test(String(request.headers['accept-encoding'] ?? ''));
}
