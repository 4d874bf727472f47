import { sql } from 'kysely';
import { MOVES_PER_EVENT } from '@opentill/contracts/event-catalog';
import { newEvent, outboxInsert, type OutboxEvent } from '@opentill/db/outbox';
import type { Tx } from '@opentill/db/database';
import type { OrderOutcome } from './order-rows.ts';

export interface SaveDeps {
  readonly newId: () => string;
  readonly clock: { now(): Date };
}

/**
 * Two statements for any number of orders. The ledger comes last, because its accounts are shared by all orders of an
 * asset and stay locked until commit.
 */
export async function saveOutcomes(tx: Tx, deps: SaveDeps, outcomes: readonly OrderOutcome[]): Promise<void> {
  const now = deps.clock.now();
  await saveRows(tx, outcomes, now, changesOf(outcomes, { newId: deps.newId, clock: { now: () => now } }));
  if (outcomes.some((outcome) => outcome.entries.length > 0)) await postEntries(tx, outcomes);
}

function changesOf(outcomes: readonly OrderOutcome[], at: SaveDeps): OutboxEvent[] {
  const notified = outcomes.filter(({ notifications }) => notifications.length > 0);
  const traceparent = notified.length === 1 ? notified[0]?.span?.traceparent : undefined;
  const moves = notified.flatMap(({ order, notifications }) =>
    notifications.map(({ eventId }) => ({ orderPk: order.orderPk, eventId })),
  );
  const events = [];
  for (let i = 0; i < moves.length; i += MOVES_PER_EVENT) {
    const event = newEvent('order.changed', '_', { moves: moves.slice(i, i + MOVES_PER_EVENT) }, at);
    events.push({ ...event, traceparent });
  }
  return events;
}

/** Amounts are JSON strings, because JSON numbers lose precision. */
function rowsOf(outcomes: readonly OrderOutcome[]): string {
  const each = <T>(rows: (outcome: OrderOutcome) => readonly T[]) =>
    outcomes.flatMap((outcome) =>
      rows(outcome).map((row) => ({
        orderPk: outcome.order.orderPk,
        merchantId: outcome.order.merchantId,
        traceparent: outcome.span?.traceparent,
        ...row,
      })),
    );
  return JSON.stringify(
    {
      moved: each(({ moved }) => (moved === null ? [] : [moved])),
      notifications: each((outcome) => outcome.notifications),
      settlements: each((outcome) => outcome.settlements),
      unmatched: each((outcome) => [...outcome.unmatched, ...outcome.reported]),
      incidents: each((outcome) => outcome.incidents),
      creditedAgain: each((outcome) => outcome.creditedAgain),
    },
    (_, value: unknown) => (typeof value === 'bigint' ? value.toString() : value),
  );
}

