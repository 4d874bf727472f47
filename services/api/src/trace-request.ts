import type { IncomingMessage } from 'node:http';
import { inSpan, startTrace, type OrderSpan } from '@opentill/runtime/tracing';
import type { Answer } from './answer.ts';
import type { Exchange } from './exchange.ts';

/**
 * Continues the merchant's trace if the request carries `traceparent`, else begins one. Call it after authentication:
 * other clients must not cause spans. The span still begins with the request.
 */
export function startRequestSpan(
  name: string,
  { headers }: Pick<IncomingMessage, 'headers'>,
  { startedMs, method, route, merchantId, requestId }: Exchange,
): OrderSpan | undefined {
  const { traceparent } = headers;
  return startTrace('api', name, {
    parent: typeof traceparent === 'string' ? traceparent : undefined,
    kind: 'SERVER',
    startedAt: new Date(Date.now() - (performance.now() - startedMs)),
    attributes: {
      'http.request.method': method,
      'http.route': route,
      'opentill.request_id': requestId,
      ...(merchantId !== undefined && { 'opentill.merchant_id': merchantId }),
    },
  });
}

export function answerInSpan(
  span: OrderSpan | undefined,
  exchange: Exchange,
  work: () => Promise<Answer>,
): Promise<Answer> {
  return inSpan(span, async () => {
    const answer = await work();
    const { orderId, orderPk } = exchange;
    span?.set({
      'http.response.status_code': answer.status,
      ...(orderId !== undefined && { 'opentill.order_id': orderId }),
      ...(orderPk !== undefined && { 'opentill.order_pk': orderPk }),
    });
    return answer;
  });
}
