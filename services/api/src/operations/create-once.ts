import { API_ERRORS, duplicateOfOrderText } from '@opentill/contracts/http/api-errors';
import type { OrderAnswer } from '@opentill/contracts/http/answers';
import type { OrderType } from '@opentill/contracts/notify-order';
import { refusal, refusalWithText, success, type Answer } from '../answer.ts';
import { explainExisting } from '../explain/explain-order.ts';
import type { Merchant } from '../merchant-book.ts';
import type { AnyOrderFields, OrderFields } from '../order-fields.ts';
import type { Problem } from '../problem.ts';
import type { CreationOutcome, ExistingOrder, NewOrder, SpentNonce } from '../store/create-orders.ts';
import { differences } from './differences.ts';
import { toOrderAnswer } from './order-answer.ts';
import type { OrderDeps } from './order-deps.ts';

/** A signed request for an order, with the keys that identify a repeated request. */
export interface OrderRequest<Fields extends OrderFields = AnyOrderFields> {
  readonly merchant: Merchant;
  readonly nonce: SpentNonce;
  readonly orderType: OrderType;
  readonly fields: Fields;
  /** Identifies a payout without an order id. */
  readonly signedDataHash: string | null;
  /** Stored with the order: its later spans become descendants of the request's. */
  readonly traceparent: string | undefined;
  /** The payment link that opens the order. */
  readonly linkId?: string;
}

/** Result of an operation: the stored order, or the reason for the rejection. */
export type CreationAttempt = Problem | { readonly order: NewOrder; readonly result: CreationOutcome };

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
  if ('code' in attempt) return refuseUnlessCreated(deps, request, attempt);
  const { order, result } = attempt;
  switch (result.outcome) {
    case 'NONCE_USED':
      return refusal('NONCE_USED');
    case 'INSUFFICIENT':
      return refusal('BALANCE_INSUFFICIENT');
    case 'DUPLICATE':
    case 'EXISTS':
      return answerExisting(deps, request, result.existing);
    case 'LINK_ENDED':
    case 'SOLD_OUT':
      throw new Error(`${result.outcome}: no payment link opens this order`);
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
  { code, detail }: Problem,
): Promise<Answer> {
  return (await deps.store.spendNonce(nonce)) ? refusal(code, detail) : refusal('NONCE_USED');
}

/** Rejects for a reason that may change (a limit, a disabled chain), unless the order already exists. */
async function refuseUnlessCreated(
  deps: OrderDeps,
  request: OrderRequest,
  problem: Problem,
): Promise<Answer> {
  const { code, detail } = problem;
  const { merchant, nonce, fields, signedDataHash } = request;
  const { nonceUsed, existing } = await deps.store.findCreated({
    merchantId: merchant.merchantId,
    orderId: fields.orderId,
    signedDataHash,
    nonce: nonce.nonce,
  });
  if (nonceUsed) return refusal('NONCE_USED');
  if (existing === undefined) {
    return API_ERRORS[code].status === 503
      ? refusal(code, detail)
      : rejectAndSpendNonce(deps, nonce, problem);
  }
  return (await deps.store.spendNonce(nonce))
    ? answerExisting(deps, request, existing)
    : refusal('NONCE_USED');
}

const REPEATED_PAYOUT =
  'orderId: is missing, so a payout with the same data is the same payout; to pay again, add a member to data';

/**
 * Returns the order as first created for an equal request, else 409. A payout with the same signed data and without an
 * order id is a duplicate.
 */
function answerExisting(deps: OrderDeps, request: OrderRequest, existing: ExistingOrder): Answer {
  if (request.signedDataHash !== null) {
    return refusalWithText(409, duplicateOfOrderText(existing.orderId), REPEATED_PAYOUT);
  }
  const asked = { ...request.fields, orderType: request.orderType };
  const differing = differences(existing, asked, deps.assets.parseAddress);
  if (differing.length > 0)
    return refusal('ORDER_ID_EXISTS', explainExisting(existing, differing, deps.assets));
  return success({ ...toOrderAnswer(existing, request.merchant, deps), ...endOf(existing) });
}

/** Status of an order that has ended. Its address must not be paid. */
function endOf({ status }: ExistingOrder): Pick<OrderAnswer, 'status'> {
  return status === 'EXPIRED' || status === 'SUCCESS' || status === 'FAILED' ? { status } : {};
}
