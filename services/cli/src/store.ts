import { sql } from 'kysely';
import type { Db } from '@opentill/db/database';
import type { Chain } from '@opentill/domain/chains';

/** An order as `explain` shows it. */
export interface ExplainedOrder {
  readonly orderPk: string;
  readonly merchantId: string;
  readonly orderId: string;
  readonly orderType: string;
  readonly status: string;
  readonly reason: string | null;
  readonly chain: Chain;
  readonly symbol: string;
  readonly decimals: number;
  readonly displayDecimals: number;
  readonly amount: bigint;
  readonly detectedAmount: bigint;
  readonly actualAmount: bigint | null;
  readonly address: string;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

/** The orders that an order id, a deposit address or a transaction hash speaks of. */
export async function findOrders(db: Db, wanted: string): Promise<ExplainedOrder[]> {
  const lower = wanted.toLowerCase();
  return db
    .selectFrom('orders as o')
    .select([
      'o.order_pk as orderPk',
      'o.merchant_id as merchantId',
      'o.order_id as orderId',
      'o.order_type as orderType',
      'o.status',
      'o.reason',
      'o.chain',
      'o.symbol',
      'o.decimals',
      'o.display_decimals as displayDecimals',
      'o.amount',
      'o.detected_amount as detectedAmount',
      'o.actual_amount as actualAmount',
      'o.address',
      'o.created_at as createdAt',
      'o.expires_at as expiresAt',
    ])
    .where((eb) =>
      eb.or([
        eb('o.order_id', '=', wanted),
        eb('o.address', 'in', [wanted, lower]),
        eb(
          'o.order_pk',
          'in',
          eb
            .selectFrom('transfer as t')
            .innerJoin('deposit_address as d', (join) =>
              join.onRef('d.family', '=', 't.family').onRef('d.address', '=', 't.to_address'),
            )
            .select('d.order_pk')
            .where('t.tx_hash', 'in', [wanted, lower]),
        ),
      ]),
    )
    .orderBy('o.created_at')
    .limit(100)
    .execute();
}

/** Every transfer to a deposit address, with what the tracker made of it. */
export async function transfersOf(db: Db, orderPk: string) {
  return db
    .selectFrom('deposit_address as d')
    .innerJoin('transfer as t', (join) =>
      join.onRef('t.family', '=', 'd.family').onRef('t.to_address', '=', 'd.address'),
    )
    .leftJoin('transfer_settlement as s', 's.transfer_id', 't.transfer_id')
    .leftJoin('unmatched_deposit as u', (join) =>
      join.onRef('u.transfer_id', '=', 't.transfer_id').on('u.withdrawn', '=', false),
    )
    .select([
      't.transfer_id as transferId',
      't.chain',
      't.tx_hash as txHash',
      't.position',
      't.symbol',
      't.amount',
      't.block_height as blockHeight',
      't.block_time as blockTime',
      't.state',
      's.booked',
      's.credited',
      'u.reason as unmatchedReason',
    ])
    .where('d.order_pk', '=', orderPk)
    .orderBy('t.transfer_id')
    .limit(500)
    .execute();
}

/** Every notification of an order with the state of its delivery. */
export async function notificationsOf(db: Db, orderPk: string) {
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
      'd.next_attempt_at as nextAttemptAt',
    ])
    .where('n.subject_id', '=', orderPk)
    .orderBy('n.sequence')
    .execute();
}

/** The attempts made at a delivery, oldest first. */
export async function attemptsOf(db: Db, eventId: string) {
  return db
    .selectFrom('delivery_attempt')
    .select([
      'attempt',
      'started_at as startedAt',
      'duration_ms as durationMs',
      'status_code as statusCode',
      'error',
    ])
    .where('event_id', '=', eventId)
    .orderBy('attempt')
    .execute();
}

/** How far a chain has been read. */
export async function cursorOf(db: Db, chain: Chain) {
  return db
    .selectFrom('chain_cursor')
    .select([
      'head_height as headHeight',
      'seen_height as seenHeight',
      'verified_height as verifiedHeight',
      'verified_time as verifiedTime',
    ])
    .where('chain', '=', chain)
    .executeTakeFirst();
}

/** Asks the scanners to read a range again; answers the request's id. */
export async function requestRescan(
  db: Db,
  chain: Chain,
  fromHeight: number,
  toHeight: number,
): Promise<number> {
  const row = await db
    .insertInto('rescan_request')
    .values({ chain, from_height: fromHeight, to_height: toHeight })
    .returning('request_id')
    .executeTakeFirstOrThrow();
  return row.request_id;
}

/** Whether a re-scan is done and how many transfers it found that were missing. */
export async function rescanAnswer(db: Db, requestId: number): Promise<{ done: boolean; found: number }> {
  const row = await db
    .selectFrom('rescan_request')
    .select(['done_at', 'found'])
    .where('request_id', '=', requestId)
    .executeTakeFirstOrThrow();
  return { done: row.done_at !== null, found: row.found ?? 0 };
}

/** Makes a delivery due again; false when there is none for this event. */
export async function replayDelivery(db: Db, eventId: string): Promise<boolean> {
  const { rows } = await sql<{
    replayed: boolean;
  }>`select replay_delivery(${eventId}::uuid) as replayed`.execute(db);
  return rows[0]?.replayed ?? false;
}

/** Books what the operator put into a hot wallet; false when this reference was booked before. */
export async function bookTopUp(
  db: Db,
  topUp: { ref: string; chain: Chain; symbol: string; amountBaseUnits: bigint },
): Promise<boolean> {
  const { rows } = await sql<{ booked: boolean }>`
    select book_top_up(${topUp.ref}, ${topUp.chain}, ${topUp.symbol}, ${topUp.amountBaseUnits.toString()}::numeric) as booked
  `.execute(db);
  return rows[0]?.booked ?? false;
}

/** The same for native coin that pays fees and is no asset of orders. */
export async function bookGasTopUp(
  db: Db,
  topUp: { ref: string; chain: Chain; symbol: string; amountBaseUnits: bigint },
): Promise<boolean> {
  const { rows } = await sql<{ booked: boolean }>`
    select book_gas_top_up(${topUp.ref}, ${topUp.chain}, ${topUp.symbol}, ${topUp.amountBaseUnits.toString()}::numeric) as booked
  `.execute(db);
  return rows[0]?.booked ?? false;
}
