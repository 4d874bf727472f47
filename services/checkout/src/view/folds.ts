import { markup, type Html } from './html.ts';

/** Parts of the page that the payer opens: the code on a phone, and the means to pay after a payment that does not count. */
export type Fold = 'code' | 'anyway';

/** In the page's address, so that a page without scripts keeps it open when it reloads. */
const PARAMETER = 'open';

export function foldsIn(query: URLSearchParams): ReadonlySet<Fold> {
  return new Set(query.getAll(PARAMETER).filter((name) => name === 'code' || name === 'anyway'));
}

/**
 * The page's script opens the fold in place; without it the link loads the page with the fold open. The address has no
 * fragment: with one, Chromium does not reload the page.
 */
export function linkToOpen(fold: Fold, pageUrl: string | null, kind: string, content: Html | string): Html {
  const query = new URLSearchParams(pageUrl === null ? '' : new URL(pageUrl).search);
  query.append(PARAMETER, fold);
  return markup`<a class="${kind}" href="?${query.toString()}" data-open-fold="${fold}">${content}</a>`;
}
