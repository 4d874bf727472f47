import { sql } from 'kysely';
import type { Db } from '@opentill/db/database';

/** A watched order. Its fingerprint changes with every change that the page may show. */
export interface WatchedOrder {
  readonly merchantId: string;
  readonly orderId: string;
  readonly fingerprint: string;
}

export function watching(db: Db) {
  return {
    /** Fingerprints of many orders. While a payment is unconfirmed, each new head changes the fingerprint. */
    async watchOrders(
      keys: readonly { readonly merchantId: string; readonly orderId: string }[],
    ): Promise<readonly WatchedOrder[]> {
      const merchants = keys.map(({ merchantId }) => merchantId);
      const orders = keys.map(({ orderId }) => orderId);
      const { rows } = await sql<WatchedOrder>`
        select o.merchant_id as "merchantId", o.order_id as "orderId",
          concat_ws(' ', o.status, o.reason, o.detected_amount, o.actual_amount, extract(epoch from o.updated_at),
            case when o.status not in ('PENDING', 'PENDING_CONFIRMATION') then null
              when o.choices is null then c.head_height::text
              else (select string_agg(v.head_height::text, ' ' order by x.place)
                from order_option x join chain_cursor v on v.chain = x.chain
                  join deposit_address a on a.order_pk = x.order_pk and a.family = x.family
                where x.order_pk = o.order_pk) end) as fingerprint
        from unnest(${merchants}::text[], ${orders}::text[]) k (merchant_id, order_id)
        join orders o using (merchant_id, order_id)
        left join chain_cursor c on c.chain = o.chain`.execute(db);
      return rows;
    },
  };
}
