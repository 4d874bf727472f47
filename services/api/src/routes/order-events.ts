import type { Request, Response } from 'express';
import { refusal, success, tooManyRequests, type Answer } from '../answer.ts';
import { toPayinAnswer } from '../operations/order-answer.ts';
import { ORDER_EVENTS_LIMIT } from '../rate-limits.ts';
import type { OrderStreams, StreamedOrder } from '../order-streams.ts';
import type { OrderRow } from '../store/read-orders.ts';
import { authenticateOrderId, refuseSignature, SIGN_OF_QUERY_MISSING } from '../authenticate.ts';
import { findOrder, ORDER_ID_OF_QUERY_MISSING, type OrderRouteDeps, type Route } from './order-routes.ts';
import { queryOf, singleParameter } from './query.ts';

export interface OrderEventsDeps extends OrderRouteDeps {
  readonly streams: OrderStreams;
}

/** `Retry-After` of a rejected stream. The client polls meanwhile. */
const RETRY_AFTER_SECONDS = 30;
const SETTLED: ReadonlySet<OrderRow['status']> = new Set(['SUCCESS', 'EXPIRED', 'FAILED']);

/** GET /v1/order/events: sends the response of GET pay at once and after every change. Only for collections. */
export function orderEventsRoute(deps: OrderEventsDeps): Route {
  return async (request, exchange) => {
    const query = queryOf(request);
    const sign = singleParameter(query, 'sign');
    if (sign === undefined) return refuseSignature(deps, exchange, 'SIGN_BLANK', SIGN_OF_QUERY_MISSING);
    const orderId = singleParameter(query, 'orderId');
    if (orderId === undefined) return refusal('ORDER_ID_BLANK', ORDER_ID_OF_QUERY_MISSING);
    const merchant = await authenticateOrderId(deps, request, exchange, {
      orderId,
      sign,
      opensTo: 'customer',
    });
    if ('status' in merchant) return merchant;
    exchange.orderId = orderId;
    const key = { merchantId: merchant.merchantId, orderId };
    const wait = await deps.limits.take('order:events', `${key.merchantId} ${orderId}`, ORDER_EVENTS_LIMIT);
    if (wait > 0) return tooManyRequests(wait);
    const slot = deps.streams.enter(key, exchange.clientAddress, responseOf(request));
    if (typeof slot === 'string') return rejectFull(slot);
    try {
      // Reads the fingerprint first and then the order: a change in between is sent again.
      const [watched] = await deps.store.watchOrders([key]);
      const order = await findOrder(deps, merchant, orderId);
      if (order === undefined || order.orderType !== 'COLLECTION') {
        slot.leave();
        return refusal('ORDER_NOT_FOUND');
      }
      if (request.method === 'HEAD') {
        slot.leave();
        return { ...success(null), contentType: EVENT_STREAM };
      }
      const first = { ...streamed(deps, order), fingerprint: watched?.fingerprint };
      return {
        status: 200,
        body: '',
        contentType: EVENT_STREAM,
        // Tells proxies to forward messages at once and unchanged.
        headers: { 'Cache-Control': 'no-store, no-transform', 'X-Accel-Buffering': 'no' },
        stream: () => slot.begin(first),
      };
    } catch (error) {
      slot.leave();
      throw error;
    }
  };
}

function responseOf({ res }: Request): Response {
  if (res === undefined) throw new Error('express gives every request its response');
  return res;
}

const EVENT_STREAM = 'text/event-stream; charset=utf-8';

export function streamed(deps: Pick<OrderRouteDeps, 'assets' | 'clock'>, order: OrderRow): StreamedOrder {
  const data = JSON.stringify(toPayinAnswer(order, deps.assets, deps.clock.now()));
  return { data, settled: SETTLED.has(order.status) };
}

function rejectFull(reason: 'ORDER_FULL' | 'CLIENT_FULL' | 'FULL'): Answer {
  if (reason !== 'FULL') return tooManyRequests(RETRY_AFTER_SECONDS);
  return { ...refusal('SERVICE_UNAVAILABLE'), headers: { 'Retry-After': String(RETRY_AFTER_SECONDS) } };
}
