import { sql } from 'kysely';
import type { Db } from '@opentill/db/database';
import type { FailureCode } from '../failure-codes.ts';
import type { ClaimedDelivery } from './claim-due.ts';
import { ATTEMPTS_BEFORE_OVERTAKING } from './delivery-rules.ts';

export interface AttemptRecord {
  readonly startedAt: Date;
  readonly durationMs: number;
  readonly statusCode: number | null;
  readonly errorCode: FailureCode | null;
  readonly error: string | null;
  readonly excerpt: string | null;
}

export type DeliveryOutcome =
  | { readonly state: 'DELIVERED' }
  | { readonly state: 'DEAD' }
  | { readonly state: 'PENDING'; readonly retryDelayMs: number };

export type Held = Pick<ClaimedDelivery, 'eventId' | 'attempt' | 'scheduleBase' | 'generation'>;

export interface FinishedAttempt {
  readonly claim: Held;
  readonly record: AttemptRecord;
  readonly outcome: DeliveryOutcome;
}

export interface FinishedRow {
  readonly eventId: string;
  /** False when the claim was lost: its lease expired, and another attempt is running or done. */
  readonly held: boolean;
  /** The endpoint has recorded failures, which a success must clear. */
  readonly watched: boolean;
}

/**
 * Records all attempts, but changes only deliveries whose claim `holder` still has. A delivery that an operator
 * replayed during its attempt is due again, unless the attempt succeeded. A delivery that got a 410 is due again if its
 * endpoint has changed since. Deliveries behind a retried one become due with it.
 */
export async function finishAttempts(
  db: Db,
  holder: string,
  attempts: readonly FinishedAttempt[],
): Promise<FinishedRow[]> {
  const input = JSON.stringify(
    attempts.map(({ claim, record, outcome }) => ({
      eventId: claim.eventId,
      attempt: claim.attempt,
      scheduleBase: claim.scheduleBase,
      generation: claim.generation,
      ...record,
      state: outcome.state,
      retryDelayMs: outcome.state === 'PENDING' ? outcome.retryDelayMs : 0,
    })),
  );
  const { rows } = await sql<FinishedRow>`
    with ended as materialized (
      select * from json_to_recordset(${input}::json) as e ("eventId" uuid, attempt integer, "scheduleBase" integer, generation integer, state text,
        "retryDelayMs" double precision, "startedAt" timestamptz, "durationMs" integer, "statusCode" integer, "errorCode" text,
        error text, excerpt text)
    ), held as (
      select d.event_id, e.state, e."retryDelayMs", e.state <> 'DELIVERED' and (d.schedule_base > e."scheduleBase"
          or e."errorCode" = 'GONE' and e.generation <> coalesce(
            (select c.generation from callback_endpoint c where c.merchant_id = d.merchant_id), 0)) as is_due
      from delivery d join ended e on d.event_id = e."eventId" and d.attempts = e.attempt
      where d.state = 'PENDING' and d.lease_holder = ${holder}
      order by d.subject_id, d.sequence
      for update of d
    ), finished as (
      update delivery d
      set state = case when h.is_due then 'PENDING' else h.state end, lease_until = null, lease_holder = null,
        next_attempt_at = now() + case when h.is_due then 0 else h."retryDelayMs" end * interval '1 millisecond',
        finished_at = case when h.is_due or h.state = 'PENDING' then null else now() end
      from held h where d.event_id = h.event_id
      returning d.*
    ), recorded as (
      insert into delivery_attempt (event_id, attempt, started_at, duration_ms, status_code, error_code, error, response_excerpt)
      select "eventId", attempt, "startedAt", "durationMs", "statusCode", "errorCode", error, excerpt from ended
      on conflict do nothing
    ), behind as (
      update delivery d set next_attempt_at = f.next_attempt_at from finished f
      where f.state = 'PENDING' and f.attempts - f.schedule_base < ${ATTEMPTS_BEFORE_OVERTAKING}
        and d.subject_id = f.subject_id and d.sequence > f.sequence and d.state = 'PENDING'
        and d.next_attempt_at < f.next_attempt_at
    )
    select e."eventId", f.event_id is not null as held,
      coalesce(c.state <> 'CLOSED' or c.failures_in_row > 0 or c.window_began_at is not null, false) as watched
    from ended e left join finished f on f.event_id = e."eventId" left join callback_endpoint c using (merchant_id)`.execute(
    db,
  );
  return rows;
}

/** Does not count the attempt, because this process interrupted it. For a probe, also releases the probe slot. */
export async function releaseClaim(db: Db, claim: Held, holder: string, pauseMs = 0): Promise<void> {
  await sql`
    with released as (
      update delivery
      set attempts = attempts - 1, schedule_base = least(schedule_base, attempts - 1),
        lease_until = null, lease_holder = null,
        next_attempt_at = greatest(next_attempt_at, now() + nullif(${pauseMs}::float8, 0) * interval '1 millisecond')
      where event_id = ${claim.eventId} and state = 'PENDING' and lease_holder = ${holder} and attempts = ${claim.attempt}
      returning merchant_id
    )
    update callback_endpoint e set probe_at = now() + ${pauseMs}::float8 * interval '1 millisecond', probe_event_id = null, probe_attempt = null, updated_at = now()
    from released r
    where e.merchant_id = r.merchant_id and e.probe_event_id = ${claim.eventId} and e.probe_attempt = ${claim.attempt}`.execute(
    db,
  );
}
