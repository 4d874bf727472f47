import { sql } from 'kysely';
import type { Db } from '@opentill/db/database';

/** States of deliveries that a replay may choose; what is PENDING goes out by itself. */
export const REPLAYABLE_STATES = ['DEAD', 'DELIVERED', 'SUPERSEDED'] as const;
export type ReplayableState = (typeof REPLAYABLE_STATES)[number];

/** Which callbacks a replay means. */
export interface CallbackChoice {
  readonly merchantId: string | undefined;
  readonly orderId: string | undefined;
  /** By when it happened: from here on, and before. */
  readonly since: Date | undefined;
  readonly until: Date | undefined;
  readonly states: readonly ReplayableState[];
}

/** How far a replay has come. */
export interface ReplayPosition {
  /** Postgres' own text of a timestamptz, which keeps the microseconds. */
  readonly occurredAt: string;
  readonly eventId: string;
}

const START: ReplayPosition = { occurredAt: '-infinity', eventId: '00000000-0000-0000-0000-000000000000' };

/** The callbacks of a choice, oldest first, from a position on. */
export async function chooseCallbacks(
  db: Db,
  choice: CallbackChoice,
  after: ReplayPosition = START,
  limit: number,
): Promise<ReplayPosition[]> {
  return chosen(db, choice)
    .select(['n.event_id as eventId', sql<string>`n.occurred_at::text`.as('occurredAt')])
    .where(
      sql<boolean>`(n.occurred_at, n.event_id) > (${after.occurredAt}::timestamptz, ${after.eventId}::uuid)`,
    )
    .orderBy('n.occurred_at')
    .orderBy('n.event_id')
    .limit(limit)
    .execute();
}

/** How many callbacks a choice has, by state. */
export async function countChosen(
  db: Db,
  choice: CallbackChoice,
): Promise<readonly { readonly state: string; readonly count: number }[]> {
  return chosen(db, choice)
    .select(['d.state', sql<number>`count(*)::int`.as('count')])
    .groupBy('d.state')
    .orderBy('d.state')
    .execute();
}

function chosen(db: Db, { merchantId, orderId, since, until, states }: CallbackChoice) {
  let query = db
    .selectFrom('notification as n')
    .innerJoin('delivery as d', 'd.event_id', 'n.event_id')
    .where('d.state', 'in', [...states]);
  if (merchantId !== undefined) query = query.where('d.merchant_id', '=', merchantId);
  if (since !== undefined) query = query.where('n.occurred_at', '>=', since);
  if (until !== undefined) query = query.where('n.occurred_at', '<', until);
  if (orderId !== undefined) {
    query = query.where('n.subject_id', 'in', (eb) =>
      eb
        .selectFrom('orders as o')
        .select('o.order_pk')
        .where('o.order_id', '=', orderId)
        .$if(merchantId !== undefined, (orders) => orders.where('o.merchant_id', '=', merchantId ?? '')),
    );
  }
  return query;
}

/** What `replay_deliveries` says of each callback (its words are in the migration 0003-callbacks). */
export type ReplayOutcome = 'REPLAYED' | 'WAITING' | 'OTHER_STATE' | 'NEWER_SENT' | 'NO_ENDPOINT';

/** Makes callbacks of a choice due again, together; at most 1 000. */
export async function replayCallbacks(
  db: Db,
  eventIds: readonly string[],
  { states, since, until }: CallbackChoice,
): Promise<ReplayOutcome[]> {
  const { rows } = await sql<{ outcome: ReplayOutcome }>`
    select outcome from replay_deliveries(${[...eventIds]}::uuid[], ${[...states]}::text[],
      coalesce(${since ?? null}::timestamptz, '-infinity'), coalesce(${until ?? null}::timestamptz, 'infinity'))`.execute(
    db,
  );
  return rows.map((row) => row.outcome);
}

