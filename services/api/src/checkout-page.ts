import { promisify } from 'node:util';
import { gzip, gzipSync } from 'node:zlib';
import type { IncomingMessage } from 'node:http';
import type { PayinOrderAnswer } from '@opentill/contracts/http/answers';
import { contentPolicy } from '@opentill/checkout/content-policy';
import type { PageAssets } from '@opentill/checkout/page-assets';
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
import { renderNotice, renderOrderDocument, type Frame } from '@opentill/checkout/view/render-document';
import { themeStyle } from '@opentill/checkout/view/theme';
import { page, type Answer } from './answer.ts';

/** Reason for a page without an order. Each has a heading and advice. */
export type Notice = Extract<TextName, 'notFound' | 'linkNotValid' | 'tooManyRequests' | 'notAvailable'>;

/** Temporary notices, whose page offers another try. */
const TEMPORARY: ReadonlySet<Notice> = new Set(['tooManyRequests', 'notAvailable']);

export interface CheckoutDesign extends LoadedTheme {
  readonly assets: PageAssets;
}

/** The checkout page as HTTP responses, in the visitor's language. */
export interface CheckoutPage {
  order(request: IncomingMessage, query: URLSearchParams, order: PayinOrderAnswer): Promise<Answer>;
  notice(request: IncomingMessage, status: number, notice: Notice): Answer;
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
  const { assets, logo } = design;
  const theme = { ...design.theme, logoUrl: logo === null ? null : assetUrl(logo.name) };
  const style = assets.style + themeStyle(theme);
  const kept = keepAssets(design);

  function frameFor(language: Language, scripts: boolean): Frame {
    const ahead = [...assets.shared, assets.texts[language]].map(assetUrl);
    return {
      language,
      say: createSay(language, ALL_TEXTS[language]),
      theme,
      style,
      scripts: scripts ? { main: assetUrl(assets.script), ahead } : undefined,
    };
  }

  return {
    async order(request, query, order) {
      const asked = query.get('lang');
      const language = isLanguage(asked) ? asked : languageOf(request);
      const data = { apiBase, language, order };
      const html = renderOrderDocument(frameFor(language, true), order, data, query.toString());
      const policy = contentPolicy({ style, scripts: true, chain: order.chain });
      const answer = page(200, html, `${policy}; frame-ancestors 'none'`);
      const headers = { ...answer.headers, Vary: 'Accept-Encoding, Accept-Language' };
      if (!takesGzip(request)) return { ...answer, headers };
      return { ...answer, headers: { ...headers, 'Content-Encoding': 'gzip' }, body: await compress(html) };
    },
    notice(request, status, notice) {
      const language = languageOf(request);
      const frame = frameFor(language, false);
      const again = TEMPORARY.has(notice) ? frame.say('tryAgain') : null;
      const html = renderNotice(frame, frame.say(notice), frame.say(`${notice}Hint`), again);
      const policy = contentPolicy({ style, scripts: false, chain: undefined });
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

/** Keeps all files in memory, since they are small and frequently requested. Compresses them once, except images. */
function keepAssets({ assets, logo }: CheckoutDesign) {
  const files = logo === null ? assets.files : [...assets.files, logo];
  return new Map(
    files.map(({ name, body, contentType }) => {
      const compressed = /^(text|image\/svg)/.test(contentType) ? gzipSync(body, { level: 9 }) : undefined;
      return [name, { body, contentType, compressed }];
    }),
  );
}

function languageOf(request: IncomingMessage): Language {
  return preferredLanguage(acceptedLanguages(request.headers['accept-language'] ?? ''));
}

function takesGzip(request: IncomingMessage): boolean {
  return /\bgzip\b(?!\s*;\s*q=0(\.0*)?\b)/i.test(String(request.headers['accept-encoding'] ?? ''));
}
