import { sql } from 'kysely';
import type { Tx } from '@opentill/db/database';
import type { OutboxEvent } from '@opentill/db/outbox';
import type { ServiceSchema } from '@opentill/db/service-schema';
import type { Chain } from '@opentill/domain/chains';
import { commonTraceparent, isTracing, startSpan, type OrderSpan } from '@opentill/runtime/tracing';
import type { Written } from '../scan-change.ts';

/** One span per order and change, from the write to the commit. */
export interface OrderSpans {
  /** An event of a single order continues its trace. One of several orders continues none: consumers read the orders. */
  traced(events: readonly OutboxEvent[]): readonly OutboxEvent[];
  /** Call it after the commit. Log lines of `work` carry the ids if the commit concerns a single order. */
  end(work: () => void): void;
}

const UNTRACED: OrderSpans = { traced: (events) => events, end: (work) => work() };

const CHANGES = {
  detectedIds: 'transfer detected',
  verifiedIds: 'transfer verified',
  orphanedIds: 'transfer orphaned',
  changedFates: 'transaction outcome changed',
} as const satisfies Readonly<Record<keyof Written, string>>;

/** Reads no order while tracing is off. */
export async function startOrderSpans(
  tx: Tx,
  schema: ServiceSchema,
  { chain, height }: { readonly chain: Chain; readonly height: number },
  written: Written,
): Promise<OrderSpans> {
  const service = schema.replace('_', '-');
  if (!isTracing(service) || Object.values(written).every((ids) => ids.length === 0)) return UNTRACED;
  const orders = await readOrders(tx, chain, written);
  const spans = new Map<string, OrderSpan>();
  /** By transfer id or transaction hash, which cannot be equal. */
  const spanOf = new Map<string, OrderSpan | undefined>();
  for (const [list, name] of Object.entries(CHANGES)) {
    for (const id of written[list as keyof Written]) {
      const order = orders.get(id);
      if (order === undefined) continue;
      const key = `${name} ${order.orderPk}`;
      const span =
        spans.get(key) ??
        startSpan(service, name, {
          parent: order.traceparent,
          kind: 'PRODUCER',
          attributes: {
            'opentill.order_pk': order.orderPk,
            'opentill.chain': chain,
            'opentill.seen_height': height,
          },
        });
      if (span !== undefined) spans.set(key, span);
      spanOf.set(id, span);
    }
  }
  return {
    traced: (events) =>
      events.map((event) => {
        const traceparent = commonTraceparent(idsOf(event).map((id) => spanOf.get(id)));
        return traceparent === undefined ? event : { ...event, traceparent };
      }),
    end(work) {
      const [first] = spans.values();
      if (first !== undefined && spans.size === 1) first.run(work);
      else work();
      for (const span of spans.values()) span.end();
    },
  };
}

function idsOf({ envelope: { data } }: OutboxEvent): readonly string[] {
  if ('transferIds' in data) return data.transferIds;
  return 'txHashes' in data ? data.txHashes : [];
}

interface TracedOrder {
  readonly orderPk: string;
  readonly traceparent: string;
}

async function readOrders(
  tx: Tx,
  chain: Chain,
  { detectedIds, verifiedIds, orphanedIds, changedFates }: Written,
): Promise<ReadonlyMap<string, TracedOrder>> {
  const transferIds = [...detectedIds, ...verifiedIds, ...orphanedIds];
  const { rows } = await sql<TracedOrder & { readonly id: string }>`
    select t.transfer_id::text as id, o.order_pk as "orderPk", o.traceparent
    from transfer t join deposit_address d on d.family = t.family and d.address = t.to_address
      join orders o on o.order_pk = d.order_pk
    where t.transfer_id = any(${transferIds}::bigint[]) and o.traceparent is not null
    union all
    select t.tx_hash, o.order_pk, o.traceparent from own_transaction t join orders o on o.order_pk = t.order_pk
    where t.chain = ${chain} and t.tx_hash = any(${changedFates}::text[]) and o.traceparent is not null`.execute(
    tx,
  );
  return new Map(rows.map((row) => [row.id, row]));
}
