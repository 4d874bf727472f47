import type { ApiErrorCode } from '@opentill/contracts/http/api-errors';
import { API_ERRORS, duplicateOfOrderText } from '@opentill/contracts/http/api-errors';
import type { OrderType } from '@opentill/contracts/notify-order';
import { refusal, refusalSaying, success, type Answer } from '../answer.ts';
import type { Merchant } from '../merchant-book.ts';
import type { OrderFields } from '../order-fields.ts';
import type { CreatedOrder, CreationOutcome, NewOrder, SpentNonce } from '../store/create-orders.ts';
import { isEqualOrder } from './equal-order.ts';
import { toOrderAnswer } from './order-answer.ts';
import type { OrderDeps } from './order-deps.ts';

/** A signed request for an order, and what makes it the same order again. */
export interface OrderRequest<
  Fields extends OrderFields = OrderFields & { readonly receiveAddress?: string },
> {
  readonly merchant: Merchant;
  readonly nonce: SpentNonce;
  readonly orderType: OrderType;
  readonly fields: Fields;
  /** Identity of a payout without orderId. */
  readonly signedDataHash: string | null;
}

/** What an operation stored, or the reason why it stored nothing. */
export type CreationAttempt = ApiErrorCode | { readonly order: NewOrder; readonly result: CreationOutcome };

/**
 * Makes creating an order idempotent. Under one order id, or one signed data of a payout without id, at most one order exists:
 * the same request again is answered with it as first created, also when it would be refused by now. A nonce is used
 * once; only a 503 leaves it unused when no order exists.
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

/** Refuses for a reason that no time changes: spends the nonce, nothing else. */
export async function refuseSpending(
  deps: Pick<OrderDeps, 'store'>,
  nonce: SpentNonce,
  code: ApiErrorCode,
): Promise<Answer> {
  return refusal((await deps.store.spendNonce(nonce)) ? code : 'NONCE_USED');
}

/** Refuses for a reason that time may change (a limit, an enabled chain), unless the order exists already. */
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
    return API_ERRORS[code].status === 503 ? refusal(code) : refuseSpending(deps, nonce, code);
  }
  return (await deps.store.spendNonce(nonce))
    ? answerExisting(deps, request, existing)
    : refusal('NONCE_USED');
}

/** The order as first created when the request asks for the same, else 409. The same signed data without orderId pays nothing. */
function answerExisting(deps: OrderDeps, request: OrderRequest, existing: CreatedOrder): Answer {
  if (request.signedDataHash !== null) return refusalSaying(409, duplicateOfOrderText(existing.orderId));
  const asked = { ...request.fields, orderType: request.orderType };
  if (!isEqualOrder(existing, asked, deps.assets.parseAddress)) return refusal('ORDER_ID_EXISTS');
  return success(toOrderAnswer(existing, request.merchant, deps));
}
