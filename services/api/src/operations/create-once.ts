import type { ApiErrorCode } from '@opentill/contracts/http/api-errors';
import { API_ERRORS, duplicateOfOrderText } from '@opentill/contracts/http/api-errors';
import type { OrderType } from '@opentill/contracts/notify-order';
import { refusal, refusalWithText, success, type Answer } from '../answer.ts';
import type { Merchant } from '../merchant-book.ts';
import type { OrderFields } from '../order-fields.ts';
import type { CreatedOrder, CreationOutcome, NewOrder, SpentNonce } from '../store/create-orders.ts';
import { isEqualOrder } from './is-equal-order.ts';
import { toOrderAnswer } from './order-answer.ts';
import type { OrderDeps } from './order-deps.ts';

/** A signed request for an order, with the keys that identify a repeated request. */
export interface OrderRequest<
  Fields extends OrderFields = OrderFields & { readonly receiveAddress?: string },
> {
  readonly merchant: Merchant;
  readonly nonce: SpentNonce;
  readonly orderType: OrderType;
  readonly fields: Fields;
  /** Identifies a payout without an order id. */
  readonly signedDataHash: string | null;
}

/** Result of an operation: the stored order, or the reason for the rejection. */
export type CreationAttempt = ApiErrorCode | { readonly order: NewOrder; readonly result: CreationOutcome };

/**
 * Makes creating an order idempotent. At most one order exists per order id, or per signed data of a payout without an
 * id. A repeated request returns the order as first created, even when it would be rejected today. A nonce can be used
 * once; only a 503 leaves it unspent when no order exists.
 */
export async function createOnce(
  deps: OrderDeps,
  request: OrderRequest,
  create: () => Promise<CreationAttempt>,
): Promise<Answer> {
  const attempt = await create();
  if (typeof attempt === 'string') return refuseUnlessCreated(deps, request, attempt);
  const { order, result } = attempt;
  switch (result.outcome) {
    case 'NONCE_USED':
      return refusal('NONCE_USED');
    case 'INSUFFICIENT':
      return refusal('BALANCE_INSUFFICIENT');
    case 'DUPLICATE':
    case 'EXISTS':
      return answerExisting(deps, request, result.existing);
    case 'CREATED':
      deps.wakeRelay();
      deps.observe.orderCreated(order);
      return success(toOrderAnswer(order, request.merchant, deps));
  }
}

/** Rejects permanently: spends the nonce and changes no other state. */
export async function rejectAndSpendNonce(
  deps: Pick<OrderDeps, 'store'>,
  nonce: SpentNonce,
  code: ApiErrorCode,
): Promise<Answer> {
  return refusal((await deps.store.spendNonce(nonce)) ? code : 'NONCE_USED');
}

/** Rejects for a reason that may change (a limit, a disabled chain), unless the order already exists. */
async function refuseUnlessCreated(
  deps: OrderDeps,
  request: OrderRequest,
  code: ApiErrorCode,
): Promise<Answer> {
  const { merchant, nonce, fields, signedDataHash } = request;
  const { nonceUsed, existing } = await deps.store.findCreated({
    merchantId: merchant.merchantId,
    orderId: fields.orderId,
    signedDataHash,
    nonce: nonce.nonce,
  });
  if (nonceUsed) return refusal('NONCE_USED');
  if (existing === undefined) {
    return API_ERRORS[code].status === 503 ? refusal(code) : rejectAndSpendNonce(deps, nonce, code);
  }
  return (await deps.store.spendNonce(nonce))
    ? answerExisting(deps, request, existing)
    : refusal('NONCE_USED');
}

/**
 * Returns the order as first created for an equal request, else 409. A payout with the same signed data and without an
 * order id is a duplicate.
 */
function answerExisting(deps: OrderDeps, request: OrderRequest, existing: CreatedOrder): Answer {
  if (request.signedDataHash !== null) return refusalWithText(409, duplicateOfOrderText(existing.orderId));
  const asked = { ...request.fields, orderType: request.orderType };
  if (!isEqualOrder(existing, asked, deps.assets.parseAddress)) return refusal('ORDER_ID_EXISTS');
  return success(toOrderAnswer(existing, request.merchant, deps));
}
