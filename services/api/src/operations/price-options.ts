import type { BaseUnits } from '@opentill/domain/money';
import { amountForPrice, type Price } from '@opentill/domain/price';
import { parseRatio } from '@opentill/domain/ratio';
import type { Asset, AssetBook } from '../asset-book.ts';
import { explainRate } from '../explain/explain-order.ts';
import type { Merchant } from '../merchant-book.ts';
import { OPTIONS_MAX, type CoinName, type CollectionFields } from '../order-fields.ts';
import type { Problem } from '../problem.ts';
import type { RateAnswer } from '../store/read-rate.ts';
import type { OrderRequest } from './create-once.ts';
import type { OrderDeps } from './order-deps.ts';
import { rangeProblem, unsupported } from './reject-fields.ts';

/** The rate that gave an amount. */
export interface Quote {
  readonly rate: string;
  readonly rateId: string;
}

/** A coin with the amount that pays a price in it. */
export interface PricedOption {
  readonly asset: Asset;
  readonly amount: BaseUnits;
  readonly quoted: Quote;
}

/** The price in one coin, by its rate and within its limits. */
export function priceIn({
  price,
  merchant,
  asset,
  rates,
}: {
  readonly price: Price;
  readonly merchant: Pick<Merchant, 'markupBps'>;
  readonly asset: Asset;
  readonly rates: (symbol: string) => RateAnswer;
}): PricedOption | Problem {
  const found = rates(asset.symbol);
  const rate = 'rate' in found ? parseRatio(found.rate) : undefined;
  if (!('rate' in found) || rate === undefined) {
    const refusal = 'refusal' in found ? found.refusal : null;
    return { code: 'RATE_UNAVAILABLE', detail: explainRate(asset.symbol, price.currency, refusal) };
  }
  const amount = amountForPrice(price, rate, merchant.markupBps, asset);
  const quoted = { rate: found.rate, rateId: found.rateId };
  return rangeProblem(amount, asset) ?? { asset, amount, quoted };
}

/** Assets of coins on enabled chains, and a problem of one of the others. */
export interface AcceptedAssets {
  readonly assets: readonly Asset[];
  /** The named coins in the operator's spelling, also those that are disabled or unknown. */
  readonly coins: readonly CoinName[];
  readonly disabled: Problem | undefined;
  /** The networks file does not contain it. */
  readonly unknown: Problem | undefined;
}

/** In the order of `accept`, each once. By default all, in the order of the networks file. */
export function acceptedAssets(
  deps: { readonly assets: AssetBook },
  accept: readonly CoinName[] | null,
): AcceptedAssets {
  const assets = new Set<Asset>();
  const coins: CoinName[] = [];
  let disabled: Problem | undefined;
  let unknown: Problem | undefined;
  for (const coin of accept ?? deps.assets.all) {
    const asset = deps.assets.find(coin.chain, coin.symbol);
    const token = asset ?? deps.assets.tokenOf(coin.chain, coin.symbol);
    coins.push({ chain: coin.chain, symbol: token?.symbol ?? coin.symbol });
    if (asset !== undefined) assets.add(asset);
    else if (token === undefined) unknown ??= unsupported(deps, coin);
    else disabled ??= unsupported(deps, coin);
  }
  return { assets: [...assets], coins, disabled, unknown };
}

/**
 * The coins that the customer may choose, at most OPTIONS_MAX, in the order of `accept`, or of the networks file. Leaves out
 * those of disabled chains, without a valid rate, out of the token's limits, and of chains that are not ready. If none is
 * left, returns the problem of one of them. Orders of a payment link skip tokens that the networks file no longer contains.
 */
export async function pricedOptions(
  deps: Pick<OrderDeps, 'assets' | 'chains' | 'store'>,
  { merchant, fields: { accept, price }, linkId }: OrderRequest<CollectionFields>,
): Promise<readonly PricedOption[] | Problem> {
  if (price === null) throw new RangeError('options need a price');
  const { assets, disabled, unknown } = acceptedAssets(deps, accept);
  if (unknown !== undefined && linkId === undefined) return unknown;
  const symbols = [...new Set(assets.map(({ symbol }) => symbol))];
  const rates = await deps.store.findRates(symbols, price.currency);
  const found = await Promise.all(
    assets.map(async (asset): Promise<PricedOption | Problem> => {
      const priced = priceIn({ price, merchant, asset, rates });
      if ('code' in priced) return priced;
      return (await deps.chains.isReady(asset.chain)) ? priced : { code: 'CHAIN_NOT_READY' };
    }),
  );
  const options = found.flatMap((one) => ('code' in one ? [] : [one]));
  if (options.length > 0) return options.slice(0, OPTIONS_MAX);
  const problem = found.find((one) => 'code' in one) ?? disabled ?? unknown;
  return problem ?? { code: 'CHAIN_NOT_READY' };
}
