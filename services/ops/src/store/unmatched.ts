import { sql } from 'kysely';
import type { Db } from '@opentill/db/database';
import type { Chain } from '@opentill/domain/chains';

/** An unmatched deposit with the order of its address, as far as it matters for accepting it. */
export interface AcceptableRow {
  readonly reason: 'WRONG_TOKEN' | 'WRONG_CHAIN' | 'LATE' | 'UNDERPAID' | 'AFTER_SUCCESS' | 'ORDER_FAILED';
  readonly state: 'DETECTED' | 'VERIFIED' | 'ORPHANED';
  readonly chain: Chain;
  readonly symbol: string;
  readonly amount: bigint;
  /** Given back, or on its way there. */
  readonly refunded: bigint;
  readonly orderPk: string;
  readonly orderId: string;
  readonly merchantId: string;
  readonly family: string;
  readonly status: string;
  readonly orderSymbol: string;
  readonly orderDecimals: number;
  readonly cutoffAt: Date;
  /** An operator's decision of the order that is not carried out. */
  readonly isDecided: boolean;
}

/** Undefined where there is none, or not any more: credited, or taken back by a reorganisation. */
export async function readAcceptable(db: Db, transferId: number): Promise<AcceptableRow | undefined> {
  const { rows } = await sql<AcceptableRow>`
    select u.reason, t.state, t.chain, t.symbol, t.amount, ${refundedOf(sql`t.transfer_id`)} as refunded,
      o.order_pk as "orderPk", o.order_id as "orderId", o.merchant_id as "merchantId", o.family, o.status, o.symbol as "orderSymbol",
      o.decimals as "orderDecimals", o.cutoff_at as "cutoffAt",
      exists (select from order_decision d where d.order_pk = o.order_pk and d.handled_at is null) as "isDecided"
    from unmatched_deposit u join transfer t using (transfer_id) join orders o on o.order_pk = u.order_pk
    where u.transfer_id = ${transferId} and not u.withdrawn`.execute(db);
  return rows[0];
}

/** What of a transfer was given back, or is on its way there, base units. */
export function refundedOf(transferId: ReturnType<typeof sql>) {
  return sql<bigint>`coalesce((select sum(r.amount) from movement m join orders r using (order_pk)
    where m.transfer_id = ${transferId} and payout_may_move(m.order_pk)), 0)`;
}

/** An acceptance with money that its order did not ask for, as the operator saw it. */
export async function insertAcceptance(
  db: Db,
  acceptance: {
    readonly decisionId: string;
    readonly deposit: Pick<AcceptableRow, 'orderPk' | 'symbol' | 'amount'>;
    readonly transferId: number;
    readonly worth: bigint;
    readonly reason: string;
    readonly operator: string;
    readonly decidedAt: Date;
  },
): Promise<void> {
  const { decisionId, deposit, transferId, worth, reason, operator, decidedAt } = acceptance;
  await db
    .insertInto('order_decision')
    .values({
      decision_id: decisionId,
      order_pk: deposit.orderPk,
      decision: 'ACCEPT',
      reason,
      operator,
      decided_at: decidedAt,
      transfer_id: transferId,
      transfer_symbol: deposit.symbol,
      transfer_amount: deposit.amount,
      worth,
    })
    .execute();
}
