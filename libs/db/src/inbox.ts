import { sql } from 'kysely';
import type { Db, Tx } from './database.ts';
import type { ServiceSchema } from './service-schema.ts';

export interface InboxKey {
  readonly schema: ServiceSchema;
  /** Which consumer of the service; each handles an event once. */
  readonly consumer: string;
  readonly eventId: string;
}

/**
 * Does `work` once per (consumer, event): the inbox row and the effect are one transaction, so a redelivery does
 * nothing, two deliveries at the same moment wait for one another, and work that throws leaves no trace.
 */
export function handleOnce<T>(
  db: Db,
  { eventId, ...consumer }: InboxKey,
  work: (tx: Tx) => Promise<T>,
): Promise<Handled<T>> {
  return handleTogetherOnce(db, { ...consumer, eventIds: [eventId] }, work);
}

export type Handled<T> = { readonly handled: true; readonly result: T } | { readonly handled: false };

/**
 * The same for events that came together: `work` gets those of them that were not handled before, if there are any, and all
 * are one transaction.
 */
export function handleTogetherOnce<T>(
  db: Db,
  { schema, consumer, eventIds }: Omit<InboxKey, 'eventId'> & { readonly eventIds: readonly string[] },
  work: (tx: Tx, firstTime: ReadonlySet<string>) => Promise<T>,
): Promise<Handled<T>> {
  return db.transaction().execute(async (tx) => {
    // In one order, so that two that hold the same events never wait for one another in a circle.
    const { rows } = await sql<{ event_id: string }>`
      insert into ${sql.table(`${schema}.inbox`)} (consumer, event_id)
      select ${consumer}, id from unnest(${eventIds}::uuid[]) id order by id
      on conflict do nothing returning event_id`.execute(tx);
    if (rows.length === 0) return { handled: false };
    return { handled: true, result: await work(tx, new Set(rows.map((row) => row.event_id))) };
  });
}
