import { sql } from 'kysely';
import type { OpsInput } from '@opentill/contracts/ops/catalog';
import type { Db } from '@opentill/db/database';
import { isSymbol } from './is-symbol.ts';

/** The guides' alert on opentill_signer_payout_oldest_in_flight_seconds has the same limit. */
const IN_FLIGHT_TOO_LONG = sql`interval '10 minutes'`;

interface FlightRow {
  /** When the oldest transaction in flight was signed; null if there is none, or a block holds one. */
  readonly signed_at: Date | null;
  /** Last answer of nodes to the newest transaction. */
  readonly send_outcome: string | null;
  /** Its expiry or last epoch has passed, by the verified cursor. */
  readonly is_over: boolean | null;
  /** On chains with epochs: why the own scan cannot prove that no block holds it. */
  readonly unproven: string | null;
}

const FLIGHT = sql<FlightRow>`(
  select min(t.signed_at) as signed_at, (array_agg(t.send_outcome order by t.signed_at desc))[1] as send_outcome,
    bool_or(case when a.last_epoch is null then c.verified_time >= to_timestamp(a.expires_ms / 1000.0)
      else c.verified_epoch > a.last_epoch end) as is_over,
    min(why_epochs_unproven(a.chain, a.reference_height, a.last_epoch)) as unproven
  from own_transaction t left join payout_attempt a using (chain, tx_hash) left join chain_cursor c using (chain)
  where p.state = 'SIGNED' and t.order_pk = p.order_pk
    and (a.state = 'OPEN' or exists (
      select from wallet_nonce n where (n.chain, n.wallet, n.nonce) = (t.chain, t.wallet, t.nonce) and n.state = 'SIGNED'))
    and not exists (
      select from own_transaction x join own_transaction_fate f using (chain, tx_hash)
      where x.order_pk = p.order_pk and f.state in ('MINED', 'VERIFIED')))`;

const IS_IN_FLIGHT_TOO_LONG = sql<boolean>`coalesce(flight.is_over or flight.signed_at < now() - ${IN_FLIGHT_TOO_LONG}, false)`;

const STOPPED_CHAINS = sql`select c.chain from chain_status c where c.state in ('HALTED', 'LEFT_OUT')`;

/** Null: the payout `p` does not wait for its chain. */
const HALTED_AT = sql<Date | null>`(select min(c.since) from chain_status c
  where c.chain = p.chain and c.state in ('HALTED', 'LEFT_OUT') and (p.state in ('REQUESTED', 'AUTHORISED')
    or p.state = 'SIGNED' and (exists (select from payout_attempt a where a.order_pk = p.order_pk and a.state = 'OPEN')
      or exists (select from wallet_nonce n where n.order_pk = p.order_pk and n.state = 'SIGNED'))))`;

/** The signer's obstacle; else a halt of the chain; else the state of a transaction that no block holds. */
const OBSTACLE = sql<string | null>`coalesce(p.obstacle, case
  when halt.at is not null then 'CHAIN_HALTED'
  when flight.is_over then case when may_be_paid_by_foreign(p.order_pk) then 'NEEDS_DECISION'
    else concat_ws(': ', 'UNPROVEN', flight.unproven) end
  when ${IS_IN_FLIGHT_TOO_LONG} then concat_ws(': ', 'IN_FLIGHT', flight.send_outcome) end)`;

/** Superset of stuck payouts, by indexes: payout_stuck, payout_attempt_open, wallet_nonce_open, payout_open. */
const MAYBE_STUCK = sql`
  select s.order_pk from payout s where s.obstacle is not null and s.state in ('REQUESTED', 'AUTHORISED', 'SIGNED')
  union all select a.order_pk from payout_attempt a where a.state = 'OPEN'
  union all select n.order_pk from wallet_nonce n where n.state = 'SIGNED' and n.order_pk is not null
  union all select w.order_pk from payout w where w.state in ('REQUESTED', 'AUTHORISED') and w.chain in (${STOPPED_CHAINS})`;

