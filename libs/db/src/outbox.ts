import { sql, type RawBuilder } from 'kysely';
import type { EventData, EventEnvelope, EventType } from '@opentill/contracts/event-catalog';
import { routingKey } from '@opentill/contracts/event-catalog';
import type { Family } from '@opentill/domain/chains';
import type { Db, Tx } from './database.ts';
import type { ServiceSchema } from './service-schema.ts';

export interface OutboxEvent {
  readonly envelope: EventEnvelope;
  readonly routingKey: string;
  /** W3C. Undefined while tracing is off, and for an event of several orders. */
  readonly traceparent?: string | undefined;
}

export interface OutboxRow {
  readonly eventId: string;
  readonly routingKey: string;
  readonly payload: string;
  readonly traceparent: string | null;
}

export interface OutboxStore {
  /**
   * Publishes and deletes the oldest events in one transaction: delete, `publish` in id order, commit. If `publish`
   * rejects, the same events come again: delivery is at least once. `publish` must end well before the database's
   * idleInTransactionTimeoutMs.
   * @returns the number published; less than `limit` means the outbox is empty. 'busy': another replica drains it
   */
  drain(limit: number, publish: (rows: readonly OutboxRow[]) => Promise<void>): Promise<number | 'busy'>;
  /** `oldestSeconds` is 0 if there is none. */
  backlog(): Promise<{ readonly events: number; readonly oldestSeconds: number }>;
}

/** `family` is '_' if none applies. */
export function newEvent<T extends EventType>(
  type: T,
  family: Family | '_',
  data: EventData[T],
  deps: { readonly newId: () => string; readonly clock: { now(): Date } },
): OutboxEvent {
  const envelope = {
    id: deps.newId(),
    type,
    version: 1,
    occurredAt: deps.clock.now().toISOString(),
    data,
  } as const;
  return { envelope: envelope as unknown as EventEnvelope, routingKey: routingKey(type, family) };
}

/**
 * Call it in the transaction that the events report. Lock the aggregate's row (order, chain cursor) first: ids are
 * assigned at insert, not at commit, so only that lock makes id order equal commit order.
 */
export async function appendToOutbox(
  tx: Tx,
  schema: ServiceSchema,
  events: readonly OutboxEvent[],
): Promise<void> {
  if (events.length > 0) await outboxInsert(schema, events).execute(tx);
}

/** `appendToOutbox` as a CTE, which saves a round trip. */
export function outboxInsert(schema: ServiceSchema, events: readonly OutboxEvent[]): RawBuilder<unknown> {
  const ids = events.map((event) => event.envelope.id);
  const keys = events.map((event) => event.routingKey);
  const payloads = events.map((event) => JSON.stringify(event.envelope));
  const traceparents = events.map((event) => event.traceparent ?? null);
  return sql`
    insert into ${sql.table(`${schema}.outbox`)} (event_id, routing_key, payload, traceparent)
    select e.event_id, e.routing_key, e.payload, e.traceparent
    from unnest(${ids}::uuid[], ${keys}::text[], ${payloads}::text[], ${traceparents}::text[])
      with ordinality as e (event_id, routing_key, payload, traceparent, place)
    order by e.place`;
}

interface StoredRow {
  readonly id: number;
  readonly event_id: string;
  readonly routing_key: string;
  readonly payload: string;
  readonly traceparent: string | null;
}

/** One active relay per service keeps the id order (`OutboxStore.drain`). */
export function createOutboxStore(db: Db, schema: ServiceSchema): OutboxStore {
  const table = sql.table(`${schema}.outbox`);
  const relay = sql.table(`${schema}.outbox_relay`);
  return {
    drain: (limit, publish) =>
      db.transaction().execute(async (tx) => {
        // A separate statement: the delete needs a snapshot taken under the lock, or it would see events that the
        // previous holder has just deleted. An empty outbox takes no lock and causes no write.
        const look = await sql<{ locked: boolean }>`
          select lock.one_row is not null as locked
          from (select id from ${table} order by id limit 1) waiting
            left join lateral (select one_row from ${relay} for no key update skip locked) lock on true`.execute(
          tx,
        );
        if (look.rows[0] === undefined) return 0;
        if (!look.rows[0].locked) return 'busy';
        const { rows } = await sql<StoredRow>`
          delete from ${table} where id = any(array(select id from ${table} order by id limit ${limit}))
          returning id, event_id, routing_key, payload, traceparent`.execute(tx);
        if (rows.length === 0) return 0;
        const oldestFirst = rows.toSorted((a, b) => a.id - b.id);
        await publish(
          oldestFirst.map((row) => ({
            eventId: row.event_id,
            routingKey: row.routing_key,
            payload: row.payload,
            traceparent: row.traceparent,
          })),
        );
        return rows.length;
      }),
    async backlog() {
      const { rows } = await sql<{ events: number; oldest_seconds: number }>`
        select count(*) as events,
          coalesce(extract(epoch from now() - min(created_at)), 0)::float8 as oldest_seconds
        from ${table}`.execute(db);
      return { events: rows[0]?.events ?? 0, oldestSeconds: rows[0]?.oldest_seconds ?? 0 };
    },
  };
}
