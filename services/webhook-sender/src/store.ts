import { sql } from 'kysely';
import type { Db, Tx } from '@opentill/db/database';

/** A delivery that this instance holds for one attempt. */
export interface ClaimedDelivery {
  readonly eventId: string;
  readonly merchantId: string;
  readonly subjectId: string;
  readonly sequence: number;
  readonly notifyType: string;
  readonly dataText: string;
  /** Number of this attempt, from 1, over all replays. */
  readonly attempt: number;
  /** Attempts made before the last replay: the schedule counts from there. */
  readonly scheduleBase: number;
  readonly callbackUrl: string;
  /** Still sealed, so that one that can't be opened costs its own merchant an attempt and nobody else anything. */
  readonly webhookSecretSealed: Buffer;
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

/** Delivery `d` is not under way, and no other of its order is, nor an older one that must go before it. */
const IS_FREE = sql`
  (d.lease_until is null or d.lease_until < now()) and not exists (
    select from delivery e
    where e.subject_id = d.subject_id and e.state = 'PENDING' and e.event_id <> d.event_id
      and (e.lease_until >= now() or (e.sequence < d.sequence
        and e.attempts - e.schedule_base < ${sql.lit(ATTEMPTS_BEFORE_OVERTAKING)})))`;
// Each is the predicate of an index of its own.
const NEVER_TRIED = sql`state = 'PENDING' and attempts = schedule_base`;
const TRIED = sql`state = 'PENDING' and attempts > schedule_base`;

/**
 * Queues every notification of a subject that has no delivery yet, so that an order's callbacks are queued without a
 * gap whatever order their events come in. One behind a callback that waits for its next attempt is due with it, so
 * that no claim looks at it before. A merchant without a callback URL gets dead ones, kept for a replay.
 * @returns how many were queued
 */
export async function queueDeliveries(tx: Tx | Db, subjectIds: readonly string[]): Promise<number> {
  const { rows } = await sql`
    insert into delivery (event_id, merchant_id, subject_id, sequence, state, next_attempt_at, finished_at)
    select n.event_id, n.merchant_id, n.subject_id, n.sequence,
      case when m.callback_url is null then 'DEAD' else 'PENDING' end,
      greatest(now(), (
        select max(e.next_attempt_at) from delivery e
        where e.subject_id = n.subject_id and e.sequence < n.sequence and e.state = 'PENDING'
          and e.attempts - e.schedule_base between 1 and ${ATTEMPTS_BEFORE_OVERTAKING - 1})),
      case when m.callback_url is null then now() end
    from notification n join merchant m using (merchant_id)
    where n.subject_id = any(${subjectIds}::uuid[])
      and not exists (select from delivery d where d.event_id = n.event_id)
    order by n.subject_id, n.sequence
    on conflict do nothing
    returning event_id`.execute(tx);
  return rows.length;
}

/** What a claim is bounded by. */
export interface ClaimLimits {
  readonly holder: string;
  /** Most deliveries to claim now. */
  readonly limit: number;
  /** So many of them go to whoever is next; the rest only to first attempts at endpoints that are well. */
  readonly openLimit: number;
  /** Most attempts under way at one merchant's endpoint, over all replicas. */
  readonly perEndpoint: number;
  /** After this a claim that was never finished (the process died) is free again; longer than any attempt. */
  readonly leaseMs: number;
}

/** Rows of a merchant that a claim looks at, at most, per attempt that the merchant may have under way. */
const LOOKED_AT_PER_SLOT = 8;

/**
 * Takes due deliveries for one attempt each, in one statement.
 *
 * Fair: every merchant's first delivery comes before anybody's second, what it has under way counted in; first
 * attempts come before retries. The slots beyond `openLimit` are for first attempts at endpoints that have little
 * under way and did not fail within the last minute, so that any number of hanging endpoints leaves room for the
 * others. Cheap: bounded ranges of two indexes per merchant, whatever its backlog.
 *
 * In order: of an order only the oldest that still waits is due; one that failed three attempts and is not under way
 * is overtaken: the claim of a newer one supersedes it in the same statement, so that it can never follow. A claim
 * needs every waiting delivery of its order locked, none of them under way, and its own as it was when it was chosen,
 * so that two replicas can't claim two of one order side by side.
 */
export async function claimDue(db: Db, limits: ClaimLimits): Promise<ClaimedDelivery[]> {
  const { perEndpoint } = limits;
  const lookedAt = perEndpoint * LOOKED_AT_PER_SLOT;
  const fastRank = Math.max(1, Math.floor(perEndpoint / 8));
  const dueOf = (which: typeof TRIED) => sql`
    select d.event_id, d.subject_id, d.attempts, d.next_attempt_at, d.attempts = d.schedule_base as is_first from (
      select * from delivery where merchant_id = p.merchant_id and ${which} and next_attempt_at <= now()
      order by next_attempt_at limit ${lookedAt}
    ) d where ${IS_FREE} order by d.next_attempt_at limit ${perEndpoint}`;
  const { rows } = await sql<ClaimedDelivery>`
    with endpoint as materialized (
      select m.merchant_id, (
        select count(*) from delivery f where f.merchant_id = m.merchant_id and f.lease_until >= now()) as under_way
      from merchant m where m.callback_url is not null
    ), due as (
      select p.merchant_id, d.*, p.under_way + row_number()
        over (partition by p.merchant_id order by d.is_first desc, d.next_attempt_at) as rank
      from endpoint p cross join lateral ((${dueOf(NEVER_TRIED)}) union all (${dueOf(TRIED)})) d
      where p.under_way < ${perEndpoint}
    ), ranked as (
      select *, row_number() over (order by rank, is_first desc, next_attempt_at) as position
      from due where rank <= ${perEndpoint}
    ), candidate as (
      select r.event_id, r.subject_id, r.attempts from ranked r
      where r.position <= ${limits.openLimit} or (r.is_first and r.rank <= ${fastRank} and (
        select event_id from delivery where merchant_id = r.merchant_id and ${TRIED} and lease_until is null
          and next_attempt_at < now() + interval '1 minute' order by next_attempt_at limit 1) is null)
      order by r.position limit ${limits.limit}
    ), locked as (
      select d.event_id, d.subject_id, d.sequence, d.attempts, d.lease_until from delivery d
      where d.subject_id = any(array(select subject_id from candidate)) and d.state = 'PENDING'
      for update skip locked
    ), claim as (
      select distinct on (l.subject_id) l.event_id, l.subject_id, l.sequence
      from locked l join candidate c on c.event_id = l.event_id and c.attempts = l.attempts
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
    from claim c join notification n using (event_id) join merchant m using (merchant_id)
    where d.event_id = c.event_id
    returning d.event_id as "eventId", d.merchant_id as "merchantId", d.subject_id as "subjectId", d.sequence,
      n.notify_type as "notifyType", n.data as "dataText", d.attempts as attempt, d.schedule_base as "scheduleBase",
      m.callback_url as "callbackUrl", m.webhook_secret_sealed as "webhookSecretSealed"`.execute(db);
  return rows;
}

type Held = Pick<ClaimedDelivery, 'eventId' | 'attempt' | 'scheduleBase'>;

/**
 * Records an attempt and what it made of its delivery, if the claim is still this one's. False when it is not: the
 * lease ran out and another attempt, with the same nonce, is under way or done. A delivery replayed meanwhile is due
 * again, unless it succeeded. What waits behind one that is tried again is due with it.
 */
export async function finishAttempt(
  db: Db,
  claim: Held,
  holder: string,
  record: AttemptRecord,
  outcome: DeliveryOutcome,
): Promise<boolean> {
  const retryDelayMs = outcome.state === 'PENDING' ? outcome.retryDelayMs : 0;
  const { rows } = await sql`
    with held as (
      select event_id, schedule_base > ${claim.scheduleBase} and ${outcome.state} <> 'DELIVERED' as replayed
      from delivery
      where event_id = ${claim.eventId} and state = 'PENDING' and lease_holder = ${holder} and attempts = ${claim.attempt}
      for update
    ), finished as (
      update delivery d
      set state = case when h.replayed then 'PENDING' else ${outcome.state} end, lease_until = null, lease_holder = null,
        next_attempt_at = now() + case when h.replayed then 0 else ${retryDelayMs} end * interval '1 millisecond',
        finished_at = case when h.replayed or ${outcome.state} = 'PENDING' then null else now() end
      from held h where d.event_id = h.event_id
      returning d.*
    ), recorded as (
      insert into delivery_attempt (event_id, attempt, started_at, duration_ms, status_code, error, response_excerpt)
      values (${claim.eventId}, ${claim.attempt}, ${record.startedAt}, ${record.durationMs}, ${record.statusCode},
        ${record.error}, ${record.excerpt})
      on conflict do nothing
    ), behind as (
      update delivery d set next_attempt_at = f.next_attempt_at from finished f
      where f.state = 'PENDING' and f.attempts - f.schedule_base < ${ATTEMPTS_BEFORE_OVERTAKING}
        and d.subject_id = f.subject_id and d.sequence > f.sequence and d.state = 'PENDING'
        and d.next_attempt_at < f.next_attempt_at
    )
    select event_id from finished`.execute(db);
  return rows.length === 1;
}

/** Gives a claim back as if it had not been made: its attempt was interrupted by this process, not by the receiver. */
export async function releaseClaim(db: Db, claim: Held, holder: string): Promise<void> {
  await sql`
    update delivery
    set attempts = attempts - 1, schedule_base = least(schedule_base, attempts - 1),
      lease_until = null, lease_holder = null
    where event_id = ${claim.eventId} and state = 'PENDING' and lease_holder = ${holder} and attempts = ${claim.attempt}`.execute(
    db,
  );
}

/** Makes what waits for merchants without a callback URL dead, at most about `limit` a merchant. @returns how many. */
export async function buryUnaddressed(db: Db, limit: number): Promise<number> {
  const some = (which: typeof TRIED) => sql`
    select event_id from delivery where merchant_id = m.merchant_id and ${which}
      and (lease_until is null or lease_until < now()) limit ${limit}`;
  const { rows } = await sql`
    with unaddressed as (
      select d.event_id from merchant m cross join lateral ((${some(NEVER_TRIED)}) union all (${some(TRIED)})) d
      where m.callback_url is null limit ${limit}
    ), locked as (
      select event_id from delivery
      where event_id in (select event_id from unaddressed) and state = 'PENDING'
        and (lease_until is null or lease_until < now())
      for update skip locked
    )
    update delivery d set state = 'DEAD', finished_at = now(), lease_until = null, lease_holder = null
    from locked l where d.event_id = l.event_id
    returning d.event_id`.execute(db);
  return rows.length;
}

/** Seconds that the oldest delivery has waited that nothing but a free slot keeps from being sent; 0 when none does. */
export async function oldestDueSeconds(db: Db): Promise<number> {
  const oldest = (which: typeof TRIED) => sql`
    select d.next_attempt_at from (
      select * from delivery where merchant_id = m.merchant_id and ${which} and next_attempt_at <= now()
    ) d where ${IS_FREE} order by d.next_attempt_at limit 1`;
  const { rows } = await sql<{ seconds: number }>`
    select coalesce(extract(epoch from now() - min(d.next_attempt_at)), 0)::float8 as seconds
    from merchant m cross join lateral ((${oldest(NEVER_TRIED)}) union all (${oldest(TRIED)})) d
    where m.callback_url is not null`.execute(db);
  return rows[0]?.seconds ?? 0;
}

/** How far the sweep over the notifications has come: it goes by (occurred_at, event_id). */
export interface SweepPosition {
  /** Postgres' own text of a timestamptz, which keeps the microseconds. */
  readonly occurredAt: string;
  readonly eventId: string;
}

export interface SweepPage {
  /** Subjects with notifications that nobody queued: their events were lost, or are late. */
  readonly subjectIds: readonly string[];
  /** Where the next page begins; null when this was the last. */
  readonly next: SweepPosition | null;
  /** Time of the database in ISO 8601, for the next sweep's start. */
  readonly now: string;
}

/** Looks at up to `limit` notifications from `from` on. Those younger than `graceMs` are left to their events. */
export async function findUnqueued(
  db: Db,
  from: SweepPosition,
  limit: number,
  graceMs: number,
): Promise<SweepPage> {
  const { rows } = await sql<{
    subject_ids: string[] | null;
    seen: number;
    last: SweepPosition | null;
    now: string;
  }>`
    with page as (
      select event_id, subject_id, occurred_at from notification
      where occurred_at >= ${from.occurredAt}::timestamptz
        and (occurred_at, event_id) > (${from.occurredAt}::timestamptz, ${from.eventId}::uuid)
        and occurred_at <= now() - ${graceMs} * interval '1 millisecond'
      order by occurred_at, event_id limit ${limit}
    )
    select count(*)::int as seen, to_char(now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as now,
      array_agg(distinct p.subject_id) filter (where d.event_id is null) as subject_ids,
      (select json_build_object('occurredAt', occurred_at::text, 'eventId', event_id) from page
        order by occurred_at desc, event_id desc limit 1) as last
    from page p left join delivery d using (event_id)`.execute(db);
  const row = rows[0];
  if (row === undefined) throw new RangeError('an aggregate without a row');
  return { subjectIds: row.subject_ids ?? [], next: row.seen === limit ? row.last : null, now: row.now };
}
