import { startSpan } from '@opentill/runtime/tracing';
import type { OrderOutcome } from './store/order-rows.ts';

/** From the decision to the commit; `committed` ends it. After a rollback it is dropped. */
export function withSpan(outcome: OrderOutcome): OrderOutcome {
  const { order, moved } = outcome;
  const span = startSpan('confirmation-tracker', 'settle order', {
    parent: order.traceparent,
    kind: 'PRODUCER',
    attributes: {
      'opentill.order_pk': order.orderPk,
      'opentill.order_id': order.orderId,
      'opentill.merchant_id': order.merchantId,
      'opentill.chain': order.chain,
      'opentill.order_status': moved?.status ?? order.status,
    },
  });
  return span === undefined ? outcome : { ...outcome, span };
}
