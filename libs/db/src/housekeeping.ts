import { sql } from 'kysely';
import type { Db } from './database.ts';
import type { ServiceSchema } from './service-schema.ts';

/** Role: api. @returns the number deleted, at most `limit` */
export async function deleteExpiredNonces(db: Db, limit = 10_000): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from request_nonce where (merchant_id, nonce) in (
      select merchant_id, nonce from request_nonce where expires_at < now() order by expires_at limit ${limit}
    )`.execute(db);
  return Number(numAffectedRows ?? 0n);
}

/** Counters whose window ended an hour ago. Role: api. @returns the number deleted, at most `limit` */
export async function deleteEndedCounters(db: Db, limit = 10_000): Promise<number> {
  const ended = sql`expire < extract(epoch from now() - interval '1 hour') * 1000`;
  // Checked twice, because a counter may start a new window in between.
  const { numAffectedRows } = await sql`
    delete from rate_counter
    where key = any(array(select key from rate_counter where ${ended} limit ${limit})) and ${ended}`.execute(
    db,
  );
  return Number(numAffectedRows ?? 0n);
}

export interface Rolled {
  readonly dropped: number;
  readonly deleted: number;
}

/** A round that deletes this many rows leaves more. */
export const ROLLED_ROWS_MAX = 10_000;

/** Keeps events `keptSeconds` (at least an hour). One delivered after that is handled again. */
export async function rollInbox(db: Db, schema: ServiceSchema, keptSeconds: number): Promise<Rolled> {
  const roll = sql.id(schema, 'roll_inbox');
  return rolled(db, sql<Rolled>`select dropped, deleted from ${roll}(${keptSeconds} * interval '1 second')`);
}

/** Keeps attempts at least a day. Role: webhook. */
export async function rollDeliveryAttempts(db: Db, keptSeconds: number): Promise<Rolled> {
  return rolled(
    db,
    sql<Rolled>`select dropped, deleted from roll_delivery_attempts(${keptSeconds} * interval '1 second')`,
  );
}

async function rolled(db: Db, call: ReturnType<typeof sql<Rolled>>): Promise<Rolled> {
  const { rows } = await call.execute(db);
  return rows[0] ?? { dropped: 0, deleted: 0 };
}

export interface CallbackPosition {
  /** Postgres text of a timestamptz, which keeps microseconds. */
  readonly finishedAt: string;
  readonly eventId: string;
}

export const FIRST_CALLBACK: CallbackPosition = {
  finishedAt: '-infinity',
  eventId: '00000000-0000-0000-0000-000000000000',
};

/**
 * Keeps callbacks `keptSeconds` (at least a week), and the last one of each order permanently. Role: webhook.
 * @returns the number deleted; the last position read (`after` if none); and the same as `next` if more may follow
 */
export async function deleteEndedCallbacksPage(
  db: Db,
  keptSeconds: number,
  after: CallbackPosition,
  limit = 1_000,
): Promise<{
  readonly forgotten: number;
  readonly last: CallbackPosition;
  readonly next: CallbackPosition | null;
}> {
  const { rows } = await sql<{
    looked_at: number;
    forgotten: number;
    last_time: string | null;
    last_id: string | null;
  }>`
    select looked_at, forgotten, last_time::text, last_id from forget_ended_callbacks(
      ${keptSeconds} * interval '1 second', ${after.finishedAt}::timestamptz, ${after.eventId}::uuid, ${limit})`.execute(
    db,
  );
  const {
    looked_at: lookedAt = 0,
    forgotten = 0,
    last_time: time = null,
    last_id: id = null,
  } = rows[0] ?? {};
  const last = time === null || id === null ? after : { finishedAt: time, eventId: id };
  return { forgotten, last, next: lookedAt < limit ? null : last };
}
