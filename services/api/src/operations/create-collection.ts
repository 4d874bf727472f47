import { formatAmount, parseAmount, type BaseUnits } from '@opentill/domain/money';
import { amountForPrice, formatPrice } from '@opentill/domain/price';
import { parseRatio } from '@opentill/domain/ratio';
import { refusalOf } from '../answer.ts';
import type { Asset } from '../asset-book.ts';
import { explainOrigin, explainRate } from '../explain/explain-order.ts';
import type { CollectionFields } from '../order-fields.ts';
import type { Problem } from '../problem.ts';
import type { CreationAttempt, OrderRequest } from './create-once.ts';
import { creationOf, isInRange, newOrder, NO_PRICE, type OwnFields } from './new-order.ts';
import { outOfRange, tooManyDecimals, unsupported } from './reject-fields.ts';
import type { OrderDeps } from './order-deps.ts';

const BASIS_POINTS = 10_000n;

export async function createCollection(
  deps: OrderDeps,
  request: OrderRequest<CollectionFields>,
): Promise<CreationAttempt> {
  const { merchant, fields } = request;
  const asset = deps.assets.find(fields.chain, fields.symbol);
  if (asset === undefined) return unsupported(deps, fields);
  const value = await valueOf(deps, request, asset);
  if ('code' in value) return value;
  const { amount, ...pricing } = value;
  if (!isInRange(amount, asset))
    return outOfRange(formatAmount(amount, asset.decimals, asset.displayDecimals), asset);
  if (fields.returnUrl !== null && !merchant.returnOrigins.includes(fields.returnUrl.origin)) {
    const detail = explainOrigin(fields.returnUrl, merchant.returnOrigins);
    return { code: 'RETURN_URL_INVALID', detail };
  }
  if (!(await deps.chains.isReady(asset.chain))) return { code: 'CHAIN_NOT_READY' };
  const fresh = await deps.pool.take(asset.family).catch((error: unknown) => {
    if (refusalOf(error) === 'SERVICE_UNAVAILABLE') return undefined; // the pool has logged the cause
    throw error;
  });
  if (fresh === undefined) return { code: 'SERVICE_UNAVAILABLE' };

  const tolerated = (amount * BigInt(merchant.underpaymentToleranceBps)) / BASIS_POINTS;
  const acceptedAmount = amount - tolerated;
  const order = newOrder(deps, request, asset, amount, {
    ...pricing,
    acceptedAmount: acceptedAmount > 0n ? acceptedAmount : 1n,
    address: fresh.address,
    sourceAddress: null,
    lateGraceSeconds: merchant.lateGraceSeconds,
    returnUrl: fields.returnUrl?.href ?? null,
    description: fields.description,
    ttlSeconds: fields.expiresInSeconds ?? merchant.orderTtlSeconds,
  });
  // On an error the address is discarded. After a timeout an order may use it, and an error of Postgres may concern the
  // address. Indices are plentiful, and two orders must never share an address.
  const result = await deps.store.createCollection({
    ...creationOf(deps, order, request.nonce),
    derivationIndex: fresh.derivationIndex,
  });
  if (result.outcome !== 'CREATED') deps.pool.giveBack(fresh);
  return { order, result };
}

type Value = { readonly amount: BaseUnits } & Pick<OwnFields, keyof typeof NO_PRICE>;

/** The amount as asked, or computed from the price by the current rate (docs/architecture/prices.md). */
async function valueOf(
  { store }: Pick<OrderDeps, 'store'>,
  { merchant, fields }: OrderRequest<CollectionFields>,
  asset: Asset,
): Promise<Value | Problem> {
  if (fields.price === null) {
    const text = fields.amount ?? '';
    const amount = parseAmount(text, asset.decimals);
    return amount.ok ? { amount: amount.value, ...NO_PRICE } : tooManyDecimals(text, asset);
  }
  const { currency } = fields.price;
  const found = await store.findRate(asset.symbol, currency);
  const rate = 'rate' in found ? parseRatio(found.rate) : undefined;
  if (!('rate' in found) || rate === undefined) {
    const refusal = 'refusal' in found ? found.refusal : null;
    return { code: 'RATE_UNAVAILABLE', detail: explainRate(asset.symbol, currency, refusal) };
  }
  return {
    amount: amountForPrice(fields.price, rate, merchant.markupBps, asset),
    currency,
    price: formatPrice(fields.price),
    rate: found.rate,
    rateId: found.rateId,
    markupBps: merchant.markupBps,
  };
}
