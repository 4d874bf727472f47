import { sql } from 'kysely';
import type { Db, Tx } from '@opentill/db/database';
import type { EndpointHealth } from '../endpoint-health.ts';
import type { FailureCode } from '../failure-codes.ts';

export interface StoredEndpoint {
  readonly merchantId: string;
  readonly generation: number;
  readonly health: EndpointHealth;
}

export interface EndpointChange {
  readonly merchantId: string;
  readonly before: EndpointHealth;
  readonly after: EndpointHealth;
}

/** Until the end of the transaction. Creates missing rows. */
export async function lockEndpoints(tx: Tx, merchantIds: readonly string[]): Promise<void> {
  const ids = [...merchantIds].sort(); // the same lock order in all replicas
  await sql`
    insert into callback_endpoint (merchant_id) select unnest(${ids}::text[]) order by 1 on conflict do nothing`.execute(
    tx,
  );
  await sql`
    select from callback_endpoint where merchant_id = any(${ids}::text[]) order by merchant_id for update`.execute(
    tx,
  );
}

/** Deliveries of an endpoint that recovers become due at once. `judge` returns the same object for no change. */
export async function updateEndpoints(
  tx: Tx,
  merchantIds: readonly string[],
  judge: (endpoint: StoredEndpoint, now: Date) => EndpointHealth,
): Promise<EndpointChange[]> {
  const ids = [...merchantIds].sort(); // the same lock order in all replicas
  await sql`
      insert into callback_endpoint (merchant_id) select unnest(${ids}::text[]) order by 1 on conflict do nothing`.execute(
    tx,
  );
  const rows = await tx
    .selectFrom('callback_endpoint')
    .select([
      'merchant_id',
      'generation',
      'state',
      'failures_in_row',
      'window_began_at',
      'window_attempts',
      'window_failures',
      'openings',
      'opened_at',
      'closed_at',
      'probe_at',
      'probe_event_id',
      'probe_attempt',
      'disabled_at',
      'disabled_reason',
      'last_failed_at',
      'last_error_code',
      'last_error',
    ])
    .select(sql<Date>`clock_timestamp()`.as('now'))
    .where('merchant_id', 'in', ids)
    .orderBy('merchant_id')
    .forUpdate()
    .execute();
  const changes: EndpointChange[] = [];
  for (const row of rows) {
    const before: EndpointHealth = {
      state: row.state,
      failuresInRow: row.failures_in_row,
      windowBeganAt: row.window_began_at,
      windowAttempts: row.window_attempts,
      windowFailures: row.window_failures,
      openings: row.openings,
      openedAt: row.opened_at,
      closedAt: row.closed_at,
      probeAt: row.probe_at,
      probe:
        row.probe_event_id === null || row.probe_attempt === null
          ? null
          : { eventId: row.probe_event_id, attempt: row.probe_attempt },
      disabledAt: row.disabled_at,
      disabledReason: row.disabled_reason,
      lastFailedAt: row.last_failed_at,
      lastErrorCode: row.last_error_code as FailureCode | null,
      lastError: row.last_error,
    };
    const { merchant_id: merchantId, generation, now } = row;
    const after = judge({ merchantId, generation, health: before }, now);
    if (after !== before) changes.push({ merchantId, before, after });
  }
  if (changes.length > 0) await save(tx, changes);
  await releaseWaiting(tx, changes);
  return changes;
}

async function releaseWaiting(tx: Tx, changes: readonly EndpointChange[]): Promise<void> {
  const recovered = changes.filter(
    ({ before, after }) => before.state === 'OPEN' && after.state === 'CLOSED',
  );
  if (recovered.length === 0) return;
  const merchants = recovered.map(({ merchantId }) => merchantId);
  await sql`select callbacks_due_now(merchant_id) from unnest(${merchants}::text[]) merchant_id`.execute(tx);
}

async function save(tx: Tx, changes: readonly EndpointChange[]): Promise<void> {
  const rows = changes.map(({ merchantId, after: { probe, ...health } }) => ({
    merchantId,
    ...health,
    probeEventId: probe?.eventId ?? null,
    probeAttempt: probe?.attempt ?? null,
  }));
  await sql`
    update callback_endpoint e
    set state = n.state, failures_in_row = n."failuresInRow", window_began_at = n."windowBeganAt",
      window_attempts = n."windowAttempts", window_failures = n."windowFailures", openings = n.openings,
      opened_at = n."openedAt", closed_at = n."closedAt", probe_at = n."probeAt", probe_event_id = n."probeEventId",
      probe_attempt = n."probeAttempt", disabled_at = n."disabledAt", disabled_reason = n."disabledReason",
      last_failed_at = n."lastFailedAt", last_error_code = n."lastErrorCode", last_error = n."lastError", updated_at = now()
    from json_to_recordset(${JSON.stringify(rows)}::json) as n ("merchantId" text, state text, "failuresInRow" integer,
      "windowBeganAt" timestamptz, "windowAttempts" integer, "windowFailures" integer, openings integer, "openedAt" timestamptz,
      "closedAt" timestamptz, "probeAt" timestamptz, "probeEventId" uuid, "probeAttempt" integer, "disabledAt" timestamptz,
      "disabledReason" text, "lastFailedAt" timestamptz, "lastErrorCode" text, "lastError" text)
    where e.merchant_id = n."merchantId"`.execute(tx);
}

export async function countUnwell(db: Db): Promise<{ readonly open: number; readonly disabled: number }> {
  const { rows } = await sql<{ open: number; disabled: number }>`
    select count(*) filter (where e.state = 'OPEN')::int as open, count(*) filter (where e.state = 'DISABLED')::int as disabled
    from callback_endpoint e join merchant m using (merchant_id) where m.callback_url is not null`.execute(
    db,
  );
  return rows[0] ?? { open: 0, disabled: 0 };
}