/** A merchant's callbacks and endpoint, as `webhook status` shows them. */
export interface CallbackStatus {
  readonly merchantId: string;
  readonly callbackUrl: string | null;
  readonly state: 'CLOSED' | 'OPEN' | 'DISABLED';
  readonly openedAt: Date | null;
  readonly probeAt: Date | null;
  readonly failuresInRow: number;
  readonly disabledAt: Date | null;
  readonly disabledReason: string | null;
  readonly lastFailedAt: Date | null;
  readonly lastErrorCode: string | null;
  readonly lastError: string | null;
  readonly waiting: number;
  /** Seconds since the oldest that waits was queued. */
  readonly oldestSeconds: number | null;
  readonly dead: number;
}

/** One merchant's status, or everybody's. */
export async function callbackStatus(db: Db, merchantId: string | undefined): Promise<CallbackStatus[]> {
  const { rows } = await sql<CallbackStatus>`
    select m.merchant_id as "merchantId", m.callback_url as "callbackUrl", coalesce(e.state, 'CLOSED') as state,
      e.opened_at as "openedAt", e.probe_at as "probeAt", coalesce(e.failures_in_row, 0) as "failuresInRow",
      e.disabled_at as "disabledAt", e.disabled_reason as "disabledReason", e.last_failed_at as "lastFailedAt",
      e.last_error_code as "lastErrorCode", e.last_error as "lastError", w.waiting, w.oldest as "oldestSeconds", d.dead
    from merchant m left join callback_endpoint e using (merchant_id)
    cross join lateral (
      select count(*)::int as waiting, extract(epoch from now() - min(created_at))::float8 as oldest from (
        (select created_at from delivery where merchant_id = m.merchant_id and state = 'PENDING' and attempts = schedule_base)
        union all
        (select created_at from delivery where merchant_id = m.merchant_id and state = 'PENDING' and attempts > schedule_base)
      ) pending
    ) w
    cross join lateral (select count(*)::int as dead from delivery where merchant_id = m.merchant_id and state = 'DEAD') d
    where ${merchantId ?? null}::text is null or m.merchant_id = ${merchantId ?? null}
    order by m.merchant_id`.execute(db);
  return rows;
}

/** Forgets what is known against a merchant's endpoint; false when there is no such merchant. */
export async function enableEndpoint(db: Db, merchantId: string): Promise<boolean> {
  const { rows } = await sql`
    select reset_callback_endpoint(merchant_id) from merchant where merchant_id = ${merchantId}`.execute(db);
  return rows.length > 0;
}

/** An attempt at a callback of an order. */
export interface ShownAttempt {
  readonly sequence: number;
  readonly notifyType: string;
  readonly eventId: string;
  readonly state: string | null;
  readonly attempt: number | null;
  readonly startedAt: Date | null;
  readonly durationMs: number | null;
  readonly statusCode: number | null;
  readonly errorCode: string | null;
  readonly error: string | null;
  readonly excerpt: string | null;
}

/** Every callback of an order with its attempts, oldest first; one row for a callback without any. */
export async function attemptsOfOrder(db: Db, merchantId: string, orderId: string): Promise<ShownAttempt[]> {
  return db
    .selectFrom('orders as o')
    .innerJoin('notification as n', 'n.subject_id', 'o.order_pk')
    .leftJoin('delivery as d', 'd.event_id', 'n.event_id')
    .leftJoin('delivery_attempt as a', 'a.event_id', 'n.event_id')
    .select([
      'n.sequence',
      'n.notify_type as notifyType',
      'n.event_id as eventId',
      'd.state',
      'a.attempt',
      'a.started_at as startedAt',
      'a.duration_ms as durationMs',
      'a.status_code as statusCode',
      'a.error_code as errorCode',
      'a.error',
      'a.response_excerpt as excerpt',
    ])
    .where('o.merchant_id', '=', merchantId)
    .where('o.order_id', '=', orderId)
    .orderBy('n.sequence')
    .orderBy('a.attempt')
    .limit(1_000)
    .execute();
}
