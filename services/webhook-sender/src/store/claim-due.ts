import { sql } from 'kysely';
import type { Db } from '@opentill/db/database';
import { IS_FREE, NEVER_TRIED, TRIED } from './delivery-rules.ts';

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
  /** Of the endpoint: an attempt says nothing about it once it was set anew. */
  readonly generation: number;
  /** The one attempt at an open endpoint, which decides whether it closes. */
  readonly isProbe: boolean;
  /** Still sealed, so that one that can't be opened costs its own merchant an attempt and nobody else anything. */
  readonly webhookSecretSealed: Buffer;
  /** While two secrets overlap, the one to come. */
  readonly nextWebhookSecretSealed: Buffer | null;
}

/** What a claim is bounded by. */
export interface ClaimLimits {
  readonly holder: string;
  /** Most deliveries to claim now. */
  readonly limit: number;
  /** So many of them go to whoever is next; the rest only to first attempts at endpoints that are well. */
  readonly openLimit: number;
  /** Most of them that may be probes of open endpoints. */
  readonly probeLimit: number;
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
 * under way and whose last attempt succeeded, so that endpoints that fail leave room for the others. Cheap: bounded
 * ranges of two indexes per merchant, whatever its backlog.
 *
 * What waits for an open endpoint is not looked at, nor what waits for a disabled one. When a probe is due one delivery
 * is taken, by the replica that gets the endpoint's row and moves `probe_at` on.
 *
 * In order: of an order only the oldest that still waits is due; one that failed three attempts and is not under way
 * is overtaken: the claim of a newer one supersedes it in the same statement, so that it can never follow. A claim
 * needs every waiting delivery of its order locked, none of them under way, and its own as it was when it was chosen,
 * so that two replicas can't claim two of one order side by side, and a replay of an older one is not overlooked.
 */
export async function claimDue(db: Db, limits: ClaimLimits): Promise<ClaimedDelivery[]> {
  const { rows } = await sql<ClaimedDelivery>`
    with ${candidatesOf(limits)}, locked as (
      select d.event_id, d.subject_id, d.sequence, d.attempts, d.next_attempt_at, d.lease_until from delivery d
      where d.subject_id = any(array(select subject_id from candidate)) and d.state = 'PENDING'
      for update skip locked
    ), free as (
      select distinct on (l.subject_id) l.event_id, l.subject_id, l.sequence, l.attempts, c.merchant_id, c.is_open
      from locked l join candidate c
        on c.event_id = l.event_id and c.attempts = l.attempts and c.next_attempt_at = l.next_attempt_at
      where (select count(*) from locked k where k.subject_id = l.subject_id and (k.lease_until is null or k.lease_until < now()))
        = (select count(*) from delivery e where e.subject_id = l.subject_id and e.state = 'PENDING')
      order by l.subject_id, l.sequence desc
    ), probed as (
      select merchant_id from callback_endpoint
      where merchant_id = any(array(select merchant_id from free where is_open)) and state = 'OPEN' and probe_at <= now()
      for update skip locked
    ), claim as (
      select * from free where not is_open or merchant_id in (select merchant_id from probed)
    ), probing as (
      update callback_endpoint e
      set probe_at = now() + ${limits.leaseMs} * interval '1 millisecond', probe_event_id = c.event_id,
        probe_attempt = c.attempts + 1, updated_at = now()
      from claim c where c.is_open and e.merchant_id = c.merchant_id
    ), superseded as (
      update delivery d set state = 'SUPERSEDED', finished_at = now(), lease_until = null, lease_holder = null
      from claim c
      where d.subject_id = c.subject_id and d.sequence < c.sequence and d.state = 'PENDING'
    )
    update delivery d
    set attempts = d.attempts + 1, lease_holder = ${limits.holder},
      lease_until = now() + ${limits.leaseMs} * interval '1 millisecond'
    from claim c join notification n on n.event_id = c.event_id join merchant m on m.merchant_id = c.merchant_id
      left join callback_endpoint e on e.merchant_id = c.merchant_id
    where d.event_id = c.event_id
    returning d.event_id as "eventId", d.merchant_id as "merchantId", d.subject_id as "subjectId", d.sequence,
      n.notify_type as "notifyType", n.data as "dataText", d.attempts as attempt, d.schedule_base as "scheduleBase",
      m.callback_url as "callbackUrl", coalesce(e.generation, 0) as generation, c.is_open as "isProbe",
      case when m.webhook_secret_switch_at <= now() then m.webhook_secret_next_sealed else m.webhook_secret_sealed end
        as "webhookSecretSealed",
      case when m.webhook_secret_switch_at > now() then m.webhook_secret_next_sealed end as "nextWebhookSecretSealed"`.execute(
    db,
  );
  return rows;
}

/** The deliveries to claim, chosen by what the statement's snapshot shows; locks decide which of them are taken. */
function candidatesOf({ perEndpoint, limit, openLimit, probeLimit }: ClaimLimits) {
  const lookedAt = perEndpoint * LOOKED_AT_PER_SLOT;
  const fastRank = Math.max(1, Math.floor(perEndpoint / 8));
  const dueOf = (which: typeof TRIED) => sql`
    select d.event_id, d.subject_id, d.attempts, d.next_attempt_at, d.attempts = d.schedule_base as is_first from (
      select * from delivery where merchant_id = p.merchant_id and ${which} and next_attempt_at <= now()
      order by next_attempt_at limit ${lookedAt}
    ) d where ${IS_FREE} order by d.next_attempt_at limit ${perEndpoint}`;
  return sql`
    endpoint as materialized (
      select m.merchant_id, coalesce(e.state = 'OPEN', false) as is_open, coalesce(e.failures_in_row, 0) = 0 as is_well, (
        select count(*) from delivery f where f.merchant_id = m.merchant_id and f.lease_until >= now()) as under_way
      from merchant m left join callback_endpoint e using (merchant_id)
      where m.callback_url is not null
        and (e.state is null or e.state = 'CLOSED' or (e.state = 'OPEN' and e.probe_at <= now()))
    ), due as (
      select p.merchant_id, p.is_open, p.is_well, d.*, row_number() over own as place,
        p.under_way + row_number() over own as rank
      from endpoint p cross join lateral ((${dueOf(NEVER_TRIED)}) union all (${dueOf(TRIED)})) d
      where p.is_open or p.under_way < ${perEndpoint}
      window own as (partition by p.merchant_id order by d.is_first desc, d.next_attempt_at)
    ), allowed as (
      select *, row_number() over (partition by is_open order by rank, is_first desc, next_attempt_at) as turn
      from due where case when is_open then place = 1 else rank <= ${perEndpoint} end
    ), ranked as (
      select *, row_number() over (order by rank, is_first desc, next_attempt_at) as position
      from allowed where not is_open or turn <= ${probeLimit}
    ), candidate as (
      select event_id, subject_id, attempts, next_attempt_at, merchant_id, is_open from ranked
      where position <= ${openLimit} or (is_first and is_well and not is_open and rank <= ${fastRank})
      order by position limit ${limit}
    )`;
}
