import type { Asset } from '../asset-book.ts';
import { explainDecimals, explainRange, explainUnsupported } from '../explain/explain-order.ts';
import type { CoinName } from '../order-fields.ts';
import type { Problem } from '../problem.ts';
import type { OrderDeps } from './order-deps.ts';

// Rejections that both kinds of order share.

export function unsupported({ assets }: Pick<OrderDeps, 'assets'>, { chain, symbol }: CoinName): Problem {
  return { code: 'SYMBOL_UNSUPPORTED', detail: explainUnsupported(assets, chain, symbol) };
}

/** @param amount decimal text */
export function tooManyDecimals(amount: string, asset: Asset): Problem {
  return { code: 'AMOUNT_TOO_MANY_DECIMALS', detail: explainDecimals(amount, asset) };
}

/** @param amount decimal text */
export function outOfRange(amount: string, asset: Asset): Problem {
  return { code: 'AMOUNT_OUT_OF_RANGE', detail: explainRange(amount, asset) };
}
