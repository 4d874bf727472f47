import { sql } from 'kysely';
import type { Db, Tx } from '@opentill/db/database';
import { openSecret, webhookSecretAad } from '@opentill/db/sealed-secret';

/** A delivery that this instance holds for one attempt. */
export interface ClaimedDelivery {
  readonly eventId: string;
  readonly merchantId: string;
  readonly subjectId: string;
  readonly sequence: number;
  readonly notifyType: string;
  readonly dataText: string;
  /** Number of this attempt, from 1. */
  readonly attempt: number;
  readonly callbackUrl: string;
  readonly webhookSecret: string;
}

/** How one attempt ended, as it is recorded. */
export interface AttemptRecord {
  readonly startedAt: Date;
  readonly durationMs: number;
  readonly statusCode: number | null;
  readonly error: string | null;
  readonly excerpt: string | null;
}

/** What an attempt makes of its delivery. */
export type DeliveryOutcome =
  | { readonly state: 'DELIVERED' }
  | { readonly state: 'DEAD' }
  | { readonly state: 'PENDING'; readonly retryDelayMs: number };

/** After so many failed attempts a newer callback of the same order may overtake (api.md section 6). */
export const ATTEMPTS_BEFORE_OVERTAKING = 3;

/**
 * Queues every notification of a subject that has no delivery yet, so that an order's callbacks are queued without a
 * gap whatever order their events come in. A merchant without a callback URL gets dead ones, kept for a replay.
 * @returns how many were queued
 */
export async function queueDeliveries(tx: Tx | Db, subjectIds: readonly string[]): Promise<number> {
  const { rows } = await sql`
    insert into delivery (event_id, merchant_id, subject_id, sequence, state, next_attempt_at, finished_at)
    select n.event_id, n.merchant_id, n.subject_id, n.sequence,
      case when m.callback_url is null then 'DEAD' else 'PENDING' end, now(),
      case when m.callback_url is null then now() end
    from notification n join merchant m using (merchant_id)
    where n.subject_id = any(${subjectIds}::uuid[])
      and not exists (select from delivery d where d.event_id = n.event_id)
    order by n.subject_id, n.sequence
    on conflict do nothing
    returning event_id`.execute(tx);
  return rows.length;
}

/** Subjects with notifications that nobody queued: their events were lost, or are late. */
export async function findUnqueuedSubjects(db: Db, since: Date, limit: number): Promise<string[]> {
  const { rows } = await sql<{ subject_id: string }>`
    select distinct n.subject_id from notification n
    where n.occurred_at >= ${since} and n.occurred_at < now() - interval '2 seconds'
      and not exists (select from delivery d where d.event_id = n.event_id)
    limit ${limit}`.execute(db);
  return rows.map((row) => row.subject_id);
}

/** What a claim is bounded by. */
export interface ClaimLimits {
  readonly holder: string;
  /** Most deliveries to claim now. */
  readonly limit: number;
  /** Most attempts under way at one merchant's endpoint, over all replicas. */
  readonly perEndpoint: number;
  /** After this a claim that was never finished (the process died) is free again; longer than any attempt. */
  readonly leaseMs: number;
}

/**
 * Takes due deliveries for one attempt each, a fair share of every endpoint's, first attempts before retries.
 * Of an order, only the oldest that still waits is due; one that failed three attempts and is not under way is
 * overtaken: the claim of a newer one supersedes it in the same statement, so that it can never follow. A claim needs
 * every waiting delivery of its order locked and none of them under way, so that two replicas can't claim two of one
 * order side by side.
 */