function payouts(db: Db) {
  return db
    .selectFrom('payout as p')
    .innerJoin('orders as o', 'o.order_pk', 'p.order_pk')
    .leftJoin('payout_veto as v', 'v.order_pk', 'p.order_pk')
    .leftJoinLateral(FLIGHT.as('flight'), (join) => join.onTrue())
    .leftJoinLateral(sql<{ at: Date | null }>`(select ${HALTED_AT} as at)`.as('halt'), (join) =>
      join.onTrue(),
    )
    .select([
      'p.order_pk as orderPk',
      'o.merchant_id as merchantId',
      'o.order_id as orderId',
      'p.chain',
      'o.family',
      'o.symbol',
      'o.contract_address as contractAddress',
      'o.decimals',
      'o.display_decimals as displayDecimals',
      'o.amount',
      sql<string>`o.address`.as('receiver'), // orders_options: never null for a payout
      'p.wallet',
      'p.state',
      'o.status as orderStatus',
      'p.waiting_since as waitingSince',
      OBSTACLE.as('obstacle'),
      sql<Date | null>`coalesce(p.obstacle_at, halt.at, case when ${IS_IN_FLIGHT_TOO_LONG} then flight.signed_at end)`.as(
        'obstacleAt',
      ),
      'p.reason',
      'o.created_at as createdAt',
      'p.expires_at as expiresAt',
      'p.authorised_at as authorisedAt',
      'p.first_sent_at as firstSentAt',
      'v.operator as vetoOperator',
      'v.reason as vetoReason',
      'v.vetoed_at as vetoedAt',
      sql<readonly { approver: string; approvedAt: string }[]>`coalesce((
        select json_agg(json_build_object('approver', a.approver, 'approvedAt', a.approved_at) order by a.approved_at)
        from payout_approval a where a.order_pk = p.order_pk), '[]')`.as('approvals'),
    ]);
}

export async function findPayouts(
  db: Db,
  filter: OpsInput<'listPayouts'>,
  after: string | undefined,
  limit: number,
) {
  let query = payouts(db).orderBy('p.order_pk', 'desc').limit(limit);
  const open = sql<boolean>`p.state in ('REQUESTED', 'AUTHORISED')`;
  // Includes payouts that were signed and lost their nonce, and payouts that no block takes.
  const stuck = sql<boolean>`p.order_pk in (${MAYBE_STUCK}) and (p.obstacle is not null or halt.at is not null or ${IS_IN_FLIGHT_TOO_LONG})`;
  if (after !== undefined) query = query.where('p.order_pk', '<', after);
  if (filter.merchantId !== undefined) query = query.where('o.merchant_id', '=', filter.merchantId);
  if (filter.chain !== undefined) query = query.where('p.chain', '=', filter.chain);
  if (filter.symbol !== undefined) query = query.where(isSymbol('o.symbol', filter.symbol));
  if (filter.state !== undefined) query = query.where('p.state', '=', filter.state);
  if (filter.waitingForApproval === true) query = query.where('p.waiting_since', 'is not', null).where(open);
  if (filter.waitingForApproval === false) query = query.where('p.waiting_since', 'is', null);
  if (filter.stuck === true) query = query.where(stuck);
  if (filter.stuck === false) query = query.where(sql<boolean>`not (${stuck})`);
  return query.execute();
}

export type PayoutRow = Awaited<ReturnType<typeof findPayouts>>[number];

export async function readPayout(db: Db, orderPk: string): Promise<PayoutRow | undefined> {
  return payouts(db).where('p.order_pk', '=', orderPk).executeTakeFirst();
}

/** The first approval of a key stays. */
export async function insertApproval(
  db: Db,
  approval: { orderPk: string; approver: string; signature: Buffer },
): Promise<boolean> {
  const rows = await db
    .insertInto('payout_approval')
    .values({ order_pk: approval.orderPk, approver: approval.approver, signature: approval.signature })
    .onConflict((conflict) => conflict.doNothing())
    .returning('approver')
    .execute();
  return rows.length > 0;
}

export async function insertVeto(
  db: Db,
  veto: { orderPk: string; operator: string; reason: string },
): Promise<boolean> {
  const rows = await db
    .insertInto('payout_veto')
    .values({ order_pk: veto.orderPk, operator: veto.operator, reason: veto.reason })
    .onConflict((conflict) => conflict.doNothing())
    .returning('order_pk')
    .execute();
  return rows.length > 0;
}

