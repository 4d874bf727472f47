import { sql } from 'kysely';
import type { OrderStatus } from '@opentill/contracts/notify-order';
import type { Db } from '@opentill/db/database';
import type { BaseUnits } from '@opentill/domain/money';
import { createdColumns, type CreatedOrder } from './create-orders.ts';

/**
 * An order with its latest transfer (for a payout, the transaction that decides it) and the height of its chain's head.
 */
export interface OrderRow extends CreatedOrder {
  readonly status: OrderStatus;
  readonly reason: string | null;
  readonly contractAddress: string | null;
  readonly detectedAmount: bigint;
  readonly actualAmount: bigint | null;
  readonly confirmationsRequired: number | null;
  readonly returnUrl: string | null;
  readonly description: string | null;
  readonly headHeight: number | null;
  readonly txHash: string | null;
  readonly fromAddress: string | null;
  readonly toAddress: string | null;
  readonly transferAmount: BaseUnits | null;
  readonly networkFee: bigint | null;
  readonly blockHeight: number | null;
  readonly blockTime: Date | null;
  /** Null for a payout. The next three fields describe the outcome of its transaction. */
  readonly transferState: 'DETECTED' | 'VERIFIED' | null;
  readonly fateState: 'MINED' | 'VERIFIED' | null;
  readonly succeeded: boolean | null;
  readonly delivered: BaseUnits | null;
}

const ORDER_COLUMNS = createdColumns('o');

export function orderReads(db: Db) {
  return {
    async findOrder(merchantId: string, orderId: string): Promise<OrderRow | undefined> {
      const { rows } = await sql<OrderRow>`
        select ${ORDER_COLUMNS}, o.status, o.reason, o.contract_address as "contractAddress",
          o.detected_amount as "detectedAmount", o.actual_amount as "actualAmount",
          o.confirmations_required as "confirmationsRequired", o.return_url as "returnUrl", o.description,
          c.head_height as "headHeight", coalesce(t.tx_hash, p.tx_hash) as "txHash",
          coalesce(t.from_address, p.wallet) as "fromAddress", coalesce(t.to_address, p.to_address) as "toAddress",
          coalesce(t.amount, p.amount) as "transferAmount", coalesce(t.network_fee, p.network_fee) as "networkFee",
          coalesce(t.block_height, p.block_height) as "blockHeight", coalesce(t.block_time, p.block_time) as "blockTime",
          t.state as "transferState", p.state as "fateState", p.succeeded, p.delivered
        from orders o
        left join chain_cursor c on c.chain = o.chain
        left join lateral (
          select * from transfer
          where family = o.family and to_address = o.address and chain = o.chain
            and contract_address is not distinct from o.contract_address
            and state <> 'ORPHANED' and o.order_type = 'COLLECTION'
            -- After SUCCESS: the transfer that was credited, as in its callback.
            and (o.status <> 'SUCCESS' or exists (
              select from transfer_settlement s where s.transfer_id = transfer.transfer_id and s.credited))
          order by block_height desc, transfer_id desc limit 1
        ) t on true
        left join lateral (
          select x.wallet, x.to_address, x.amount, f.*
          from own_transaction x join own_transaction_fate f on f.chain = x.chain and f.tx_hash = x.tx_hash
          where x.order_pk = o.order_pk and o.order_type = 'PAYOUT' and f.state <> 'ORPHANED'
          -- Same choice as in its callbacks: a delivered transaction, then a pending one, then a failed one.
          order by f.state = 'VERIFIED' and f.succeeded and f.delivered > 0 desc, f.state = 'MINED' desc, f.block_height desc
          limit 1
        ) p on true
        where o.merchant_id = ${merchantId} and o.order_id = ${orderId}`.execute(db);
      return rows[0];
    },

    async findStatus(merchantId: string, orderId: string): Promise<OrderStatus | undefined> {
      const { rows } = await sql<{ status: OrderStatus }>`
        select status from orders where merchant_id = ${merchantId} and order_id = ${orderId}`.execute(db);
      return rows[0]?.status;
    },
  };
}
