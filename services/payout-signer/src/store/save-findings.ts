import { sql } from 'kysely';
import type { Tx } from '@opentill/db/database';
import type { BalanceRow } from '../payout-store.ts';
import type { WalletKey } from '../wallet-facts.ts';
import { ofWallet } from './rows.ts';

/**
 * Marks nonces as used by a stranger: those that were signed keep their payout, which will be signed anew when the halt is
 * released; a payout that one was only reserved for gets another. The halt is an incident by the database's own rule.
 */
export async function saveTaken(
  tx: Tx,
  key: WalletKey,
  nonces: readonly number[],
  reason: string,
  haltId: string,
): Promise<void> {
  await sql`
    insert into wallet_nonce as n (chain, wallet, nonce, state)
    select ${key.chain}, ${key.wallet}, t.nonce, 'TAKEN' from unnest(${nonces}::int8[]) as t (nonce)
    on conflict (chain, wallet, nonce) do update set state = 'TAKEN', updated_at = now(),
        order_pk = case when n.state = 'SIGNED' then n.order_pk end
      where n.state in ('RESERVED', 'SIGNED')`.execute(tx);
  const { rows } = await sql`
    select from wallet_halt where chain = ${key.chain} and wallet = ${key.wallet} and kind = 'FOREIGN_NONCE'
      and released_at is null`.execute(tx);
  if (rows.length > 0) return;
  await sql`
    insert into wallet_halt (halt_id, chain, wallet, kind, reason, set_by, set_at)
    values (${haltId}, ${key.chain}, ${key.wallet}, 'FOREIGN_NONCE', ${reason}, 'payout-signer', clock_timestamp())`.execute(
    tx,
  );
}

/** Frees the nonces that payouts hold. */
export async function freeNoncesOf(tx: Tx, key: WalletKey, orderPks: readonly string[]): Promise<void> {
  await sql`
    update wallet_nonce n set order_pk = null, updated_at = now()
    where ${ofWallet(key)} and n.state = 'RESERVED' and n.order_pk = any(${orderPks}::uuid[])`.execute(tx);
}

/** What the chain says the wallet holds, at a block. */
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
