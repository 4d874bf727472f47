import { sql } from 'kysely';
import type { Db } from './database.ts';
import type { ServiceSchema } from './service-schema.ts';

/** Forgets nonces whose time window has passed, at most `limit` at once. Role: api. @returns how many. */
export async function forgetExpiredNonces(db: Db, limit = 10_000): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from request_nonce where (merchant_id, nonce) in (
      select merchant_id, nonce from request_nonce where expires_at < now() order by expires_at limit ${limit}
    )`.execute(db);
  return Number(numAffectedRows ?? 0n);
}

/** Forgets rate counters whose window ended an hour ago, at most `limit` at once. Role: api. @returns how many. */
export async function forgetEndedCounters(db: Db, limit = 10_000): Promise<number> {
  const ended = sql`expire < extract(epoch from now() - interval '1 hour') * 1000`;
  // Asked twice, because a counter may begin a new window between the two.
  const { numAffectedRows } = await sql`
    delete from rate_counter
    where key = any(array(select key from rate_counter where ${ended} limit ${limit})) and ${ended}`.execute(
    db,
  );
  return Number(numAffectedRows ?? 0n);
}

/** What one round of a roller did: partitions dropped whole, and rows deleted that lay in no partition of their time. */
export interface Rolled {
  readonly dropped: number;
  readonly deleted: number;
}

/** Most rows that one round of a roller deletes; so many mean that there are more. */
export const ROLLED_ROWS_MAX = 10_000;

/**
 * Makes the next partitions of a service's inbox and drops those of which every event was made more than `keptSeconds`
 * ago. An event that is delivered again after that is handled again. At least an hour is kept, whatever is asked.
 */
export async function rollInbox(db: Db, schema: ServiceSchema, keptSeconds: number): Promise<Rolled> {
  const roll = sql.id(schema, 'roll_inbox');
  return rolled(db, sql<Rolled>`select dropped, deleted from ${roll}(${keptSeconds} * interval '1 second')`);
}

/** The same for the recorded attempts of callbacks made more than `keptSeconds` ago; at least a day. Role: webhook. */
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

/** How far a round over the ended callbacks has come. */
export interface CallbackPosition {
  /** Postgres' own text of a timestamptz, which keeps the microseconds. */
  readonly finishedAt: string;
  readonly eventId: string;
}

export const FIRST_CALLBACK: CallbackPosition = {
  finishedAt: '-infinity',
  eventId: '00000000-0000-0000-0000-000000000000',
};

/**
 * Forgets callbacks that ended more than `keptSeconds` ago (at least a week), out of the next `limit` behind `after`. What
 * stays of them for good, the last callback of each order, is only looked at. Role: webhook.
 * @returns how many were forgotten; the last one looked at (`after`, if none was), and the same as `next` where there may
 *   be more behind it
 */
export async function forgetEndedCallbacks(
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
