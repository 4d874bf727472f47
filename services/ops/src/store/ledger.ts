import { sql } from 'kysely';
import type { OpsInput } from '@opentill/contracts/ops/catalog';
import type { Db } from '@opentill/db/database';
import type { Chain } from '@opentill/domain/chains';
import { isSymbol } from './is-symbol.ts';
import { idsMadeIn } from '../page.ts';
import { readRows } from './read-rows.ts';

/** Sorted by account number, which is permanent. */
export async function findBalances(
  db: Db,
  filter: OpsInput<'listBalances'>,
  after: string | undefined,
  limit: number,
) {
  let query = db
    .selectFrom('ledger_account')
    .select([
      'account_id as accountId',
      'kind as account',
      'chain',
      'symbol',
      'merchant_id as merchantId',
      'balance',
    ])
    .orderBy('account_id')
    .limit(limit);
  if (after !== undefined) query = query.where('account_id', '>', Number(after));
  if (filter.chain !== undefined) query = query.where('chain', '=', filter.chain);
  if (filter.symbol !== undefined) query = query.where(isSymbol('symbol', filter.symbol));
  if (filter.merchantId !== undefined) query = query.where('merchant_id', '=', filter.merchantId);
  if (filter.account !== undefined) query = query.where(sql<boolean>`kind = ${filter.account}`);
  return query.execute();
}

export interface TopUpRow {
  readonly ledgerTxId: number;
  readonly ref: string;
  readonly chain: Chain;
  readonly symbol: string;
  readonly amount: bigint;
  readonly matched: bigint;
  readonly asOfHeight: number | null;
  readonly bookedAt: Date;
  readonly state: 'OPEN' | 'REPLACED' | 'REVERSED';
}

export async function findTopUps(
  db: Db,
  { chain, symbol, open }: OpsInput<'listTopUps'>,
  after: string | undefined,
  limit: number,
): Promise<readonly TopUpRow[]> {
  const { rows } = await sql<TopUpRow>`
    select b.ledger_tx_id as "ledgerTxId", b.ref, b.chain, b.symbol, b.amount, b.matched, b.as_of_height as "asOfHeight",
      t.created_at as "bookedAt",
      case when e.ref is null then 'OPEN' when e.ref like 'top-up-replaced:%' then 'REPLACED' else 'REVERSED' end as state
    from hand_booking b join ledger_transaction t on t.ledger_tx_id = b.ledger_tx_id
      left join ledger_transaction e on e.ledger_tx_id = b.ended_by
    where (${after ?? null}::int8 is null or b.ledger_tx_id < ${after ?? null}::int8)
      and (${chain ?? null}::text is null or b.chain = ${chain ?? null})
      and ${symbol === undefined ? sql`true` : isSymbol('b.symbol', symbol)}
      and (${open ?? null}::boolean is null or (b.ended_by is null) = ${open ?? null})
    order by b.ledger_tx_id desc limit ${limit}`.execute(db);
  return rows;
}

export async function postingsOf(db: Db, orderPk: string, limit: number) {
  return db
    .selectFrom('ledger_transaction as t')
    .innerJoin('ledger_posting as p', 'p.ledger_tx_id', 't.ledger_tx_id')
    .innerJoin('ledger_account as a', 'a.account_id', 'p.account_id')
    .select([
      't.ledger_tx_id as ledgerTxId',
      't.ref',
      't.kind',
      't.created_at as createdAt',
      'a.kind as account',
      'a.chain',
      'a.symbol',
      'a.merchant_id as merchantId',
      'p.amount',
    ])
    .where('t.order_pk', '=', orderPk)
    .orderBy('t.ledger_tx_id')
    .orderBy('p.account_id')
    .limit(limit)
    .execute();
}

export interface Time {
  readonly from: Date;
  readonly until: Date;
}

/** Texts as Postgres returns them. */
export interface ExportedOrder {
  readonly order_pk: string;
  readonly merchant_id: string;
  readonly order_id: string;
  readonly order_type: string;
  readonly uid: string | null;
  readonly status: string;
  readonly reason: string | null;
  readonly chain: string;
  readonly symbol: string;
  readonly contract_address: string | null;
  readonly decimals: number;
  readonly display_decimals: number;
  readonly amount: bigint;
  readonly detected_amount: bigint;
  readonly actual_amount: bigint | null;
  readonly choices: number | null;
  readonly address: string | null;
  readonly source_address: string | null;
  readonly created_at: Date;
  readonly expires_at: Date;
  readonly updated_at: Date;
}

/** Oldest first, by the time-ordered ids, through the index. */
export function readOrders(
  db: Db,
  { from, until }: Time,
  signal: AbortSignal,
): AsyncIterable<readonly ExportedOrder[]> {
  const ids = idsMadeIn(from, until);
  const query = sql<ExportedOrder>`
    select order_pk, merchant_id, order_id, order_type, uid, status, reason, chain, symbol, contract_address, decimals,
      display_decimals, amount, detected_amount, actual_amount, choices, address, source_address, created_at, expires_at, updated_at
    from orders
    where order_pk >= ${ids.from}::uuid and order_pk < ${ids.until}::uuid and created_at >= ${from} and created_at < ${until}
    order by order_pk`;
  return readRows(db, query, signal);
}

export interface ExportedPosting {
  readonly ledger_tx_id: number;
  readonly created_at: Date;
  readonly kind: string;
  readonly ref: string;
  readonly order_pk: string | null;
  readonly account: string;
  readonly merchant_id: string | null;
  readonly chain: string;
  readonly symbol: string;
  readonly amount: bigint;
}

export function readPostings(
  db: Db,
  { from, until }: Time,
  signal: AbortSignal,
): AsyncIterable<readonly ExportedPosting[]> {
  const query = sql<ExportedPosting>`
    select t.ledger_tx_id, t.created_at, t.kind, t.ref, t.order_pk, a.kind as account, a.merchant_id, a.chain, a.symbol, p.amount
    from ledger_transaction t join ledger_posting p using (ledger_tx_id) join ledger_account a using (account_id)
    where t.created_at >= ${from} and t.created_at < ${until}
    order by t.ledger_tx_id, p.account_id`;
  return readRows(db, query, signal);
}
