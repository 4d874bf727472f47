import { sql } from 'kysely';
import type { OpsAnswer, OpsInput } from '@opentill/contracts/ops/catalog';
import type { Db } from '@opentill/db/database';
import { dateOf, idsMadeIn } from '../page.ts';

export async function findDeliveries(
  db: Db,
  filter: OpsInput<'listDeliveries'>,
  after: string | undefined,
  limit: number,
) {
  const [from, until] = [dateOf(filter.from), dateOf(filter.until)];
  const ids = idsMadeIn(from, until);
  let query = db
    .selectFrom('delivery as d')
    .innerJoin('notification as n', 'n.event_id', 'd.event_id')
    .leftJoin('orders as o', 'o.order_pk', 'd.subject_id')
    .select([
      'd.event_id as eventId',
      'd.merchant_id as merchantId',
      'o.order_pk as orderPk',
      'o.order_id as orderId',
      'd.sequence',
      'n.notify_type as notifyType',
      'd.state',
      'd.attempts',
      'n.occurred_at as occurredAt',
      sql<Date | null>`case when d.next_attempt_at < 'infinity' and d.state = 'PENDING' then d.next_attempt_at end`.as(
        'nextAttemptAt',
      ),
      'd.finished_at as finishedAt',
    ])
    .orderBy('d.event_id', 'desc')
    .limit(limit);
  if (after !== undefined) query = query.where('d.event_id', '<', after);
  if (filter.merchantId !== undefined) query = query.where('d.merchant_id', '=', filter.merchantId);
  if (filter.state !== undefined) query = query.where('d.state', '=', filter.state);
  if (filter.orderPk !== undefined) query = query.where('d.subject_id', '=', filter.orderPk);
  if (filter.orderId !== undefined)
    query = query.where(matchesOrderId(filter.orderId, filter.merchantId, 'd'));
  if (from !== undefined) query = query.where('n.occurred_at', '>=', from);
  if (until !== undefined) query = query.where('n.occurred_at', '<', until);
  if (ids.from !== undefined) query = query.where('d.event_id', '>=', ids.from);
  if (ids.until !== undefined) query = query.where('d.event_id', '<', ids.until);
  return query.execute();
}

function matchesOrderId(orderId: string, merchantId: string | undefined, table: 'd' | 'n') {
  return sql<boolean>`${sql.ref(`${table}.subject_id`)} in (
    select order_pk from orders where (merchant_id, order_id) in (
      select merchant_id, ${orderId} from merchant
      where ${merchantId ?? null}::text is null or merchant_id = ${merchantId ?? null}))`;
}

/** PENDING callbacks are sent anyway. */
export type ReplayableState = 'DEAD' | 'DELIVERED' | 'SUPERSEDED';

export interface CallbackChoice {
  readonly merchantId: string | undefined;
  readonly orderId: string | undefined;
  /** `since` is inclusive, `until` exclusive. */
  readonly since: Date | undefined;
  readonly until: Date | undefined;
  readonly states: readonly ReplayableState[];
}

export interface ReplayPosition {
  /** Postgres' own text, which keeps microseconds. */
  readonly occurredAt: string;
  readonly eventId: string;
}

const START: ReplayPosition = { occurredAt: '-infinity', eventId: '00000000-0000-0000-0000-000000000000' };

export async function chooseCallbacks(
  db: Db,
  choice: CallbackChoice,
  after: ReplayPosition = START,
  limit: number,
): Promise<ReplayPosition[]> {
  return selectCallbacks(db, choice)
    .select(['n.event_id as eventId', sql<string>`n.occurred_at::text`.as('occurredAt')])
    .where(
      sql<boolean>`(n.occurred_at, n.event_id) > (${after.occurredAt}::timestamptz, ${after.eventId}::uuid)`,
    )
    .orderBy('n.occurred_at')
    .orderBy('n.event_id')
    .limit(limit)
    .execute();
}

