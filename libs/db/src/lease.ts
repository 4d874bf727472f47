import { sql } from 'kysely';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { Db, Tx } from './database.ts';
import type { ServiceSchema } from './service-schema.ts';

/** - `LEASE_LOST`: another holder took the lease; what was begun under it must not be written. Retryable. */
export type LeaseErrorCode = 'LEASE_LOST';

/** The right to do one thing alone. `fencingToken` grows with every change of hands and never repeats for a name. */
export interface Lease {
  readonly name: string;
  readonly fencingToken: number;
}

export interface LeaseOptions {
  readonly db: Db;
  readonly schema: ServiceSchema;
  /** What is leased, e.g. `chain/ETH`. */
  readonly name: string;
  /** Who asks: unique to the process. */
  readonly holder: string;
  /** For how long a lease lasts without being renewed. Renew every third of it. */
  readonly ttlMs: number;
  /** Hears of leases taken and lost. */
  readonly logger?: { info(message: string, fields: Readonly<Record<string, unknown>>): unknown };
}

export interface LeaseKeeper {
  /**
   * Takes the lease when it is free or has expired by the database's clock, renews it when this keeper holds it.
   * Undefined while another holds it.
   */
  acquire(): Promise<Lease | undefined>;
  /** Prolongs the lease held. False when there is none or it expired meanwhile, taken or not: acquire again. */
  renew(): Promise<boolean>;
  /** Gives the lease back, so that another need not wait for its end. */
  release(): Promise<void>;
  /** The lease as last known; writes ask the database by assertLease. */
  current(): Lease | undefined;
}

/**
 * Keeps one lease of a service's schema. Nothing runs by itself: the caller's loop acquires and renews. Time is the
 * database's alone; a holder that slept finds out at its next renew or assertLease, whatever its own clock says.
 */
export function keepLease(options: LeaseOptions): LeaseKeeper {
  const { db, schema, name, holder, ttlMs, logger } = options;
  const table = sql.table(`${schema}.lease`);
  const end = sql`now() + ${ttlMs} * interval '1 millisecond'`;
  let held: Lease | undefined;

  async function take(): Promise<Lease | undefined> {
    // Asked first, because the statement below locks the row even where it changes nothing.
    const taken = await sql`select from ${table} where name = ${name} and expires_at > now()`.execute(db);
    if (taken.rows.length > 0) return undefined;
    // The row is never deleted, so that the token grows for ever.
    const { rows } = await sql<{ fencing_token: number }>`
      insert into ${table} as l (name, holder, fencing_token, expires_at) values (${name}, ${holder}, 1, ${end})
      on conflict (name) do update
        set holder = excluded.holder, fencing_token = l.fencing_token + 1, expires_at = excluded.expires_at
        where l.expires_at <= now()
      returning fencing_token`.execute(db);
    const row = rows[0];
    if (row === undefined) return undefined;
    logger?.info('lease taken', { schema, lease: name, holder, fencingToken: row.fencing_token });
    return { name, fencingToken: row.fencing_token };
  }

  async function renew(): Promise<boolean> {
    const lease = held;
    if (lease === undefined) return false;
    const { rows } = await sql`
      update ${table} set expires_at = ${end}
      where name = ${name} and fencing_token = ${lease.fencingToken} and expires_at > now()
      returning name`.execute(db);
    if (rows.length > 0) return true;
    logger?.info('lease lost', { schema, lease: name, holder, fencingToken: lease.fencingToken });
    if (held === lease) held = undefined;
    return false;
  }

  return {
    async acquire() {
      if (await renew()) return held;
      held = await take();
      return held;
    },
    renew,
    async release() {
      const lease = held;
      held = undefined;
      if (lease === undefined) return;
      await sql`
        update ${table} set expires_at = now()
        where name = ${name} and fencing_token = ${lease.fencingToken} and expires_at > now()`.execute(db);
    },
    current: () => held,
  };
}

/** A transaction under a lease that asks nothing for so long is broken off by the database: its holder is frozen. */
const IDLE_UNDER_LEASE_MS = 3_000;

/**
 * Call first in every transaction that writes under a lease. Locks the lease's row until the end of the transaction:
 * while it is held nobody can take the lease over, so the write stands before any write of a later holder. An expired
 * lease that nobody took is still good. Throws LEASE_LOST when somebody did. A holder that freezes in the middle loses
 * the transaction after 3 s, so that it can't keep the next one waiting.
 */
export async function assertLease(tx: Tx, schema: ServiceSchema, lease: Lease): Promise<void> {
  const { rows } = await sql<{ fencing_token: number; holder: string }>`
    select fencing_token, holder,
      set_config('idle_in_transaction_session_timeout', ${String(IDLE_UNDER_LEASE_MS)}::text, true)
    from ${sql.table(`${schema}.lease`)} where name = ${lease.name} for share`.execute(tx);
  const row = rows[0];
  if (row?.fencing_token === lease.fencingToken) return;
  throw new GatewayError<LeaseErrorCode>('LEASE_LOST', `the lease ${lease.name} has another holder`, {
    retryable: true,
    context: { lease: lease.name, fencingToken: lease.fencingToken, ...(row && { takenBy: row.holder }) },
  });
}
