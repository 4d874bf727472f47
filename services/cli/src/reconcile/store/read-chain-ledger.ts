import type { Address } from '@opentill/chain/address-codec';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Db, Tx } from '@opentill/db/database';
import { sql } from 'kysely';
import { canonicalContract } from '../../families.ts';
import type {
  Account,
  Anchor,
  Asset,
  ChainLedger,
  Doubt,
  ForeignAddress,
  HotWallet,
} from '../chain-ledger.ts';
import { readOpenItems } from './read-open-items.ts';
import { depositMovements } from './unswept-balance.ts';

/** Reads a snapshot at `height`, by default the newest verified block. @returns undefined if `height` is not verified */
export async function readChainLedger(
  db: Db,
  network: NetworkConfig,
  height?: number,
): Promise<ChainLedger | undefined> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (tx) => {
      const newest = await readAnchor(tx, network.chain);
      const anchor = height === undefined ? newest : await readBlock(tx, network.chain, height);
      if (newest === undefined || anchor === undefined || anchor.height > newest.height) return undefined;
      return {
        chain: network.chain,
        anchor,
        assets: assetsOf(network),
        accounts: await readAccounts(tx, network.chain),
        openItems: await readOpenItems(tx, network, anchor.height),
        received: await readReceived(tx, network, anchor.height),
        unmatched: await readUnmatched(tx, network.chain),
        hotWallets: await readHotWallets(tx, network, anchor.height),
        foreignAddresses: await readForeignAddresses(tx, network),
      };
    });
}

/** The newest verified block. The ledger contains no booking from above it. */
export async function readAnchor(db: Db | Tx, chain: string): Promise<Anchor | undefined> {
  const { rows } = await sql<Anchor>`
    select verified_height as height, verified_hash as hash, verified_time as time
    from chain_cursor where chain = ${chain}`.execute(db);
  return rows[0];
}

async function readBlock(tx: Tx, chain: string, height: number): Promise<Anchor | undefined> {
  const { rows } = await sql<Anchor>`
    select height, hash, block_time as time from block where chain = ${chain} and height = ${height}`.execute(
    tx,
  );
  return rows[0];
}

/** Includes the native coin, which pays fees even if it is not configured. */
export function assetsOf(
  network: Pick<NetworkConfig, 'family' | 'tokens' | 'nativeSymbol' | 'nativeDecimals'>,
): readonly Asset[] {
  const tokens = network.tokens.map(({ symbol, contract, decimals, displayDecimals }) => ({
    symbol,
    contract: contract === null ? null : canonicalContract(network.family, contract),
    decimals,
    displayDecimals,
    isConfigured: true,
  }));
  if (tokens.some(({ contract }) => contract === null)) return tokens;
  const { nativeSymbol: symbol, nativeDecimals: decimals } = network;
  return [...tokens, { symbol, contract: null, decimals, displayDecimals: 0, isConfigured: false }];
}

/** Balance of each account and the sum of the rows behind it. Includes accounts that have only one of the two. */
async function readAccounts(tx: Tx, chain: string): Promise<readonly Account[]> {
  const { rows } = await sql<Account>`
    with rows (kind, symbol, merchant_id, amount) as (
      select 'DEPOSIT', s.booked_symbol, null::text, s.booked_amount
        from transfer_settlement s join transfer t using (transfer_id)
        where t.chain = ${chain} and s.booked and s.order_pk is not null
      union all
      select 'DEPOSIT', o.symbol, null, -o.amount
        from movement m join payout p using (order_pk) join orders o using (order_pk)
        where p.chain = ${chain} and m.kind = 'SWEEP' and p.money in ('RESERVED', 'IN_FLIGHT', 'PAID_OUT')
      union all
      select case when s.credited then 'MERCHANT' else 'SUSPENSE' end, s.booked_symbol, o.merchant_id, -s.booked_amount
        from transfer_settlement s join transfer t using (transfer_id) join orders o on o.order_pk = s.order_pk
        where t.chain = ${chain} and s.booked
      union all
      select k.kind, o.symbol, case when k.kind in ('HOT_RESERVED', 'IN_FLIGHT', 'PAID_OUT', 'REFUNDED') then o.merchant_id end, o.amount
        from payout p join orders o using (order_pk) left join movement m using (order_pk),
          lateral (select case p.money when 'RESERVED' then coalesce(m.reserved_kind, 'HOT_RESERVED')
            when 'IN_FLIGHT' then coalesce(m.sent_kind, 'IN_FLIGHT') else coalesce(m.target_kind, 'PAID_OUT') end as kind) k
        where p.chain = ${chain} and p.money in ('RESERVED', 'IN_FLIGHT', 'PAID_OUT')
          and (m.kind is null or m.kind not in ('DELEGATE', 'UNDELEGATE'))
      union all
      select 'NETWORK_FEE', booked_symbol, null, booked_fee
        from own_transaction_settlement where chain = ${chain} and booked_fee is not null
      union all
      select 'DEPOSIT_GAS', s.booked_symbol, null, -s.booked_fee
        from own_transaction_settlement s join own_transaction x using (chain, tx_hash)
          join deposit_address d on d.family = x.family and d.address = x.wallet
        where s.chain = ${chain} and s.booked_fee is not null and x.family <> 'SUI'
    ), entry (kind, symbol, merchant_id, ledger, amount) as (
      select kind, symbol, merchant_id, balance, 0 from ledger_account where chain = ${chain}
      union all select kind, symbol, merchant_id, 0, amount from rows
    )
    select kind, symbol, merchant_id as "merchantId", sum(ledger) as ledger,
      case when kind in ('HOT_AVAILABLE', 'HOT_GAS', 'OWNER') then null else sum(amount) end as rows
    from entry group by kind, symbol, merchant_id order by symbol, kind, merchant_id`.execute(tx);
  return rows;
}

