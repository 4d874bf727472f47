import { markup, type Html } from './html.ts';

/** Up to this length it is written large, up to that one smaller, so that it stays in one line with its symbol. */
const LARGE_LENGTH = 8;
const MIDDLE_LENGTH = 11;

/** The sum that the page is about. */
export function renderAmount(amount: string, symbol: string): Html {
  return markup`<p class="amount" data-size="${sizeOf(amount)}"><bdi dir="ltr">${amount} ${symbol}</bdi></p>`;
}

function sizeOf({ length }: string): 'large' | 'middle' | 'small' {
  if (length <= LARGE_LENGTH) return 'large';
  return length <= MIDDLE_LENGTH ? 'middle' : 'small';
}