export async function claimDue(db: Db, limits: ClaimLimits, secretsKey: Buffer): Promise<ClaimedDelivery[]> {
  const { rows } = await sql<ClaimRow>`
    with candidate as (
      select d.event_id, d.subject_id, m.callback_url, m.webhook_secret_sealed
      from merchant m cross join lateral (
        select d.event_id, d.subject_id from delivery d
        where d.merchant_id = m.merchant_id and d.state = 'PENDING' and d.next_attempt_at <= now()
          and (d.lease_until is null or d.lease_until < now())
          and not exists (
            select from delivery e
            where e.subject_id = d.subject_id and e.state = 'PENDING' and e.event_id <> d.event_id
              and (e.lease_until >= now()
                or (e.sequence < d.sequence and e.attempts < ${ATTEMPTS_BEFORE_OVERTAKING})))
        order by (d.attempts > 0), d.next_attempt_at
        limit greatest(0, ${limits.perEndpoint} - (
          select count(*) from delivery f
          where f.merchant_id = m.merchant_id and f.state = 'PENDING' and f.lease_until >= now()))
      ) d
      where m.callback_url is not null
      limit ${limits.limit}
    ), locked as (
      select d.event_id, d.subject_id, d.sequence, d.lease_until from delivery d
      where d.subject_id in (select subject_id from candidate) and d.state = 'PENDING'
      for update skip locked
    ), claim as (
      select distinct on (l.subject_id) l.event_id, l.subject_id, l.sequence, c.callback_url, c.webhook_secret_sealed
      from locked l join candidate c using (event_id)
      where (select count(*) from locked k where k.subject_id = l.subject_id and (k.lease_until is null or k.lease_until < now()))
        = (select count(*) from delivery e where e.subject_id = l.subject_id and e.state = 'PENDING')
      order by l.subject_id, l.sequence desc
    ), superseded as (
      update delivery d set state = 'SUPERSEDED', finished_at = now(), lease_until = null, lease_holder = null
      from claim c
      where d.subject_id = c.subject_id and d.sequence < c.sequence and d.state = 'PENDING'
    )
    update delivery d
    set attempts = d.attempts + 1, lease_holder = ${limits.holder},
      lease_until = now() + ${limits.leaseMs} * interval '1 millisecond'
    from claim c join notification n using (event_id)
    where d.event_id = c.event_id
    returning d.event_id, d.merchant_id, d.subject_id, d.sequence, d.attempts, n.notify_type, n.data,
      c.callback_url, c.webhook_secret_sealed`.execute(db);
  return rows.map((row) => ({
    eventId: row.event_id,
    merchantId: row.merchant_id,
    subjectId: row.subject_id,
    sequence: row.sequence,
    notifyType: row.notify_type,
    dataText: row.data,
    attempt: row.attempts,
    callbackUrl: row.callback_url,
    webhookSecret: openSecret(secretsKey, row.webhook_secret_sealed, webhookSecretAad(row.merchant_id)),
  }));
}

interface ClaimRow {
  readonly event_id: string;
  readonly merchant_id: string;
  readonly subject_id: string;
  readonly sequence: number;
  readonly attempts: number;
  readonly notify_type: string;
  readonly data: string;
  readonly callback_url: string;
  readonly webhook_secret_sealed: Buffer;
}

/**
 * Records an attempt and what it made of its delivery, if the claim is still this one's. False when it is not: the
 * lease ran out and another attempt, with the same nonce, is under way or done.
 */
export async function finishAttempt(
  db: Db,
  claim: Pick<ClaimedDelivery, 'eventId' | 'attempt'>,
  holder: string,
  record: AttemptRecord,
  outcome: DeliveryOutcome,
): Promise<boolean> {
  const retryDelayMs = outcome.state === 'PENDING' ? outcome.retryDelayMs : 0;
  const { rows } = await sql`
    with finished as (
      update delivery
      set state = ${outcome.state}, lease_until = null, lease_holder = null,
        next_attempt_at = now() + ${retryDelayMs} * interval '1 millisecond',
        finished_at = case when ${outcome.state} = 'PENDING' then null else now() end
      where event_id = ${claim.eventId} and state = 'PENDING' and lease_holder = ${holder} and attempts = ${claim.attempt}
      returning event_id
    ), recorded as (
      insert into delivery_attempt (event_id, attempt, started_at, duration_ms, status_code, error, response_excerpt)
      values (${claim.eventId}, ${claim.attempt}, ${record.startedAt}, ${record.durationMs}, ${record.statusCode},
        ${record.error}, ${record.excerpt})
      on conflict do nothing
    )
    select event_id from finished`.execute(db);
  return rows.length === 1;
}

/** Seconds that the oldest due delivery has waited; 0 when none is due. */
export async function oldestDueSeconds(db: Db): Promise<number> {
  const { rows } = await sql<{ seconds: number }>`
    select coalesce(extract(epoch from now() - min(next_attempt_at)), 0)::float8 as seconds
    from delivery where state = 'PENDING' and next_attempt_at <= now()`.execute(db);
  return rows[0]?.seconds ?? 0;
}
