import type { ConsumeMessage } from 'amqplib';
import type { EventEnvelope, EventType, ServiceName } from '@opentill/contracts/event-catalog';
import { isTracing, startSpan, type OrderSpan } from '@opentill/runtime/tracing';

/** Undefined while tracing is off, and for messages without `traceparent`: events of several orders. */
export function startConsumerSpan(
  service: ServiceName,
  queue: string,
  { type, id, data }: EventEnvelope,
  { properties, fields }: Pick<ConsumeMessage, 'properties' | 'fields'>,
): OrderSpan | undefined {
  if (!isTracing(service)) return undefined;
  const traceparent: unknown = properties.headers?.['traceparent'];
  if (typeof traceparent !== 'string') return undefined;
  const orderPk = orderOf(data);
  return startSpan(service, `process ${type}`, {
    parent: traceparent,
    kind: 'CONSUMER',
    attributes: {
      'messaging.system': 'rabbitmq',
      'messaging.operation.type': 'process',
      'messaging.destination.name': queue,
      'messaging.rabbitmq.destination.routing_key': fields.routingKey,
      'messaging.message.id': id,
      ...(orderPk !== undefined && { 'opentill.order_pk': orderPk }),
    },
  });
}

/** Transfers and transactions name no order; the spans within this one do. */
function orderOf(data: EventEnvelope<EventType>['data']): string | undefined {
  if ('orderPk' in data) return data.orderPk;
  if ('moves' in data) return data.moves[0]?.orderPk;
  return 'orderPks' in data ? data.orderPks[0] : undefined;
}
