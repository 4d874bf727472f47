import { sql } from 'kysely';
import type { Db } from '@opentill/db/database';
import {
  blocks,
  IS_FREE,
  merchantsDue,
  NEVER_TRIED,
  PUT_ASIDE,
  TRIED,
  isUnmatchedReport,
} from './delivery-rules.ts';

export interface ClaimedDelivery {
  readonly eventId: string;
  readonly merchantId: string;
  readonly subjectId: string;
  readonly sequence: number;
  readonly notifyType: string;
  readonly dataText: string;
  /** W3C. */
  readonly traceparent: string | null;
  /** From 1, including all replays. */
  readonly attempt: number;
  /** Attempts before the last replay. The schedule counts from there. */
  readonly scheduleBase: number;
  readonly callbackUrl: string;
  /** Results for an older generation of the endpoint are ignored. */
  readonly generation: number;
  /** The single attempt at an open endpoint that decides whether it closes. */
  readonly isProbe: boolean;
  readonly wasLost: boolean;
  /** Still sealed, so that an unreadable secret costs only its own merchant an attempt. */
  readonly webhookSecretSealed: Buffer;
  readonly nextWebhookSecretSealed: Buffer | null;
}

export interface ClaimLimits {
  readonly holder: string;
  readonly limit: number;
  /** Part of `limit` that is open to all deliveries. The rest is only for first attempts at healthy endpoints. */
  readonly openLimit: number;
  readonly probeLimit: number;
  /** Running attempts at one merchant's endpoint, over all replicas. */
  readonly perEndpoint: number;
  /** An unfinished claim whose process died expires after this. Must be longer than any attempt. */
  readonly leaseMs: number;
}

/** Rows of a merchant that a claim reads, per attempt that the merchant may have running. */
const LOOKED_AT_PER_SLOT = 8;
/** Consecutive claims that found only deliveries to put aside. */
const CROWDED_MAX = 50;
/** More claims lost with their process count as failures: the delivery may crash it. */
const LOST_CLAIMS_MAX = 10;

/**
 * Claims due deliveries for one attempt each, in one statement.
 *
 * Fairness: every merchant's first delivery comes before any merchant's second, including running attempts. First
 * attempts come before retries. The slots beyond `openLimit` are for first attempts at endpoints without a running
 * attempt whose last attempt succeeded. So failing and slow endpoints leave slots for the others.
 *
 * Cost: bounded ranges of two indexes per merchant, regardless of its backlog. A range may be full of deliveries that
 * wait behind others of their order and hide sendable ones. These are put aside until a trigger finds that no older
 * delivery blocks them.
 *
 * Breaker: deliveries of open and disabled endpoints are not read. When a probe is due, one delivery is claimed, by the
 * replica that locks the endpoint's row and moves `probe_at`.
 *
 * Order: only the oldest waiting delivery of an order is due. A delivery with three failed attempts that is not running
 * is overtaken: the claim of a newer one supersedes it in the same statement, so that it can never follow. An
 * ORDER_UNMATCHED changes no status, so it supersedes only its own kind, and only its own kind supersedes it.
 *
 * Locking: a claim locks every waiting delivery of its order. None of them may be running, and its own must be
 * unchanged since it was chosen. So two replicas cannot claim two deliveries of one order, and a replay of an older one
 * is not missed. Putting aside needs no lock: an older delivery that blocks is waiting, and the trigger sees when it
 * stops.
 */
export async function claimDue(db: Db, limits: ClaimLimits): Promise<ClaimedDelivery[]> {
  for (let round = 1; ; round += 1) {
    const { claims, putAside } = await claimOnce(db, limits);
    if (claims.length > 0 || putAside === 0 || round === CROWDED_MAX) return claims;
  }
}

interface Aside {
  readonly aside: number;
}

async function claimOnce(
  db: Db,
  limits: ClaimLimits,
): Promise<{ readonly claims: ClaimedDelivery[]; readonly putAside: number }> {
  const { rows } = await sql<(ClaimedDelivery & Aside) | ({ readonly eventId: null } & Aside)>`
    with recursive ${candidatesOf(limits)}, locked as (
      select d.event_id, d.subject_id, d.sequence, d.attempts, d.schedule_base, d.next_attempt_at, d.lease_until
      from delivery d
      where d.subject_id = any(array(select subject_id from candidate union select subject_id from crowd))
        and d.state = 'PENDING' and d.next_attempt_at < ${PUT_ASIDE}
      for update skip locked
    ), free as (
      select distinct on (l.subject_id) l.event_id, l.subject_id, l.sequence, l.attempts, c.merchant_id, c.is_open,
        l.lease_until is not null as was_lost
      from locked l join candidate c
        on c.event_id = l.event_id and c.attempts = l.attempts and c.next_attempt_at = l.next_attempt_at
      where (select count(*) from locked k where k.subject_id = l.subject_id and (k.lease_until is null or k.lease_until < now()))
        = (select count(*) from delivery e where e.subject_id = l.subject_id and e.state = 'PENDING'
          and e.next_attempt_at < ${PUT_ASIDE})
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
        and ${isUnmatchedReport(sql`d.event_id`)} = ${isUnmatchedReport(sql`c.event_id`)}
    ), blocking as (
      select l.subject_id, min(l.sequence) as sequence from locked l where ${blocks('l')} group by 1
    ), put_aside as (
      update delivery d set next_attempt_at = ${PUT_ASIDE}
      from locked l join blocking b using (subject_id)
      where d.event_id = l.event_id and l.event_id in (select event_id from crowd)
        and l.event_id not in (select event_id from claim)
        and b.sequence < l.sequence and (l.lease_until is null or l.lease_until < now())
      returning 1
    ), claimed as (
    update delivery d
    set attempts = d.attempts + 1, lease_holder = ${limits.holder},
      lease_until = now() + ${limits.leaseMs} * interval '1 millisecond',
      schedule_base = d.schedule_base + case when d.lease_until is not null and d.attempts
        - (select count(*) from delivery_attempt a where a.event_id = d.event_id) <= ${LOST_CLAIMS_MAX} then 1 else 0 end
    from claim c join notification n on n.event_id = c.event_id join merchant m on m.merchant_id = c.merchant_id
      left join callback_endpoint e on e.merchant_id = c.merchant_id
    where d.event_id = c.event_id
    returning d.event_id as "eventId", d.merchant_id as "merchantId", d.subject_id as "subjectId", d.sequence,
      n.notify_type as "notifyType", n.data as "dataText", n.traceparent, d.attempts as attempt, d.schedule_base as "scheduleBase",
      m.callback_url as "callbackUrl", coalesce(e.generation, 0) as generation, c.is_open as "isProbe", c.was_lost as "wasLost",
      case when m.webhook_secret_switch_at <= now() then m.webhook_secret_next_sealed else m.webhook_secret_sealed end
        as "webhookSecretSealed",
      case when m.webhook_secret_switch_at > now() then m.webhook_secret_next_sealed end as "nextWebhookSecretSealed"
    )
    select c.*, a.aside from (select count(*)::int as aside from put_aside) a left join claimed c on true`.execute(
    db,
  );
  const claims = rows.filter((row): row is ClaimedDelivery & Aside => row.eventId !== null);
  return { claims, putAside: rows[0]?.aside ?? 0 };
}

