import { sql } from 'kysely';
import type { Db } from './database.ts';
import type { ServiceSchema } from './service-schema.ts';

/** Lease rows with this prefix announce live instances. */
const PRESENCE_PREFIX = 'presence/';

export interface PresenceOptions {
  readonly db: Db;
  readonly schema: ServiceSchema;
  readonly instance: string;
  /** Default 3 000. */
  readonly intervalMs?: number;
  /** A silent instance counts as gone after this time. Default 10 000. */
  readonly ttlMs?: number;
  readonly onError?: (error: unknown) => void;
}

const FORGOTTEN_AFTER = '1 day';

/** Writes a lease row every few seconds, which the api's readiness check reads. `stop` withdraws it. */
export function announcePresence(options: PresenceOptions): { stop(): Promise<void> } {
  const { db, schema, instance, intervalMs = 3_000, ttlMs = 10_000, onError } = options;
  const table = sql.table(`${schema}.lease`);
  const name = PRESENCE_PREFIX + instance;
  let running: Promise<void> | undefined;

  async function announce(): Promise<void> {
    try {
      await sql`
        insert into ${table} (name, holder, fencing_token, expires_at)
        values (${name}, ${instance}, 1, now() + ${ttlMs} * interval '1 millisecond')
        on conflict (name) do update set expires_at = excluded.expires_at`.execute(db);
      await sql`
        delete from ${table} where starts_with(name, ${PRESENCE_PREFIX})
          and expires_at < now() - ${FORGOTTEN_AFTER}::interval`.execute(db);
    } catch (error) {
      onError?.(error);
    }
  }
  // Announcements do not overlap if one takes longer than the interval.
  const tick = (): void => {
    running ??= announce().finally(() => (running = undefined));
  };
  tick();
  const timer = setInterval(tick, intervalMs);
  return {
    async stop() {
      clearInterval(timer);
      await running;
      await sql`update ${table} set expires_at = now() where name = ${name}`
        .execute(db)
        .catch((error: unknown) => {
          onError?.(error);
        });
    },
  };
}

/** The database's clock decides. The api may query the services it shows. */
export async function listPresence(db: Db, schema: ServiceSchema): Promise<readonly string[]> {
  const { rows } = await sql<{ holder: string }>`
    select holder from ${sql.table(`${schema}.lease`)}
    where starts_with(name, ${PRESENCE_PREFIX}) and expires_at > now() order by holder`.execute(db);
  return rows.map((row) => row.holder);
}
