import { sql } from 'kysely';
import type { Tx } from '@opentill/db/database';
import type { BalanceRow, WalletKey } from '../payouts/payout-facts.ts';
import { ofWallet } from './rows.ts';

/** Once per `mark` (nonce or unique time), also if the halt was released since the caller read its view. */
export async function haltRestored(
  tx: Tx,
  { chain, wallet }: WalletKey,
  mark: number,
  reason: string,
  haltId: string,
): Promise<boolean> {
  const { rows } = await sql`
    insert into wallet_halt (halt_id, chain, wallet, kind, mark, reason, set_by, set_at)
    select ${haltId}::uuid, ${chain}, ${wallet}, 'RESTORED', ${mark}::int8, ${reason}, 'payout-signer', clock_timestamp()
    where not exists (select from wallet_halt h where h.chain = ${chain} and h.wallet = ${wallet} and h.mark >= ${mark}::int8
      and h.released_at is not null)
    on conflict (chain, coalesce(wallet, '')) where kind = 'RESTORED' and released_at is null do nothing
    returning 1`.execute(tx);
  return rows.length > 0;
}

export async function freeNoncesOf(tx: Tx, key: WalletKey, orderPks: readonly string[]): Promise<void> {
  await sql`
    update wallet_nonce n set order_pk = null, updated_at = now()
    where ${ofWallet(key)} and n.state = 'RESERVED' and n.order_pk = any(${orderPks}::uuid[])`.execute(tx);
}

export async function saveBalances(
  tx: Tx,
  { chain, wallet }: WalletKey,
  block: { readonly height: number; readonly hash: string },
  rows: readonly BalanceRow[],
): Promise<void> {
  await sql`
    insert into hot_wallet_balance as b (chain, wallet, symbol, contract_address, amount, block_height, block_hash, seen_at)
    select ${chain}, ${wallet}, r.symbol, r.contract, r.amount, ${block.height}, ${block.hash}, clock_timestamp()
    from unnest(${rows.map((r) => r.symbol)}::text[], ${rows.map((r) => r.contract)}::text[],
      ${rows.map((r) => r.amount.toString())}::numeric[]) as r (symbol, contract, amount)
    on conflict (chain, wallet, symbol) do update set contract_address = excluded.contract_address, amount = excluded.amount,
      block_height = excluded.block_height, block_hash = excluded.block_hash, seen_at = excluded.seen_at`.execute(
    tx,
  );
}
