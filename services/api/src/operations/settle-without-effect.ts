import type { ApiErrorCode } from '@opentill/contracts/http/api-errors';
import { API_ERRORS, duplicateOfOrderText } from '@opentill/contracts/http/api-errors';
import type { OrderType } from '@opentill/contracts/notify-order';
import { refusal, refusalSaying, success, type Answer } from '../answer.ts';
import type { Merchant } from '../merchant-book.ts';
import type { OrderFields } from '../order-fields.ts';
import type { CreatedOrder, SpentNonce } from '../store.ts';
import { isEqualOrder } from './equal-order.ts';
import { toOrderAnswer } from './order-answer.ts';
import type { OrderDeps } from './order-deps.ts';

/** A request for an order, whichever kind, as far as repeating it goes. */
export interface OrderRequest {
  readonly merchant: Merchant;
  readonly nonce: SpentNonce;
  readonly orderType: OrderType;
  readonly fields: OrderFields & { readonly receiveAddress?: string };
  /** Identity of a payout without orderId. */
  readonly signedDataHash: string | null;
}

/** Refuses for a reason that no time changes: spends the nonce, nothing else. */
export async function refuseSpending(
  deps: Pick<OrderDeps, 'store'>,
  nonce: SpentNonce,
  code: ApiErrorCode,
): Promise<Answer> {
  return refusal((await deps.store.spendNonce(nonce)) ? code : 'NONCE_USED');
}

/**
 * Refuses for a reason that time may change (a limit, an enabled chain): an order that exists under this id already
 * is answered instead, as first created. A 503 spends no nonce.
 */
export async function refuseUnlessCreated(
  deps: Pick<OrderDeps, 'store' | 'assets' | 'checkoutBaseUrl'>,
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
  if (!(await deps.store.spendNonce(nonce))) return refusal('NONCE_USED');
  return signedDataHash === null ? answerExisting(deps, request, existing) : answerDuplicate(existing);
}

/** The order as first created when the request asks for the very same, else 409. */
export function answerExisting(
  deps: Pick<OrderDeps, 'assets' | 'checkoutBaseUrl'>,
  request: OrderRequest,
  existing: CreatedOrder,
): Answer {
  const asked = { ...request.fields, orderType: request.orderType };
  if (!isEqualOrder(existing, asked, deps.assets.parseAddress)) return refusal('ORDER_ID_EXISTS');
  return success(toOrderAnswer(existing, request.merchant, deps));
}

/** Signed data without orderId is a payout's identity for ever: the same again is refused and pays nothing. */
export function answerDuplicate(existing: CreatedOrder): Answer {
  return refusalSaying(409, duplicateOfOrderText(existing.orderId));
}
