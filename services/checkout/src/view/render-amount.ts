import { markup, type Html } from './html.ts';

/** Limits of the large and the middle size, so that amount and symbol fit in one line. */
const LARGE_LENGTH = 8;
const MIDDLE_LENGTH = 11;

export function renderAmount(amount: string, symbol: string): Html {
  return markup`<p class="amount" data-size="${sizeOf(amount)}"><bdi dir="ltr">${amount} ${symbol}</bdi></p>`;
}

function sizeOf({ length }: string): 'large' | 'middle' | 'small' {
  if (length <= LARGE_LENGTH) return 'large';
  return length <= MIDDLE_LENGTH ? 'middle' : 'small';
}
