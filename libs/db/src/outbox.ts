import { sql, type RawBuilder } from 'kysely';
import type { EventData, EventEnvelope, EventType } from '@opentill/contracts/event-catalog';
import { routingKey } from '@opentill/contracts/event-catalog';
import type { Family } from '@opentill/domain/chains';
import type { Db, Tx } from './database.ts';
import type { ServiceSchema } from './service-schema.ts';

/** An event and where it goes. */
export interface OutboxEvent {
  readonly envelope: EventEnvelope;
  readonly routingKey: string;
}

/** One event as the relay publishes it; `payload` is the envelope's JSON text. */
export interface OutboxRow {
  readonly eventId: string;
  readonly routingKey: string;
  readonly payload: string;
}

export interface OutboxStore {
  /**
   * Publishes the oldest events and deletes them, all in one transaction: delete, `publish` in id order, commit. When
   * `publish` rejects, nothing is deleted and the same events come again. Delivery is at least once.
   * `publish` has to end well before the database's idleInTransactionTimeoutMs.
   * @returns how many were published; less than `limit` means the outbox was emptied. 'busy': another replica drains.
   */
  drain(limit: number, publish: (rows: readonly OutboxRow[]) => Promise<void>): Promise<number | 'busy'>;
  /** Events that wait, and the age of the oldest one in seconds (0 when none waits), for the metrics. */
  backlog(): Promise<{ readonly events: number; readonly oldestSeconds: number }>;
}

/** Makes an event of the present moment. `family` '_' where none applies. */
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
 * Appends events to the outbox of a service, in the transaction that made them true.
 *
 * Lock the aggregate's row (order, chain cursor) BEFORE you append: ids are taken at insert, not at commit, and only
 * the lock makes the order of ids the order of commits for one aggregate. Between aggregates no order is promised.
 */
export async function appendToOutbox(
  tx: Tx,
  schema: ServiceSchema,
  events: readonly OutboxEvent[],
): Promise<void> {
  if (events.length > 0) await outboxInsert(schema, events).execute(tx);
}

/** The statement of `appendToOutbox`, for a CTE beside what made the events true: it saves a round trip. */
export function outboxInsert(schema: ServiceSchema, events: readonly OutboxEvent[]): RawBuilder<unknown> {
  const ids = events.map((event) => event.envelope.id);
  const keys = events.map((event) => event.routingKey);
  const payloads = events.map((event) => JSON.stringify(event.envelope));
  return sql`
    insert into ${sql.table(`${schema}.outbox`)} (event_id, routing_key, payload)
    select e.event_id, e.routing_key, e.payload
    from unnest(${ids}::uuid[], ${keys}::text[], ${payloads}::text[])
      with ordinality as e (event_id, routing_key, payload, place)
    order by e.place`;
}

interface StoredRow {
  readonly id: number;
  readonly event_id: string;
  readonly routing_key: string;
  readonly payload: string;
}

/** The relay's side of a service's outbox. One active relay per service keeps the order of ids (`OutboxStore.drain`). */
export function createOutboxStore(db: Db, schema: ServiceSchema): OutboxStore {
  const table = sql.table(`${schema}.outbox`);
  const relay = sql.table(`${schema}.outbox_relay`);
  return {
    drain: (limit, publish) =>
      db.transaction().execute(async (tx) => {
        // A statement of its own: the delete below needs a snapshot taken when the lock is already held, or it
        // would see what the previous holder has just deleted. Nothing is locked, hence written, for an empty outbox.
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
          returning id, event_id, routing_key, payload`.execute(tx);
        if (rows.length === 0) return 0;
        const oldestFirst = rows.toSorted((a, b) => a.id - b.id);
        await publish(
          oldestFirst.map((row) => ({
            eventId: row.event_id,
            routingKey: row.routing_key,
            payload: row.payload,
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
