import { sql } from 'kysely';
import { LINK_STOCK_MAX } from '@opentill/contracts/http/link-schemas';
import type { Db } from '@opentill/db/database';
import type { LinkBounds, LinkPage } from '../link-fields.ts';
import type { AcceptedCoins } from '../order-fields.ts';
import type { SpentNonce } from './create-orders.ts';
import { MERCHANT_PROFILE, type MerchantProfileRow } from './read-orders.ts';

/** Symbols are in the operator's spelling. */
export interface NewLink extends LinkBounds, AcceptedCoins {
  readonly merchantId: string;
  readonly linkId: string;
  readonly code: string;
  readonly uid: string | null;
  readonly description: string | null;
  readonly returnUrl: string | null;
  readonly stock: number | null;
  readonly expiresAt: Date | null;
}

export interface LinkRow extends NewLink {
  readonly closedAt: Date | null;
  readonly createdAt: Date;
  /** By the database's clock, as when an order is opened. */
  readonly isExpired: boolean;
  /** At most LINK_STOCK_MAX, like `reserved`. */
  readonly sold: number;
  readonly reserved: number;
}

export interface LinkOfMerchant extends LinkRow {
  readonly merchant: MerchantProfileRow;
}

const counted = (statuses: string) => sql`(
  select count(*)::int from (
    select from orders o where o.merchant_id = l.merchant_id and o.link_id = l.link_id and o.status in (${sql.raw(statuses)})
    limit ${sql.lit(LINK_STOCK_MAX)}) counted)`;

const COLUMNS = sql`
  l.merchant_id as "merchantId", l.link_id as "linkId", l.link_code as code, l.uid, l.currency, l.amount,
  case when l.chain is not null then jsonb_build_object('chain', l.chain, 'symbol', l.symbol) end as coin, l.accept,
  l.min_amount as "minAmount", l.max_amount as "maxAmount", l.description, l.return_url as "returnUrl", l.stock,
  l.expires_at as "expiresAt", l.closed_at as "closedAt", l.created_at as "createdAt",
  coalesce(l.expires_at <= clock_timestamp(), false) as "isExpired",
  ${counted(`'SUCCESS'`)} as sold, ${counted(`'INIT', 'PENDING', 'PENDING_CONFIRMATION'`)} as reserved`;

/** Payment links. `spent` is false when the nonce was already used, and no row has changed. */
export function linkStore(db: Db) {
  const spendNonce = ({ merchantId, nonce, expiresAt }: SpentNonce) => sql`
    spent as materialized (select spend_nonce(${merchantId}, ${nonce}, ${expiresAt}) as ok)`;
  return {
    /** Creates the link unless there is one with this id. */
    async createLink(
      link: NewLink,
      nonce: SpentNonce,
    ): Promise<{ readonly spent: boolean; readonly created: boolean }> {
      const accept = link.accept === null ? null : JSON.stringify(link.accept);
      const { rows } = await sql<{ spent: boolean; created: boolean }>`
        with ${spendNonce(nonce)}, created as (
          insert into payment_link (merchant_id, link_id, link_code, uid, chain, symbol, accept, currency, amount,
            min_amount, max_amount, description, return_url, stock, expires_at)
          select ${link.merchantId}, ${link.linkId}, ${link.code}, ${link.uid}, ${link.coin?.chain ?? null},
            ${link.coin?.symbol ?? null}, ${accept}::jsonb, ${link.currency}, ${link.amount}, ${link.minAmount}, ${link.maxAmount}, ${link.description}, ${link.returnUrl},
            ${link.stock}::integer, ${link.expiresAt}::timestamptz
          from spent where ok
          on conflict (merchant_id, link_id) do nothing returning 1
        )
        select ok as spent, exists (select from created) as created from spent`.execute(db);
      return rows[0] ?? { spent: false, created: false };
    },

    /** Closing again keeps the first time. */
    async closeLink(
      merchantId: string,
      linkId: string,
      nonce: SpentNonce,
    ): Promise<{ readonly spent: boolean }> {
      const { rows } = await sql<{ spent: boolean }>`
        with ${spendNonce(nonce)}, closed as (
          update payment_link set closed_at = coalesce(closed_at, clock_timestamp())
          from spent where ok and merchant_id = ${merchantId} and link_id = ${linkId} returning 1
        )
        select ok as spent from spent`.execute(db);
      return rows[0] ?? { spent: false };
    },

    async findLink(merchantId: string, linkId: string): Promise<LinkRow | undefined> {
      const { rows } = await sql<LinkRow>`
        select ${COLUMNS} from payment_link l
        where l.merchant_id = ${merchantId} and l.link_id = ${linkId}`.execute(db);
      return rows[0];
    },

    /** Undefined also for a disabled merchant. */
    async findLinkByCode(code: string): Promise<LinkOfMerchant | undefined> {
      const { rows } = await sql<LinkOfMerchant>`
        select ${COLUMNS}, ${MERCHANT_PROFILE} as merchant
        from payment_link l join merchant m on m.merchant_id = l.merchant_id
        where l.link_code = ${code} and m.enabled`.execute(db);
      return rows[0];
    },

    /** Newest first; one more than the limit when there are further ones. */
    async listLinks(merchantId: string, { limit, before }: LinkPage): Promise<readonly LinkRow[]> {
      const { rows } = await sql<LinkRow>`
        select ${COLUMNS} from payment_link l
        where l.merchant_id = ${merchantId} and (${before}::text is null or (l.created_at, l.link_id) < (
          select b.created_at, b.link_id from payment_link b where b.merchant_id = ${merchantId} and b.link_id = ${before}))
        order by l.created_at desc, l.link_id desc limit ${limit + 1}`.execute(db);
      return rows;
    },
  };
}
