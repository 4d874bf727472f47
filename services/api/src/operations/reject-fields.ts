import { formatAmount, type BaseUnits } from '@opentill/domain/money';
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

/** Undefined within the limits of the token. @param text the amount as sent; by default as the gateway shows it */
export function rangeProblem(
  amount: BaseUnits,
  asset: Asset,
  text = formatAmount(amount, asset.decimals, asset.displayDecimals),
): Problem | undefined {
  const { minAmount, maxAmount } = asset;
  const isInRange =
    (minAmount === null || amount >= minAmount) && (maxAmount === null || amount <= maxAmount);
  return isInRange ? undefined : { code: 'AMOUNT_OUT_OF_RANGE', detail: explainRange(text, asset) };
}
