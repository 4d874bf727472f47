import { sql } from 'kysely';
import type { Db, Tx } from './database.ts';
import type { ServiceSchema } from './service-schema.ts';

export interface InboxKey {
  readonly schema: ServiceSchema;
  readonly consumer: string;
  readonly eventId: string;
}

/** Runs `work` once per (consumer, event), in the inbox transaction. Concurrent deliveries wait for each other. */
export function handleOnce<T>(
  db: Db,
  { eventId, ...consumer }: InboxKey,
  work: (tx: Tx) => Promise<T>,
): Promise<Handled<T>> {
  return handleTogetherOnce(db, { ...consumer, eventIds: [eventId] }, work);
}

export type Handled<T> = { readonly handled: true; readonly result: T } | { readonly handled: false };

/** `work` receives the events not handled before, if any, in one transaction. */
export function handleTogetherOnce<T>(
  db: Db,
  { schema, consumer, eventIds }: Omit<InboxKey, 'eventId'> & { readonly eventIds: readonly string[] },
  work: (tx: Tx, firstTime: ReadonlySet<string>) => Promise<T>,
): Promise<Handled<T>> {
  return db.transaction().execute(async (tx) => {
    // Sorted, so that two batches with the same events do not deadlock.
    const { rows } = await sql<{ event_id: string }>`
      insert into ${sql.table(`${schema}.inbox`)} (consumer, event_id)
      select ${consumer}, id from unnest(${eventIds}::uuid[]) id order by id
      on conflict do nothing returning event_id`.execute(tx);
    if (rows.length === 0) return { handled: false };
    return { handled: true, result: await work(tx, new Set(rows.map((row) => row.event_id))) };
  });
}
