import type { Request } from 'express';
import type { OrderType } from '@opentill/contracts/notify-order';
import type { JsonObject } from '@opentill/contracts/signing/json-value';
import { canonicalDataHash } from '@opentill/contracts/signing/verify-signature';
import { refusal, success, tooManyRequests, type Answer } from '../answer.ts';
import {
  authenticateOrderId,
  authenticatePost,
  refuseSignature,
  SIGN_OF_QUERY_MISSING,
  type AuthenticateDeps,
  type SignedRequest,
} from '../authenticate.ts';
import type { Exchange } from '../exchange.ts';
import type { Merchant } from '../merchant-book.ts';
import { createCollection } from '../operations/create-collection.ts';
import {
  createOnce,
  rejectAndSpendNonce,
  type CreationAttempt,
  type OrderRequest,
} from '../operations/create-once.ts';
import { createPayout } from '../operations/create-payout.ts';
import { toOrderStatusAnswer, toPayinAnswer, toStatusAnswer } from '../operations/order-answer.ts';
import type { OrderDeps } from '../operations/order-deps.ts';
import {
  readCollectionFields,
  readPayoutFields,
  type FieldRules,
  type OrderFields,
} from '../order-fields.ts';
import type { Problem } from '../problem.ts';
import { CHOICE_LIMIT, type LimitKind } from '../rate-limits.ts';
import { answerInSpan, startRequestSpan } from '../trace-request.ts';
import { queryOf, singleParameter } from './query.ts';

/** Answers a request. Undefined: the client has disconnected. */
export type Route = (request: Request, exchange: Exchange) => Promise<Answer | undefined> | Answer;

export interface OrderRouteDeps extends Omit<OrderDeps, 'observe'>, AuthenticateDeps {
  readonly observe: OrderDeps['observe'] & AuthenticateDeps['observe'];
  readonly allowHttpReturnUrl: boolean;
}

export const CREATE_COLLECTION_PATH = '/v1/order/createCollection';
export const CREATE_PAYOUT_PATH = '/v1/order/createPayout';

export const ORDER_ID_OF_QUERY_MISSING = 'orderId: is missing in the query, or is there twice';

/** Grammar of order ids. Other ids cannot exist and are not looked up. */
const ORDER_ID_GRAMMAR = /^[A-Za-z0-9_.:~@-]{1,64}$/;

export function rulesFor(merchant: Merchant, deps: OrderRouteDeps): FieldRules {
  return {
    version: merchant.version,
    allowHttpReturnUrl: deps.allowHttpReturnUrl,
    enabledChains: deps.assets.enabledChains,
    isKnownChain: deps.assets.isKnownChain,
  };
}

/**
 * Rules of the other version. An order may have been created before its merchant's version changed. A request that only
 * the current version rejects (no uid, no orderId) may repeat such an order.
 */
function otherVersion(rules: FieldRules): FieldRules {
  return { ...rules, version: rules.version === 'V2' ? 'V3' : 'V2' };
}

interface OrderKind<Fields extends OrderFields> {
  readonly endpoint: 'createCollection' | 'createPayout';
  readonly path: string;
  readonly orderType: OrderType;
  readonly read: (data: JsonObject, rules: FieldRules) => Fields | Problem;
  readonly create: (deps: OrderDeps, request: OrderRequest<Fields>) => Promise<CreationAttempt>;
}

export function createCollectionRoute(deps: OrderRouteDeps): Route {
  return createOrderRoute(deps, {
    endpoint: 'createCollection',
    path: CREATE_COLLECTION_PATH,
    orderType: 'COLLECTION',
    read: readCollectionFields,
    create: createCollection,
  });
}

export function createPayoutRoute(deps: OrderRouteDeps): Route {
  return createOrderRoute(deps, {
    endpoint: 'createPayout',
    path: CREATE_PAYOUT_PATH,
    orderType: 'PAYOUT',
    read: readPayoutFields,
    create: createPayout,
  });
}

function createOrderRoute<Fields extends OrderFields>(deps: OrderRouteDeps, kind: OrderKind<Fields>): Route {
  return async (request, exchange) => {
    const signed = await authenticatePost(deps, request, exchange, kind);
    if (signed === undefined || 'status' in signed) return signed;
    const span = startRequestSpan(kind.endpoint, request, exchange);
    return answerInSpan(span, exchange, () => createSigned(deps, kind, signed, exchange, span?.traceparent));
  };
}