async function saveRows(
  tx: Tx,
  outcomes: readonly OrderOutcome[],
  now: Date,
  events: readonly OutboxEvent[],
): Promise<void> {
  const rows = rowsOf(outcomes);
  await sql`
    with given as (select ${rows}::jsonb as rows, ${now}::timestamptz as at),
    moved as (
      update orders o set status = r.status, reason = r.reason, detected_amount = r."detectedAmount",
        actual_amount = r."actualAmount", version = o.version + r.steps, updated_at = g.at,
        late_callback_at = r."lateCallbackAt", late_callback_due_at = r."lateCallbackDueAt",
        unmatched_callback_at = r."unmatchedCallbackAt", unmatched_callback_due_at = r."unmatchedCallbackDueAt"
      from given g, jsonb_to_recordset(g.rows -> 'moved') as r ("orderPk" uuid, status text, reason text,
        "detectedAmount" numeric, "actualAmount" numeric, steps integer, "lateCallbackAt" timestamptz, "lateCallbackDueAt" timestamptz,
        "unmatchedCallbackAt" timestamptz, "unmatchedCallbackDueAt" timestamptz)
      where o.order_pk = r."orderPk"
    ), notified as (
      insert into notification (event_id, merchant_id, subject_id, sequence, notify_type, data, traceparent, occurred_at)
      select r."eventId", r."merchantId", r."orderPk", r.sequence, r."notifyType", r.data, r.traceparent, g.at
      from given g, jsonb_to_recordset(g.rows -> 'notifications') as r ("eventId" uuid, "merchantId" text,
        "orderPk" uuid, sequence integer, "notifyType" text, data text, traceparent text)
    ), settled as (
      insert into transfer_settlement (transfer_id, settled_version, order_pk, booked_amount, booked_symbol, bookings,
        credited, updated_at)
      select r."transferId", r."settledVersion", r."orderPk", r."bookedAmount", r."bookedSymbol", r.bookings, r.credited, g.at
      from given g, jsonb_to_recordset(g.rows -> 'settlements') as r ("transferId" bigint, "settledVersion" integer,
        "orderPk" uuid, "bookedAmount" numeric, "bookedSymbol" text, bookings integer, credited boolean)
      on conflict (transfer_id) do update set settled_version = excluded.settled_version, order_pk = excluded.order_pk,
        booked_amount = excluded.booked_amount, booked_symbol = excluded.booked_symbol, bookings = excluded.bookings,
        credited = excluded.credited, updated_at = excluded.updated_at
    ), unmatched as (
      insert into unmatched_deposit (transfer_id, merchant_id, order_pk, reason, withdrawn, dust, reported, created_at, updated_at)
      select r."transferId", r."merchantId", r."orderPk", r.reason, r.withdrawn, r.dust, r.reported, g.at, g.at
      from given g, jsonb_to_recordset(g.rows -> 'unmatched') as r ("transferId" bigint, "merchantId" text,
        "orderPk" uuid, reason text, withdrawn boolean, dust boolean, reported boolean)
      on conflict (transfer_id) do update set merchant_id = excluded.merchant_id, order_pk = excluded.order_pk,
        reason = excluded.reason, withdrawn = excluded.withdrawn, dust = excluded.dust, reported = excluded.reported,
        updated_at = excluded.updated_at
    ), incidents as (
      insert into incident (incident_id, kind, chain, symbol, order_pk, transfer_id, details, opened_at)
      select r."incidentId", r.kind, r.chain, r.symbol, r."orderPk", r."transferId", r.details, g.at
      from given g, jsonb_to_recordset(g.rows -> 'incidents') as r ("incidentId" uuid, kind text, chain text, symbol text,
        "orderPk" uuid, "transferId" bigint, details jsonb)
    ), holds as (
      insert into asset_hold (hold_id, chain, symbol, incident_id, reason, set_at)
      select r."holdId", r.chain, r.symbol, r."incidentId", r."holdReason", g.at
      from given g, jsonb_to_recordset(g.rows -> 'incidents') as r ("holdId" uuid, chain text, symbol text,
        "incidentId" uuid, "holdReason" text)
    ), events as (${outboxInsert('tracker', events)})
    update incident i set details = i.details || jsonb_build_object('creditedAgainBooking', r.booking, 'creditedAgainAt', g.at)
    from given g, jsonb_to_recordset(g.rows -> 'creditedAgain') as r ("transferId" bigint, booking integer)
    where i.transfer_id = r."transferId" and (i.details ->> 'booking')::integer = r.booking - 1`.execute(tx);
}

/**
 * One statement, so that the ledger updates each account once and locks shared accounts in a fixed order. A duplicate
 * reference fails, because it would book money twice.
 */
async function postEntries(tx: Tx, outcomes: readonly OrderOutcome[]): Promise<void> {
  const entries = outcomes.flatMap((outcome) => outcome.entries).map((entry, place) => ({ ...entry, place }));
  const postings = entries.flatMap(({ ref, postings: lines }) =>
    lines.map(({ account, amount }) => ({ ref, ...account, amount: amount.toString() })),
  );
  await sql`
    with entry as (
      select * from jsonb_to_recordset(${JSON.stringify(entries.map(({ ref, kind, orderPk, place }) => ({ ref, kind, orderPk, place })))}::jsonb)
        as e (ref text, kind text, "orderPk" uuid, place integer)
    ), posting as (
      select * from jsonb_to_recordset(${JSON.stringify(postings)}::jsonb)
        as p (ref text, kind text, chain text, symbol text, "merchantId" text, amount numeric)
    ), account as materialized (
      select a.*, ledger_account_for(a.kind, a.chain, a.symbol, a."merchantId") as account_id
      from (
        select distinct kind, chain, symbol, "merchantId" from posting order by kind, chain, symbol, "merchantId"
      ) a
    ), written as (
      insert into ledger_transaction (ref, kind, order_pk)
      select ref, kind, "orderPk" from entry order by place
      returning ledger_tx_id, ref
    )
    insert into ledger_posting (ledger_tx_id, account_id, amount)
    select w.ledger_tx_id, a.account_id, p.amount
    from posting p
      join written w on w.ref = p.ref
      join account a on a.kind = p.kind and a.chain = p.chain and a.symbol = p.symbol
        and a."merchantId" is not distinct from p."merchantId"`.execute(tx);
}

export async function checkLedger(tx: Tx): Promise<void> {
  await sql`set constraints all immediate`.execute(tx);
  await sql`set constraints all deferred`.execute(tx);
}
