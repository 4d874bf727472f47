import { sql } from 'kysely';
import type { Db } from '@opentill/db/database';
import type { Chain } from '@opentill/domain/chains';

export interface AcceptableRow {
  readonly reason: 'WRONG_TOKEN' | 'WRONG_CHAIN' | 'LATE' | 'UNDERPAID' | 'AFTER_SUCCESS' | 'ORDER_FAILED';
  readonly state: 'DETECTED' | 'VERIFIED' | 'ORPHANED';
  readonly chain: Chain;
  readonly symbol: string;
  readonly amount: bigint;
  /** Base units, including refunds in flight. */
  readonly refunded: bigint;
  readonly orderPk: string;
  readonly orderId: string;
  readonly merchantId: string;
  readonly family: string;
  readonly status: string;
  readonly orderSymbol: string;
  readonly orderDecimals: number;
  readonly cutoffAt: Date;
  readonly isDecided: boolean;
}

/** Undefined if the deposit is credited or removed by a reorganisation. */
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

/** Base units, including refunds in flight. */
export function refundedOf(transferId: ReturnType<typeof sql>) {
  return sql<bigint>`coalesce((select sum(r.amount) from movement m join orders r using (order_pk)
    where m.transfer_id = ${transferId} and payout_may_move(m.order_pk)), 0)`;
}

/** Money in another token or on another chain, with the operator's valuation. */
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