async function readReceived(
  tx: Tx,
  network: NetworkConfig,
  height: number,
): Promise<ReadonlyMap<string, bigint>> {
  const { rows } = await sql<{ symbol: string; amount: bigint }>`
    select l.symbol, sum(l.amount) as amount from (${depositMovements(network, height)}) l group by l.symbol`.execute(
    tx,
  );
  return new Map(rows.map(({ symbol, amount }) => [symbol, amount]));
}

async function readUnmatched(tx: Tx, chain: string): Promise<ReadonlyMap<string, bigint>> {
  const { rows } = await sql<{ symbol: string; amount: bigint }>`
    select s.booked_symbol as symbol, sum(s.booked_amount) as amount
    from unmatched_deposit u join transfer t using (transfer_id) join transfer_settlement s using (transfer_id)
    where t.chain = ${chain} and s.booked and not s.credited and not u.withdrawn
    group by s.booked_symbol`.execute(tx);
  return new Map(rows.map(({ symbol, amount }) => [symbol, amount]));
}

async function readForeignAddresses(
  tx: Tx,
  { chain, family }: Pick<NetworkConfig, 'chain' | 'family'>,
): Promise<readonly ForeignAddress[]> {
  const { rows } = await sql<ForeignAddress>`
    select f.address, f.order_pk as "orderPk" from foreign_deposit_address f
    where f.family = ${family} and (
      exists (select from orders o where o.order_pk = f.order_pk and o.chain = ${chain})
      or exists (select from order_option x where x.order_pk = f.order_pk and x.chain = ${chain} and x.chosen_at is not null)
      or exists (select from deposit_balance b where b.chain = ${chain} and b.address = f.address))
    order by f.found_at, f.address`.execute(tx);
  return rows;
}

/** True if a hot wallet sent or received anything in a block above `from`, up to `to`. */
export async function hasMoved(
  db: Db,
  { chain, family }: Pick<NetworkConfig, 'chain' | 'family'>,
  from: number,
  to: number,
): Promise<boolean> {
  const { rows } = await sql`
    select from own_transaction_fate f where f.chain = ${chain} and f.block_height > ${from} and f.block_height <= ${to}
    union all
    select from hot_wallet w join transfer t on t.family = w.family and t.to_address = w.address
      where w.family = ${family} and t.chain = ${chain} and t.block_height > ${from} and t.block_height <= ${to}
    union all
    select from foreign_transaction x where x.chain = ${chain} and x.block_height > ${from} and x.block_height <= ${to}
    limit 1`.execute(db);
  return rows.length > 0;
}

/** Adds the lowest known nonce to the count: earlier transactions of a wallet in use have no row. */
async function readHotWallets(
  tx: Tx,
  { chain, family }: NetworkConfig,
  height: number,
): Promise<readonly HotWallet[]> {
  const { rows } = await sql<Omit<HotWallet, 'doubts'>>`
    select w.address, min(n.nonce) + count(*) filter (where n.state = 'TAKEN' or exists (
        select from own_transaction t join own_transaction_fate f using (chain, tx_hash)
        where t.chain = n.chain and t.wallet = n.wallet and t.nonce = n.nonce
          and f.state <> 'ORPHANED' and f.block_height <= ${height}
      )) as "knownTransactions"
    from hot_wallet w left join wallet_nonce n on n.chain = ${chain} and n.wallet = w.address
    where w.family = ${family} group by w.address order by w.address`.execute(tx);
  const halts = await sql<Doubt & { wallet: Address | null }>`
    select wallet, kind, reason, set_at as since from wallet_halt
    where chain = ${chain} and kind in ('FOREIGN_NONCE', 'RESTORED') and released_at is null order by set_at`.execute(
    tx,
  );
  return rows.map((row) => ({
    ...row,
    doubts: halts.rows.filter(({ wallet }) => wallet === null || wallet === row.address),
  }));
}
