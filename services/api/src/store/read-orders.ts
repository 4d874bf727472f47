import { sql } from 'kysely';
import { UNMATCHED_COUNTED, UNMATCHED_SHOWN, type TokenId } from '@opentill/contracts/format-unmatched';
import type { OrderStatus } from '@opentill/contracts/notify-order';
import type { Db } from '@opentill/db/database';
import type { LogoType } from '@opentill/db/merchant-tables';
import type { Chain } from '@opentill/domain/chains';
import type { BaseUnits } from '@opentill/domain/money';
import type { UnmatchedReason } from '@opentill/domain/settle-transfer';
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
  readonly merchant: MerchantProfileRow;
  readonly unmatched: readonly UnmatchedRow[];
  readonly unmatchedCount: number;
}

export interface MerchantProfileRow {
  readonly merchantId: string;
  /** Null: only the id was given. */
  readonly name: string | null;
  readonly logoHash: string | null;
  readonly accentColor: string | null;
  readonly supportUrl: string | null;
  readonly supportEmail: string | null;
  readonly shopUrl: string | null;
}

export interface UnmatchedRow {
  readonly chain: Chain;
  readonly symbol: string;
  /** Base units as text, because JSON numbers lose precision. */
  readonly amount: string;
  readonly txHash: string;
  readonly reason: UnmatchedReason;
}

export interface StatusRow {
  readonly status: OrderStatus;
  readonly chain: Chain;
  readonly symbol: string;
  readonly decimals: number;
  readonly displayDecimals: number;
  readonly unmatched: readonly UnmatchedRow[];
}

export interface LinksRow {
  readonly shopUrl: string | null;
  readonly supportUrl: string | null;
  readonly supportEmail: string | null;
}

export interface LogoRow {
  readonly logo: Buffer;
  readonly logoType: LogoType;
  readonly logoHash: string;
}

const ORDER_COLUMNS = createdColumns('o');

/** Columns of an order `o`. Bounded ranges of the index unmatched_deposit_shown, which is empty for most orders. */
function unmatchedColumns(tokens: readonly TokenId[]) {
  const chains = tokens.map(({ chain }) => chain);
  const symbols = tokens.map(({ symbol }) => symbol);
  // As toUnmatchedTransfers: without tokens that are no longer configured, but with the order's own.
  const rows = sql`
    from unmatched_deposit d join transfer t on t.transfer_id = d.transfer_id
    where d.order_pk = o.order_pk and not d.withdrawn and not d.dust and t.state <> 'ORPHANED'
      and ((t.chain, t.symbol) in (select * from unnest(${chains}::text[], ${symbols}::text[]))
        or (t.chain, t.symbol) = (o.chain, o.symbol))`;
  return {
    /** Newest first. */
    unmatched: sql`coalesce((
      select jsonb_agg(jsonb_build_object('chain', u.chain, 'symbol', u.symbol, 'amount', u.amount::text,
        'txHash', u.tx_hash, 'reason', u.reason) order by u.transfer_id desc)
      from (
        select d.transfer_id, d.reason, t.chain, t.symbol, t.amount, t.tx_hash ${rows}
        order by d.transfer_id desc limit ${sql.lit(UNMATCHED_SHOWN)}
      ) u), '[]')`,
    count: sql`(
      select count(*)::int from (select ${rows} limit ${sql.lit(UNMATCHED_COUNTED)}) counted)`,
  };
}

/** @param tokens the configured ones */
export function orderReads(db: Db, tokens: readonly TokenId[]) {
  const { unmatched, count } = unmatchedColumns(tokens);
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
          t.state as "transferState", p.state as "fateState", p.succeeded, p.delivered,
          jsonb_build_object('merchantId', m.merchant_id, 'name', nullif(m.name, m.merchant_id), 'logoHash', m.logo_hash,
            'accentColor', m.accent_color, 'supportUrl', m.support_url, 'supportEmail', m.support_email,
            'shopUrl', m.shop_url) as merchant,
          ${unmatched} as unmatched, ${count} as "unmatchedCount"
        from orders o
        join merchant m on m.merchant_id = o.merchant_id
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

    async findStatus(merchantId: string, orderId: string): Promise<StatusRow | undefined> {
      const { rows } = await sql<StatusRow>`
        select o.status, o.chain, o.symbol, o.decimals, o.display_decimals as "displayDecimals", ${unmatched} as unmatched
        from orders o where o.merchant_id = ${merchantId} and o.order_id = ${orderId}`.execute(db);
      return rows[0];
    },

    /** Public links. Undefined if the merchant is unknown or disabled. */
    async findLinks(merchantId: string): Promise<LinksRow | undefined> {
      const { rows } = await sql<LinksRow>`
        select shop_url as "shopUrl", support_url as "supportUrl", support_email as "supportEmail" from merchant
        where merchant_id = ${merchantId} and enabled`.execute(db);
      return rows[0];
    },

    /** Undefined if the merchant is unknown, disabled, or has no logo. */
    async findLogo(merchantId: string): Promise<LogoRow | undefined> {
      const { rows } = await sql<LogoRow>`
        select logo, logo_type as "logoType", logo_hash as "logoHash" from merchant
        where merchant_id = ${merchantId} and enabled and logo is not null`.execute(db);
      return rows[0];
    },
  };
}