async function createSigned<Fields extends OrderFields>(
  deps: OrderRouteDeps,
  kind: OrderKind<Fields>,
  { merchant, nonce, data, document }: SignedRequest,
  exchange: Exchange,
  traceparent: string | undefined,
): Promise<Answer> {
  const { orderType } = kind;
  const requestOf = (fields: Fields) => {
    const hasHash = orderType === 'PAYOUT' && fields.orderId === null;
    return {
      merchant,
      nonce,
      orderType,
      fields,
      signedDataHash: hasHash ? canonicalDataHash(document) : null,
      traceparent,
    };
  };
  const rules = rulesFor(merchant, deps);
  const fields = kind.read(data, rules);
  if ('code' in fields) {
    const asked = kind.read(data, otherVersion(rules));
    if ('code' in asked) return rejectAndSpendNonce(deps, nonce, fields);
    return createOnce(deps, requestOf(asked), () => Promise.resolve(fields));
  }
  if (fields.orderId !== null) exchange.orderId = fields.orderId;
  const order = requestOf(fields);
  return createOnce(deps, order, async () => {
    const attempt = await kind.create(deps, order);
    if ('result' in attempt && attempt.result.outcome === 'CREATED') exchange.orderPk = attempt.order.orderPk;
    return attempt;
  });
}

export function statusRoute(deps: OrderRouteDeps): Route {
  return async (request, exchange) => {
    const limit = deps.merchants.ipLimit('status');
    const wait = await deps.limits.take('ip:status', exchange.clientAddress, limit);
    if (wait > 0) return tooManyRequests(wait);
    const orderId = String(request.params['orderId'] ?? '');
    const sign = singleParameter(queryOf(request), 'sign');
    const merchant = await authenticateOrderId(deps, request, exchange, {
      orderId,
      sign,
      opensTo: 'merchant',
    });
    if ('status' in merchant) return merchant;
    exchange.orderId = orderId;
    const order = await findOrder(deps, merchant, orderId);
    return order === undefined ? refusal('ORDER_NOT_FOUND') : success(toStatusAnswer(order, deps.assets));
  };
}

/** Only for collections. */
export function payRoute(deps: OrderRouteDeps): Route {
  return async (request, exchange) => {
    const asked = await readOrderQuery(deps, request, exchange, 'pay');
    if ('status' in asked) return asked;
    const order = await findOrder(deps, asked.merchant, asked.orderId);
    if (order === undefined || order.orderType !== 'COLLECTION') return refusal('ORDER_NOT_FOUND');
    return success(toPayinAnswer(order, deps.assets, deps.clock.now()));
  };
}

export function getOrderStatusRoute(deps: OrderRouteDeps): Route {
  return async (request, exchange) => {
    const asked = await readOrderQuery(deps, request, exchange, 'getOrderStatus');
    if ('status' in asked) return asked;
    const { merchant, orderId } = asked;
    const order = ORDER_ID_GRAMMAR.test(orderId)
      ? await deps.store.findStatus(merchant.merchantId, orderId)
      : undefined;
    return order === undefined
      ? refusal('ORDER_NOT_FOUND')
      : success(toOrderStatusAnswer(order, deps.assets));
  };
}

/** Finds an order by id; undefined also for an invalid id. */
export async function findOrder(deps: Pick<OrderDeps, 'store'>, merchant: Merchant, orderId: string) {
  return ORDER_ID_GRAMMAR.test(orderId) ? deps.store.findOrder(merchant.merchantId, orderId) : undefined;
}

/** Reads `orderId` and `sign` of the query. Verifies the signature first, then counts the order's limit. */
export async function readOrderQuery(
  deps: OrderRouteDeps,
  request: Request,
  exchange: Exchange,
  endpoint: 'pay' | 'getOrderStatus' | 'choose',
): Promise<{ readonly merchant: Merchant; readonly orderId: string } | Answer> {
  const query = queryOf(request);
  const sign = singleParameter(query, 'sign');
  if (sign === undefined) return refuseSignature(deps, exchange, 'SIGN_BLANK', SIGN_OF_QUERY_MISSING);
  const orderId = singleParameter(query, 'orderId');
  if (orderId === undefined) return refusal('ORDER_ID_BLANK', ORDER_ID_OF_QUERY_MISSING);
  const merchant = await authenticateOrderId(deps, request, exchange, { orderId, sign, opensTo: 'customer' });
  if ('status' in merchant) return merchant;
  exchange.orderId = orderId;
  const kind: LimitKind = `order:${endpoint}`;
  const limit = endpoint === 'choose' ? CHOICE_LIMIT : deps.merchants.limitOf(merchant, endpoint);
  const wait = await deps.limits.take(kind, `${merchant.merchantId} ${orderId}`, limit);
  return wait > 0 ? tooManyRequests(wait) : { merchant, orderId };
}
