import { sql } from 'kysely';
import { UNMATCHED_COUNTED, UNMATCHED_SHOWN, type TokenId } from '@opentill/contracts/format-unmatched';
import type { OrderStatus } from '@opentill/contracts/notify-order';
import type { Db } from '@opentill/db/database';
import { hasListedToken } from '@opentill/db/listed-tokens';
import type { LogoType } from '@opentill/db/merchant-tables';
import type { Chain } from '@opentill/domain/chains';
import type { BaseUnits } from '@opentill/domain/money';
import type { UnmatchedReason } from '@opentill/domain/settle-transfer';
import { createdColumns, optionsOf, type CreatedOrder, type NewOption } from './create-orders.ts';

/**
 * An order with its latest transfer (for a payout, the transaction that decides it) and the height of its chain's head.
 */
export interface OrderRow extends CreatedOrder {
  readonly orderPk: string;
  readonly status: OrderStatus;
  readonly reason: string | null;
  readonly contractAddress: string | null;
  readonly detectedAmount: bigint;
  readonly actualAmount: bigint | null;
  readonly confirmationsRequired: number | null;
  readonly returnUrl: string | null;
  readonly description: string | null;
  /** The head of the transfer's chain, or of the order's. */
  readonly headHeight: number | null;
  /** The coin of the transfer, and what was paid in each coin. Null for an order of one coin. */
  readonly transferCoin: TransferCoin | null;
  readonly payments: readonly PaymentRow[] | null;
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

export type TransferCoin = Pick<
  CreatedOrder,
  'chain' | 'family' | 'symbol' | 'decimals' | 'displayDecimals'
> & { readonly contractAddress: string | null; readonly confirmationsRequired: number | null };

export interface PaymentRow extends Pick<TransferCoin, 'chain' | 'symbol' | 'decimals' | 'displayDecimals'> {
  /** Base units as text. */
  readonly amount: string;
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
  readonly options: readonly NewOption[] | null;
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

/** Column of a merchant `m`. */
export const MERCHANT_PROFILE = sql`
  jsonb_build_object('merchantId', m.merchant_id, 'name', nullif(m.name, m.merchant_id), 'logoHash', m.logo_hash,
    'accentColor', m.accent_color, 'supportUrl', m.support_url, 'supportEmail', m.support_email, 'shopUrl', m.shop_url)`;

const ORDER_COLUMNS = createdColumns('o');
const OPTIONS = sql.raw(optionsOf('o'));

/** Columns of an order `o`. Bounded ranges of the index unmatched_deposit_shown, which is empty for most orders. */
function unmatchedColumns(tokens: readonly TokenId[]) {
  const rows = sql`
    from unmatched_deposit d join transfer t on t.transfer_id = d.transfer_id
    where d.order_pk = o.order_pk and not d.withdrawn and not d.dust and t.state <> 'ORPHANED'
      and ${hasListedToken('o', tokens)}`;
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

/** Coins of an order `o` with the addresses that it has. Computed from its own columns if it has one coin. */
const COINS = sql`(
  select o.chain, o.family, o.symbol, o.contract_address, o.decimals, o.display_decimals, o.confirmations_required, o.address, 0 as place
  where o.choices is null
  union all
  select x.chain, x.family, x.symbol, x.contract_address, x.decimals, x.display_decimals, x.confirmations_required, a.address, x.place
  from order_option x join deposit_address a on a.order_pk = x.order_pk and a.family = x.family
  where o.choices is not null and x.order_pk = o.order_pk)`;
const IS_OF_COIN = sql`t.family = k.family and t.to_address = k.address and t.chain = k.chain
  and t.contract_address is not distinct from k.contract_address and t.state <> 'ORPHANED'`;

/** Anyone can send many small payments. */
const SUMMED_PER_COIN = 1_000;

/** Sums of the payments in time in each coin of an order `o` with options. */
const PAYMENTS = sql`case when o.choices is not null then coalesce((
  select jsonb_agg(jsonb_build_object('chain', k.chain, 'symbol', k.symbol, 'decimals', k.decimals,
    'displayDecimals', k.display_decimals, 'amount', p.amount::text) order by k.place)
  from ${COINS} k cross join lateral (
    select sum(newest.amount) as amount from (
      select t.amount from transfer t
      -- The contract names the coin. The symbol lets Postgres read the index transfer_to_newest in its order.
      where ${IS_OF_COIN} and t.symbol = k.symbol and t.first_block_time <= date_trunc('second', o.cutoff_at)
      order by t.block_height desc, t.transfer_id desc limit ${sql.lit(SUMMED_PER_COIN)}
    ) newest
  ) p where p.amount is not null), '[]') end`;

/** @param tokens the configured ones */
export function orderReads(db: Db, tokens: readonly TokenId[]) {
  const { unmatched, count } = unmatchedColumns(tokens);
  return {
    async findOrder(merchantId: string, orderId: string): Promise<OrderRow | undefined> {
      const { rows } = await sql<OrderRow>`
        select ${ORDER_COLUMNS}, o.order_pk as "orderPk", o.status, o.reason, o.contract_address as "contractAddress",
          o.detected_amount as "detectedAmount", o.actual_amount as "actualAmount",
          o.confirmations_required as "confirmationsRequired", o.return_url as "returnUrl", o.description,
          c.head_height as "headHeight", coalesce(t.tx_hash, p.tx_hash) as "txHash",
          coalesce(t.from_address, p.wallet) as "fromAddress", coalesce(t.to_address, p.to_address) as "toAddress",
          coalesce(t.amount, p.amount) as "transferAmount", coalesce(t.network_fee, p.network_fee) as "networkFee",
          coalesce(t.block_height, p.block_height) as "blockHeight", coalesce(t.block_time, p.block_time) as "blockTime",
          ${PAYMENTS} as payments, case when o.choices is not null then t.coin end as "transferCoin",
          t.state as "transferState", p.state as "fateState", p.succeeded, p.delivered,
          ${MERCHANT_PROFILE} as merchant,
          ${unmatched} as unmatched, ${count} as "unmatchedCount"
        from orders o
        join merchant m on m.merchant_id = o.merchant_id
        left join lateral (
          select newest.*, jsonb_build_object('chain', k.chain, 'family', k.family, 'symbol', k.symbol,
            'contractAddress', k.contract_address, 'decimals', k.decimals, 'displayDecimals', k.display_decimals,
            'confirmationsRequired', k.confirmations_required) as coin
          from ${COINS} k cross join lateral (
            select t.* from transfer t
            where ${IS_OF_COIN} and o.order_type = 'COLLECTION'
              -- After SUCCESS: the transfer that was credited, as in its callback.
              and (o.status <> 'SUCCESS' or exists (
                select from transfer_settlement s where s.transfer_id = t.transfer_id and s.credited))
            order by t.block_height desc, t.transfer_id desc limit 1
          ) newest
          order by newest.block_time desc, newest.transfer_id desc limit 1
        ) t on true
        left join chain_cursor c on c.chain = coalesce(t.chain, o.chain)
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
        select o.status, o.chain, o.symbol, o.decimals, o.display_decimals as "displayDecimals", ${OPTIONS},
          ${unmatched} as unmatched
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
