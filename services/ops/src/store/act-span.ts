import { sql } from 'kysely';
import type { Tx } from '@opentill/db/database';
import type { OutboxEvent } from '@opentill/db/outbox';
import { isTracing, startSpan, type OrderSpan } from '@opentill/runtime/tracing';

/** A span in the trace of the event's order. Reads no order while tracing is off. */
export async function startActSpan(
  tx: Tx,
  operation: string,
  operator: string,
  { envelope: { data } }: OutboxEvent,
): Promise<OrderSpan | undefined> {
  if (!isTracing('ops') || !('orderPk' in data)) return undefined;
  const { rows } = await sql<{ order_id: string; traceparent: string | null }>`
    select order_id, traceparent from orders where order_pk = ${data.orderPk}::uuid`.execute(tx);
  const [order] = rows;
  return startSpan('ops', operation, {
    parent: order?.traceparent,
    kind: 'PRODUCER',
    attributes: {
      'opentill.order_pk': data.orderPk,
      ...(order !== undefined && { 'opentill.order_id': order.order_id }),
      'opentill.operator': operator,
    },
  });
}
