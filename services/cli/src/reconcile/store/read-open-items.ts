import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Tx } from '@opentill/db/database';
import { sql } from 'kysely';
import type { OpenItem, OpenItemKind } from '../chain-ledger.ts';

/** Limits the list; the sums include all deposits. */
const DEPOSITS_NAMED = 200;

type Network = Pick<NetworkConfig, 'chain' | 'family' | 'nativeSymbol'>;

/** Lists the oldest DEPOSITS_NAMED deposits, and all items that the comparison of hot wallets needs. */
export async function readOpenItems(tx: Tx, network: Network, height: number): Promise<readonly OpenItem[]> {
  return [
    ...(await openDeposits(tx, network, height)),
    ...(await openTopUps(tx, network, height)),
    ...(await openPayouts(tx, network, height)),
    ...(await openFees(tx, network, height)),
  ];
}

interface Row {
  readonly symbol: string;
  readonly txHash: string;
  readonly subject: string;
  readonly amount: bigint;
  readonly ageSeconds: number;
}

const itemsOf = (rows: readonly Row[], kindOf: (row: Row) => OpenItemKind): readonly OpenItem[] =>
  rows.map((row) => ({ ...row, kind: kindOf(row) }));

const SECONDS_SINCE = (column: string) =>
  sql`greatest(0, floor(extract(epoch from clock_timestamp() - ${sql.ref(column)})))::int`;

async function openDeposits(
  tx: Tx,
  { chain, family }: Network,
  height: number,
): Promise<readonly OpenItem[]> {
  const { rows } = await sql<Row>`
    select t.symbol, t.tx_hash as "txHash", t.to_address as subject, ${SECONDS_SINCE('t.updated_at')} as "ageSeconds",
      case when t.state = 'VERIFIED' then t.amount else 0 end - coalesce(s.booked_amount, 0) as amount
    from transfer t join deposit_address d on d.family = ${family} and d.address = t.to_address
      left join transfer_settlement s using (transfer_id)
    where t.chain = ${chain} and t.block_height <= ${height}
      and coalesce(s.booked_amount, 0) <> case when t.state = 'VERIFIED' then t.amount else 0 end
    order by t.updated_at limit ${DEPOSITS_NAMED}`.execute(tx);
  return itemsOf(rows, () => 'DEPOSIT_NOT_BOOKED');
}

/**
 * The tracker books them from the chain; an operator may have booked them by hand, maybe before the wallet was watched.
 * If a transfer was partly booked by hand, only the rest is open.
 */
async function openTopUps(tx: Tx, { chain, family }: Network, height: number): Promise<readonly OpenItem[]> {
  const { rows } = await sql<Row>`
    with arrived as (
      select t.symbol, t.tx_hash, min(t.to_address) as wallet, max(t.updated_at) as updated_at,
        sum(case when t.state = 'VERIFIED' and t.block_height <= ${height}
          and not exists (select from hot_wallet o where o.family = t.family and o.address = t.from_address)
          and not exists (select from own_transaction o where o.chain = t.chain and o.tx_hash = t.tx_hash)
          then t.amount - case when s.booked_amount is null
            then (select coalesce(sum(h.amount), 0) from hand_bookings_of(t.transfer_id) h) else 0 end
          else 0 end) as brought,
        sum(coalesce(s.booked_amount, 0)) as booked
      from hot_wallet w join transfer t on t.family = w.family and t.to_address = w.address and t.chain = ${chain}
        left join transfer_settlement s using (transfer_id)
      where w.family = ${family}
      group by t.symbol, t.tx_hash
    )
    select a.symbol, a.tx_hash as "txHash", a.wallet as subject,
      ${SECONDS_SINCE('a.updated_at')} as "ageSeconds",
      a.brought - a.booked - coalesce(h.amount, 0) as amount
    from arrived a left join lateral (
      select b.amount - b.matched as amount from hand_booking b
      where b.ref = ${chain}::text || ':' || a.tx_hash || ':' || a.symbol and b.ended_by is null
    ) h on true
    where a.brought <> a.booked + coalesce(h.amount, 0)`.execute(tx);
  return itemsOf(rows, ({ amount }) => (amount > 0n ? 'TOP_UP_NOT_BOOKED' : 'TOP_UP_AHEAD'));
}

/** Lists payouts that left the wallet in a block up to `height`, or that the ledger records as sent. */
async function openPayouts(tx: Tx, { chain }: Network, height: number): Promise<readonly OpenItem[]> {
  const { rows } = await sql<Row>`
    with landed as (
      select t.order_pk, min(t.tx_hash) as tx_hash, max(f.updated_at) as updated_at
      from own_transaction_fate f join own_transaction t using (chain, tx_hash)
      where f.chain = ${chain} and f.state <> 'ORPHANED' and f.block_height <= ${height} and f.succeeded and f.delivered > 0
        and t.order_pk is not null and exists (select from hot_wallet w where w.family = t.family and w.address = t.wallet)
      group by t.order_pk
    )
    select o.symbol, coalesce(l.tx_hash, '') as "txHash", o.order_id as subject,
      ${SECONDS_SINCE('x.at')} as "ageSeconds",
      case when l.order_pk is null then o.amount else -o.amount end as amount
    from payout p join orders o using (order_pk) left join landed l using (order_pk) left join movement m using (order_pk),
      lateral (select coalesce(l.updated_at, p.updated_at) as at) x
    where p.chain = ${chain} and (m.kind is null or m.kind in ('GAS_TOP_UP', 'TO_COLD', 'REFUND'))
      and (p.money = 'PAID_OUT') <> (l.order_pk is not null)`.execute(tx);
  return itemsOf(rows, () => 'PAYOUT_NOT_BOOKED');
}

async function openFees(
  tx: Tx,
  { chain, nativeSymbol }: Network,
  height: number,
): Promise<readonly OpenItem[]> {
  const { rows } = await sql<Row>`
    select ${nativeSymbol}::text as symbol, f.tx_hash as "txHash", t.wallet as subject,
      ${SECONDS_SINCE('f.updated_at')} as "ageSeconds",
      coalesce(s.booked_fee, 0) - x.paid as amount
    from own_transaction_fate f join own_transaction t using (chain, tx_hash)
      left join own_transaction_settlement s using (chain, tx_hash),
      lateral (select case when f.state <> 'ORPHANED' and f.block_height <= ${height} then f.network_fee else 0 end as paid) x
    where f.chain = ${chain} and coalesce(s.booked_fee, 0) <> x.paid
      and (t.family = 'SUI' or exists (select from hot_wallet w where w.family = t.family and w.address = t.wallet))`.execute(
    tx,
  );
  return itemsOf(rows, () => 'FEE_NOT_BOOKED');
}
