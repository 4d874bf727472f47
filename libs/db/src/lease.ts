import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { Db, Tx } from './database.ts';
import type { ServiceSchema } from './service-schema.ts';

/** Another holder took the lease; do not write under it. Retryable. */
export type LeaseErrorCode = 'LEASE_LOST';

/**
 * `fencingToken` grows each time the lease is taken. It repeats for a name only if a failover lost the last change; then
 * `holder` distinguishes the two leases. It has a random part for each take, so two processes that are configured with
 * one name, or two leases of one process, still differ.
 */
export interface Lease {
  readonly name: string;
  readonly fencingToken: number;
  readonly holder: string;
}

export interface LeaseOptions {
  readonly db: Db;
  readonly schema: ServiceSchema;
  readonly name: string;
  /** Name of the replica. The lease's holder begins with it. */
  readonly holder: string;
  /** Lifetime without renewal. Renew every third of it. */
  readonly ttlMs: number;
  readonly logger?: { info(message: string, fields: Readonly<Record<string, unknown>>): unknown };
}

export interface LeaseKeeper {
  /** Takes a free or expired lease, or renews its own. Undefined while another keeper holds it. */
  acquire(): Promise<Lease | undefined>;
  /** False if there is none or it expired, even if no other keeper took it; then acquire again. */
  renew(): Promise<boolean>;
  /** Saves another keeper the wait for its expiry. */
  release(): Promise<void>;
  /** Last known; writes must check the database with assertLease. */
  current(): Lease | undefined;
}

/** The keeper has no timer: the caller's loop acquires and renews. A suspended holder detects the loss at its next use. */
export function keepLease(options: LeaseOptions): LeaseKeeper {
  const { db, schema, name, ttlMs, logger } = options;
  const table = sql.table(`${schema}.lease`);
  const end = sql`now() + ${ttlMs} * interval '1 millisecond'`;
  let held: Lease | undefined;

  async function take(): Promise<Lease | undefined> {
    // Checked first, because the statement below locks the row even without a change.
    const taken = await sql`select from ${table} where name = ${name} and expires_at > now()`.execute(db);
    if (taken.rows.length > 0) return undefined;
    const holder = `${options.holder}#${randomBytes(6).toString('hex')}`;
    // The row is never deleted, so that the token never repeats.
    const { rows } = await sql<{ fencing_token: number }>`
      insert into ${table} as l (name, holder, fencing_token, expires_at) values (${name}, ${holder}, 1, ${end})
      on conflict (name) do update
        set holder = excluded.holder, fencing_token = l.fencing_token + 1, expires_at = excluded.expires_at
        where l.expires_at <= now()
      returning fencing_token`.execute(db);
    const row = rows[0];
    if (row === undefined) return undefined;
    logger?.info('lease taken', { schema, lease: name, holder, fencingToken: row.fencing_token });
    return { name, fencingToken: row.fencing_token, holder };
  }

  async function renew(): Promise<boolean> {
    const lease = held;
    if (lease === undefined) return false;
    const { rows } = await sql`
      update ${table} set expires_at = ${end}
      where name = ${name} and fencing_token = ${lease.fencingToken} and holder = ${lease.holder} and expires_at > now()
      returning name`.execute(db);
    if (rows.length > 0) return true;
    const { holder, fencingToken } = lease;
    logger?.info('lease lost', { schema, lease: name, holder, fencingToken });
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
        where name = ${name} and fencing_token = ${lease.fencingToken} and holder = ${lease.holder}
          and expires_at > now()`.execute(db);
    },
    current: () => held,
  };
}

/** Compares the holder too: see Lease. */
export function isSameLease(a: Lease | undefined, b: Lease | undefined): boolean {
  return a?.fencingToken === b?.fencingToken && a?.holder === b?.holder;
}

/** The database aborts a transaction under a lease that is idle for this long: its holder is frozen. */
const IDLE_UNDER_LEASE_MS = 3_000;

/**
 * Call first in every transaction that writes under a lease. Locks the lease's row, so that no replica can take it over
 * before the commit. An expired lease that no replica took is still valid; otherwise throws LEASE_LOST.
 */
export async function assertLease(tx: Tx, schema: ServiceSchema, lease: Lease): Promise<void> {
  const { rows } = await sql<{ fencing_token: number; holder: string }>`
    select fencing_token, holder,
      set_config('idle_in_transaction_session_timeout', ${String(IDLE_UNDER_LEASE_MS)}::text, true)
    from ${sql.table(`${schema}.lease`)} where name = ${lease.name} for share`.execute(tx);
  const row = rows[0];
  if (row?.fencing_token === lease.fencingToken && row.holder === lease.holder) return;
  const change = row?.holder === lease.holder ? 'expired and was taken again' : 'has another holder';
  throw new GatewayError<LeaseErrorCode>('LEASE_LOST', `the lease ${lease.name} ${change}`, {
    retryable: true,
    context: { lease: lease.name, fencingToken: lease.fencingToken, ...(row && { takenBy: row.holder }) },
  });
}
