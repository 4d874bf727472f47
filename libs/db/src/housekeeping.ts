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

/**
 * Forgets events handled longer ago than `olderThanSeconds`, at most `limit` at once. Choose it longer than any
 * message can wait: an event forgotten and delivered again is handled again. @returns how many.
 */
export async function forgetHandledEvents(
  db: Db,
  schema: ServiceSchema,
  olderThanSeconds: number,
  limit = 10_000,
): Promise<number> {
  const table = sql.table(`${schema}.inbox`);
  const { numAffectedRows } = await sql`
    delete from ${table} where (consumer, event_id) in (
      select consumer, event_id from ${table}
      where received_at < now() - ${olderThanSeconds} * interval '1 second' order by received_at limit ${limit}
    )`.execute(db);
  return Number(numAffectedRows ?? 0n);
}
