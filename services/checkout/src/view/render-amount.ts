import type { Say } from '../texts/create-say.ts';
import type { CheckoutOrder } from './checkout-order.ts';
import { tokenGlyph } from './glyphs.ts';
import { markup, type Html } from './html.ts';

/** Limits of the large and the middle size, so that figure and unit fit in one line of a small phone. */
const LARGE_LENGTH = 8;
const MIDDLE_LENGTH = 15;

/** The largest figure of the page. */
export function renderAmount(
  amount: string,
  { symbol, chain }: Pick<CheckoutOrder, 'symbol' | 'chain'>,
  say: Say,
): Html {
  const figure = say.figure(amount);
  return markup`<p class="amount" data-size="${sizeOf(figure)}">${tokenGlyph(symbol, chain)}<bdi dir="ltr">${figure} <span>${symbol}</span></bdi></p>`;
}

/** A price, which has no glyph. */
export function renderPriceFigure(price: string, currency: string, say: Say): Html {
  const figure = say.figure(price);
  return markup`<p class="amount" data-size="${sizeOf(figure)}"><bdi dir="ltr">${figure} <span>${currency}</span></bdi></p>`;
}

function sizeOf({ length }: string): 'large' | 'middle' | 'small' {
  if (length <= LARGE_LENGTH) return 'large';
  return length <= MIDDLE_LENGTH ? 'middle' : 'small';
}
