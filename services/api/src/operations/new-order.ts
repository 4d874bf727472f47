import { notifyOrderText, pricingOf, toNotifyOrder } from '@opentill/contracts/format-order';
import { newEvent, type OutboxEvent } from '@opentill/db/outbox';
import type { BaseUnits } from '@opentill/domain/money';
import { unixSeconds } from '@opentill/runtime/clock';
import type { Asset } from '../asset-book.ts';
import type { Creation, NewOrder, SpentNonce } from '../store/create-orders.ts';
import type { OrderRequest } from './create-once.ts';
import type { OrderDeps } from './order-deps.ts';

export type OwnFields = Pick<
  NewOrder,
  | 'acceptedAmount'
  | 'address'
  | 'sourceAddress'
  | 'lateGraceSeconds'
  | 'returnUrl'
  | 'description'
  | PriceField
  | OptionField
>;

type PriceField = 'currency' | 'price' | 'rate' | 'rateId' | 'markupBps';
type OptionField = 'choices' | 'options';

/** For an order of one coin with an amount. */
export const ONE_COIN: Pick<NewOrder, PriceField | OptionField> = {
  currency: null,
  price: null,
  rate: null,
  rateId: null,
  markupBps: null,
  choices: null,
  options: null,
};

/** Builds the order of a request. It expires at a whole second, as merchants see it. */
export function newOrder(
  deps: Pick<OrderDeps, 'newId' | 'clock'>,
  { merchant, fields, orderType, signedDataHash, traceparent, linkId }: OrderRequest,
  asset: Asset,
  amount: BaseUnits,
  own: OwnFields & { readonly ttlSeconds: number },
): NewOrder {
  const createdAt = deps.clock.now();
  const { ttlSeconds, ...ownFields } = own;
  return {
    orderPk: deps.newId(),
    merchantId: merchant.merchantId,
    orderId: fields.orderId ?? deps.newId(),
    orderType,
    uid: fields.uid,
    chain: asset.chain,
    family: asset.family,
    symbol: asset.symbol,
    contractAddress: asset.contract,
    decimals: asset.decimals,
    displayDecimals: asset.displayDecimals,
    amount,
    ...ownFields,
    confirmationsRequired: asset.confirmationsFor(amount),
    signedDataHash,
    linkId: linkId ?? null,
    traceparent,
    createdAt,
    expiresAt: new Date((unixSeconds(createdAt) + ttlSeconds) * 1000),
  };
}

export function creationOf(
  deps: Pick<OrderDeps, 'newId' | 'clock'>,
  order: NewOrder,
  nonce: SpentNonce,
  furtherEvents: readonly OutboxEvent[] = [],
): Creation {
  const notificationId = deps.newId();
  const state = { status: 'INIT', reason: null, actualAmount: null } as const;
  const notice = toNotifyOrder({ ...order, ...state, pricing: pricingOf(order) }, null);
  return {
    order,
    nonce,
    notificationId,
    notificationData: notifyOrderText(notice),
    events: [
      newEvent('order.created', '_', { orderPk: order.orderPk, eventId: notificationId }, deps),
      ...furtherEvents,
    ],
  };
}
