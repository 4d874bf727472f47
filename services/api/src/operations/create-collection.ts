import { parseAmount } from '@opentill/domain/money';
import { refusalOf } from '../answer.ts';
import { explainOrigin } from '../explain/explain-order.ts';
import type { CollectionFields } from '../order-fields.ts';
import type { CreationAttempt, OrderRequest } from './create-once.ts';
import { creationOf, isInRange, newOrder } from './new-order.ts';
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
  const amount = parseAmount(fields.amount, asset.decimals);
  if (!amount.ok) return tooManyDecimals(fields, asset);
  if (!isInRange(amount.value, asset)) return outOfRange(fields, asset);
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

  const tolerated = (amount.value * BigInt(merchant.underpaymentToleranceBps)) / BASIS_POINTS;
  const acceptedAmount = amount.value - tolerated;
  const order = newOrder(deps, request, asset, amount.value, {
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
