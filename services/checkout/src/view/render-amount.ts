import { markup, type Html } from './html.ts';

/** Longer than this, it is written smaller, so that no number goes over the end of its line. */
const SHORT_LENGTH = 11;

/** The sum that the page is about. */
export function renderAmount(amount: string, symbol: string): Html {
  const long = amount.length > SHORT_LENGTH ? markup` data-long` : null;
  return markup`<p class="amount"${long}><bdi dir="ltr">${amount} ${symbol}</bdi></p>`;
}