/** False if one is already waiting for the signer. */
export async function insertPayoutDecision(
  db: Db,
  decision: {
    decisionId: string;
    orderPk: string;
    nonce: number | null;
    decision: 'PAY_AGAIN' | 'PAID_BY';
    txHash: string | null;
    unprovenTxHash: string | null;
    reason: string;
    operator: string;
  },
): Promise<boolean> {
  const { decisionId, orderPk, txHash, unprovenTxHash, nonce, reason, operator } = decision;
  // An earlier PAY_AGAIN does not refer to the attempt. Without this update it would block the one that does.
  const { rows } = await sql`
    insert into payout_decision as d (decision_id, order_pk, nonce, decision, tx_hash, unproven_tx_hash, reason, operator)
    values (${decisionId}, ${orderPk}, ${nonce}, ${decision.decision}, ${txHash}, ${unprovenTxHash}, ${reason}, ${operator})
    on conflict (order_pk) where handled_at is null do update set unproven_tx_hash = excluded.unproven_tx_hash,
      reason = excluded.reason, operator = excluded.operator, decided_at = excluded.decided_at
    where d.decision = 'PAY_AGAIN' and excluded.decision = 'PAY_AGAIN' and excluded.unproven_tx_hash <> coalesce(d.unproven_tx_hash, '')
    returning 1`.execute(db);
  return rows.length > 0;
}

export async function highestTakenNonce(db: Db, orderPk: string): Promise<number | undefined> {
  const row = await db
    .selectFrom('wallet_nonce')
    .select('nonce')
    .where('order_pk', '=', orderPk)
    .where('state', '=', 'TAKEN')
    .orderBy('nonce', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row?.nonce;
}

/** The attempt's last epoch is over, and the own scan cannot prove that it did not land. @returns its hash */
export async function unprovenAttemptOf(db: Db, orderPk: string): Promise<string | undefined> {
  const { rows } = await sql<{ tx_hash: string }>`
    select a.tx_hash from payout_attempt a join chain_cursor c using (chain)
    where a.order_pk = ${orderPk} and a.state = 'OPEN' and c.verified_epoch > a.last_epoch
      and why_epochs_unproven(a.chain, a.reference_height, a.last_epoch) is not null
      and not exists (select from own_transaction_landed l where l.chain = a.chain and l.tx_hash = a.tx_hash)
      and not exists (select from own_transaction_fate f
        where f.chain = a.chain and f.tx_hash = a.tx_hash and f.state in ('MINED', 'VERIFIED'))`.execute(db);
  return rows[0]?.tx_hash;
}

/** A foreign transaction makes the same payment, and no operator has assigned it elsewhere. */
export async function mayBePaidByForeign(db: Db, orderPk: string): Promise<boolean> {
  const { rows } = await sql<{
    may: boolean;
  }>`select may_be_paid_by_foreign(${orderPk}::uuid) as may`.execute(db);
  return rows[0]?.may ?? false;
}

const NONCE = [
  'chain',
  'wallet',
  'nonce',
  'state',
  'purpose',
  'order_pk as orderPk',
  'updated_at as updatedAt',
] as const;

export async function noncesOf(db: Db, orderPk: string) {
  return db
    .selectFrom('wallet_nonce')
    .select(NONCE)
    .where('order_pk', '=', orderPk)
    .orderBy('chain')
    .orderBy('nonce')
    .limit(100)
    .execute();
}

/** On all chains of the wallet, lowest first. */
export async function openNoncesOf(db: Db, wallet: string, limit: number) {
  return db
    .selectFrom('wallet_nonce')
    .select(NONCE)
    .where('wallet', '=', wallet)
    .where('state', 'in', ['RESERVED', 'SIGNED'])
    .orderBy('chain')
    .orderBy('nonce')
    .limit(limit)
    .execute();
}

/** Never includes the signed bytes. */
export async function ownTransactionsOf(db: Db, orderPk: string) {
  return db
    .selectFrom('own_transaction as t')
    .leftJoin('own_transaction_fate as f', (join) =>
      join.onRef('f.chain', '=', 't.chain').onRef('f.tx_hash', '=', 't.tx_hash'),
    )
    .leftJoin('payout_attempt as a', (join) =>
      join.onRef('a.chain', '=', 't.chain').onRef('a.tx_hash', '=', 't.tx_hash'),
    )
    .select([
      'a.state as attemptState',
      'a.expires_ms as expiresMs',
      't.chain',
      't.tx_hash as txHash',
      't.wallet',
      't.nonce',
      't.purpose',
      't.to_address as to',
      't.amount',
      't.fee_terms as feeTerms',
      't.signed_at as signedAt',
      't.first_sent_at as firstSentAt',
      't.last_sent_at as lastSentAt',
      't.send_outcome as sendOutcome',
      'f.state as fateState',
      'f.succeeded',
      'f.delivered',
      'f.network_fee as networkFee',
      'f.block_height as blockHeight',
      'f.block_time as blockTime',
    ])
    .where('t.order_pk', '=', orderPk)
    .orderBy('t.signed_at')
    .limit(100)
    .execute();
}