export async function countChosen(db: Db, choice: CallbackChoice) {
  return selectCallbacks(db, choice)
    .select(['d.state', sql<number>`count(*)::int`.as('count')])
    .groupBy('d.state')
    .orderBy('d.state')
    .execute();
}

function selectCallbacks(db: Db, { merchantId, orderId, since, until, states }: CallbackChoice) {
  let query = db
    .selectFrom('notification as n')
    .innerJoin('delivery as d', 'd.event_id', 'n.event_id')
    .where('d.state', 'in', [...states]);
  if (merchantId !== undefined) query = query.where('d.merchant_id', '=', merchantId);
  if (since !== undefined) query = query.where('n.occurred_at', '>=', since);
  if (until !== undefined) query = query.where('n.occurred_at', '<', until);
  if (orderId !== undefined) query = query.where(matchesOrderId(orderId, merchantId, 'n'));
  return query;
}

/** See libs/db/schema/0001-baseline/16-callbacks.sql. */
export type ReplayOutcome = 'REPLAYED' | 'WAITING' | 'OTHER_STATE' | 'NEWER_SENT' | 'NO_ENDPOINT';

/** One statement; at most 1 000 callbacks. */
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

/** Works in any state; false if the event has no delivery. */
export async function replayDelivery(db: Db, eventId: string): Promise<boolean> {
  const { rows } = await sql<{
    replayed: boolean;
  }>`select replay_delivery(${eventId}::uuid) as replayed`.execute(db);
  return rows[0]?.replayed ?? false;
}

type Endpoint = OpsAnswer<'listCallbackEndpoints'>;
const DATES = ['openedAt', 'probeAt', 'disabledAt', 'lastFailedAt'] as const;
export type EndpointRow = Omit<Endpoint, (typeof DATES)[number]> & {
  readonly [K in (typeof DATES)[number]]: Date | null;
};

export async function findEndpoints(
  db: Db,
  merchantId: string | undefined,
  after: string | undefined,
  limit: number,
): Promise<EndpointRow[]> {
  const { rows } = await sql<EndpointRow>`
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
    where (${merchantId ?? null}::text is null or m.merchant_id = ${merchantId ?? null})
      and m.merchant_id > ${after ?? ''}
    order by m.merchant_id limit ${limit}`.execute(db);
  return rows;
}

export async function enableEndpoint(db: Db, merchantId: string): Promise<boolean> {
  const { rows } = await sql`
    select reset_callback_endpoint(merchant_id) from merchant where merchant_id = ${merchantId}`.execute(db);
  return rows.length > 0;
}

export async function notificationsOf(db: Db, orderPk: string, limit: number) {
  return db
    .selectFrom('notification as n')
    .leftJoin('delivery as d', 'd.event_id', 'n.event_id')
    .select([
      'n.event_id as eventId',
      'n.sequence',
      'n.notify_type as notifyType',
      'n.occurred_at as occurredAt',
      'd.state',
      'd.attempts',
      sql<Date | null>`case when d.next_attempt_at < 'infinity' and d.state = 'PENDING' then d.next_attempt_at end`.as(
        'nextAttemptAt',
      ),
      'd.finished_at as finishedAt',
    ])
    .where('n.subject_id', '=', orderPk)
    .orderBy('n.sequence')
    .limit(limit)
    .execute();
}

export async function attemptsAt(db: Db, eventIds: readonly string[], limit: number) {
  if (eventIds.length === 0) return [];
  return db
    .selectFrom('delivery_attempt')
    .select([
      'event_id as eventId',
      'attempt',
      'started_at as startedAt',
      'duration_ms as durationMs',
      'status_code as statusCode',
      'error_code as errorCode',
      'error',
      'response_excerpt as excerpt',
    ])
    .where('event_id', 'in', eventIds)
    .orderBy('event_id')
    .orderBy('attempt')
    .limit(limit)
    .execute();
}
