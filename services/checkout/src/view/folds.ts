import { markup, type Html } from './html.ts';

/**
 * Parts of the page that the payer opens: the code on a phone, the means to pay after a payment that does not count, and
 * the list of coins after a choice.
 */
export type Fold = 'code' | 'anyway' | 'choose';

const FOLDS: readonly Fold[] = ['code', 'anyway', 'choose'];

/** In the page's address, so that a page without scripts keeps it open when it reloads. */
const PARAMETER = 'open';

export function foldsIn(query: URLSearchParams): ReadonlySet<Fold> {
  const names = query.getAll(PARAMETER);
  return new Set(FOLDS.filter((fold) => names.includes(fold)));
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

/** The query of the same page with the fold closed. */
export function queryWithout(fold: Fold, query: URLSearchParams): string {
  const closed = new URLSearchParams(query);
  closed.delete(PARAMETER);
  for (const name of query.getAll(PARAMETER)) if (name !== fold) closed.append(PARAMETER, name);
  return closed.toString();
}