/** From the statement's snapshot. Locks decide which candidates are claimed. The crowd may hide others. */
function candidatesOf({ perEndpoint, limit, openLimit, probeLimit }: ClaimLimits) {
  // Reads twice a merchant's share of the slots (`of_use`). Other merchants and the next claim cover the rest.
  const lookedAt = perEndpoint * LOOKED_AT_PER_SLOT;
  const fastPlace = Math.max(1, Math.floor(perEndpoint / 8));
  const rangeOf = (which: typeof TRIED) => sql`
    from delivery where merchant_id = p.merchant_id and ${which} and next_attempt_at <= now() order by next_attempt_at`;
  const dueOf = (which: typeof TRIED) => sql`
    select d.event_id, d.subject_id, d.attempts, d.next_attempt_at, d.attempts = d.schedule_base as is_first
    from (select * ${rangeOf(which)} limit ${lookedAt}) d
    where ${IS_FREE} order by d.next_attempt_at limit (select count from of_use)`;
  const crowdOf = (which: typeof TRIED) => sql`
    select d.event_id, d.subject_id from full_range p left join found f using (merchant_id, is_first)
      cross join lateral (select event_id, subject_id ${rangeOf(which)} limit ${lookedAt}) d
    where p.is_first = ${which === NEVER_TRIED} and coalesce(f.count, 0) < (select count from of_use)`;
  const isFull = (which: typeof TRIED) => sql`exists (select ${rangeOf(which)} offset ${lookedAt - 1})`;
  return sql`
    ${merchantsDue('due_first', NEVER_TRIED)}, ${merchantsDue('due_again', TRIED)},
    endpoint as materialized (
      select m.merchant_id, coalesce(e.state = 'OPEN', false) as is_open, coalesce(e.failures_in_row, 0) = 0 as is_well, (
        select count(*) from delivery f where f.merchant_id = m.merchant_id and f.lease_until >= now()) as under_way
      from (table due_first union table due_again) d join merchant m using (merchant_id)
        left join callback_endpoint e using (merchant_id)
      where m.callback_url is not null
        and (e.state is null or e.state = 'CLOSED' or (e.state = 'OPEN' and e.probe_at <= now()))
    ), eligible as materialized (
      select *, is_well and under_way = 0 and not is_open as is_quick from endpoint
      where (is_open or under_way < ${perEndpoint}) and (${openLimit}::int > 0 or (is_well and under_way = 0 and not is_open))
    ), of_use as materialized (
      select greatest(1, least(${perEndpoint}::int, ceil(2.0 * ${limit}::int / greatest(count(*), 1))))::int as count from eligible
    ), due as (
      select p.merchant_id, p.is_open, p.is_quick, d.*, row_number() over own as place,
        p.under_way + row_number() over own as rank
      from eligible p cross join lateral ((${dueOf(NEVER_TRIED)}) union all (${dueOf(TRIED)})) d
      window own as (partition by p.merchant_id order by d.is_first desc, d.next_attempt_at)
    ), allowed as (
      select *, row_number() over (partition by is_open order by rank, is_first desc, next_attempt_at) as turn
      from due where case when is_open then place = 1 else rank <= ${perEndpoint} end
    ), ranked as (
      select *, row_number() over (order by rank, is_first desc, next_attempt_at) as position
      from allowed where not is_open or turn <= ${probeLimit}
    ), candidate as (
      select event_id, subject_id, attempts, next_attempt_at, merchant_id, is_open from ranked
      where position <= ${openLimit} or (is_first and is_quick and place <= ${fastPlace})
      order by position limit ${limit}
    ), found as (
      select merchant_id, is_first, count(*) as count from due group by 1, 2
    ), full_range as (
      select merchant_id, true as is_first from eligible p where ${isFull(NEVER_TRIED)}
      union all select merchant_id, false from eligible p where ${isFull(TRIED)}
    ), crowd as (${crowdOf(NEVER_TRIED)} union all ${crowdOf(TRIED)})`;
}
