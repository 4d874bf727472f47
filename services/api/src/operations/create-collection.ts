import { notifyOrderText, toNotifyOrder } from '@opentill/contracts/format-order';
import { newEvent } from '@opentill/db/outbox';
import { parseAmount, type BaseUnits } from '@opentill/domain/money';
import { refusal, refusalOf, success, type Answer } from '../answer.ts';
import type { Asset } from '../asset-book.ts';
import type { FreshAddress } from '../deposit-address-pool.ts';
import type { Merchant } from '../merchant-book.ts';
import type { CollectionFields } from '../order-fields.ts';
import type { CollectionOutcome, NewOrder, SpentNonce } from '../store.ts';
import { toOrderAnswer } from './order-answer.ts';
import type { OrderDeps } from './order-deps.ts';
import { answerExisting, refuseUnlessCreated, type OrderRequest } from './settle-without-effect.ts';

const BASIS_POINTS = 10_000n;

/** Creates the collection that the fields ask for, or answers the one that exists under the id. */
export async function createCollection(
  deps: OrderDeps,
  input: { readonly merchant: Merchant; readonly nonce: SpentNonce; readonly fields: CollectionFields },
): Promise<Answer> {
  const { merchant, nonce, fields } = input;
  const request: OrderRequest = { merchant, nonce, fields, orderType: 'COLLECTION', signedDataHash: null };
  const asset = deps.assets.find(fields.chain, fields.symbol);
  if (asset === undefined) return refuseUnlessCreated(deps, request, 'SYMBOL_UNSUPPORTED');
  const amount = parseAmount(fields.amount, asset.decimals);
  if (!amount.ok) return refuseUnlessCreated(deps, request, 'AMOUNT_TOO_MANY_DECIMALS');
  if (!isInRange(amount.value, asset)) return refuseUnlessCreated(deps, request, 'AMOUNT_OUT_OF_RANGE');
  if (fields.returnUrl !== null && !merchant.returnOrigins.includes(fields.returnUrl.origin)) {
    return refuseUnlessCreated(deps, request, 'RETURN_URL_INVALID');
  }
  if (!(await deps.chains.isReady(asset.chain))) return refuseUnlessCreated(deps, request, 'CHAIN_NOT_READY');

  const fresh = await deps.pool.take(asset.family).catch((error: unknown) => {
    if (refusalOf(error) === 'SERVICE_UNAVAILABLE') return undefined; // the pool has told why
    throw error;
  });
  if (fresh === undefined) return refuseUnlessCreated(deps, request, 'SERVICE_UNAVAILABLE');
  const order = newCollection(deps, merchant, fields, asset, amount.value, fresh.address);
  const result = await store(deps, order, nonce, fresh);
  switch (result.outcome) {
    case 'NONCE_USED':
      return refusal('NONCE_USED');
    case 'EXISTS':
      return answerExisting(deps, request, result.existing);
    case 'CREATED':
      deps.wakeRelay();
      deps.observe.orderCreated(order);
      return success(toOrderAnswer(order, merchant, deps));
  }
}

/** Whether the amount is within the token's limits. */
export function isInRange(amount: BaseUnits, asset: Asset): boolean {
  return (
    (asset.minAmount === null || amount >= asset.minAmount) &&
    (asset.maxAmount === null || amount <= asset.maxAmount)
  );
}

function newCollection(
  deps: OrderDeps,
  merchant: Merchant,
  fields: CollectionFields,
  asset: Asset,
  amount: BaseUnits,
  address: string,
): NewOrder {
  const tolerated = (amount * BigInt(merchant.underpaymentToleranceBps)) / BASIS_POINTS;
  const acceptedAmount = amount - tolerated;
  return {
    orderPk: deps.newId(),
    merchantId: merchant.merchantId,
    orderId: fields.orderId ?? deps.newId(),
    orderType: 'COLLECTION',
    uid: fields.uid,
    chain: asset.chain,
    family: asset.family,
    symbol: asset.symbol,
    contractAddress: asset.contract,
    decimals: asset.decimals,
    displayDecimals: asset.displayDecimals,
    amount,
    acceptedAmount: acceptedAmount > 0n ? acceptedAmount : 1n,
    address,
    sourceAddress: null,
    confirmationsRequired: asset.confirmationsFor(amount),
    lateGraceSeconds: merchant.lateGraceSeconds,
    returnUrl: fields.returnUrl?.href ?? null,
    description: fields.description,
    signedDataHash: null,
    ...lifetime(deps.clock.now(), fields.expiresInSeconds ?? merchant.orderTtlSeconds),
  };
}

/** From now on, so many seconds; the end is a whole second, as merchants are told it. */
export function lifetime(
  now: Date,
  ttlSeconds: number,
): { readonly createdAt: Date; readonly expiresAt: Date } {
  return { createdAt: now, expiresAt: new Date((Math.floor(now.getTime() / 1000) + ttlSeconds) * 1000) };
}

/** What the first callback of an order says. */
export function firstNotificationText(order: NewOrder): string {
  return notifyOrderText(toNotifyOrder({ ...order, status: 'INIT', reason: null, actualAmount: null }, null));
}

async function store(
  deps: OrderDeps,
  order: NewOrder,
  nonce: SpentNonce,
  fresh: FreshAddress,
): Promise<CollectionOutcome> {
  const notificationId = deps.newId();
  // After a timeout or a lost connection the order may exist with this address; and what Postgres refuses may be the
  // address itself. So whatever is thrown, the address is dropped: an index is cheap, a shared address is not.
  const result = await deps.store.createCollection({
    order,
    nonce,
    derivationIndex: fresh.derivationIndex,
    notificationId,
    notificationData: firstNotificationText(order),
    events: [newEvent('order.created', '_', { orderPk: order.orderPk, eventId: notificationId }, deps)],
  });
  if (result.outcome !== 'CREATED') deps.pool.giveBack(fresh);
  return result;
}
