import { sql } from 'kysely';
import type { Tx } from '@opentill/db/database';
import type { WalletKey } from '../../payouts/payout-facts.ts';
import { ofWallet } from '../../store/rows.ts';

/**
 * Excludes nonces with an own transaction in a block. A signed one keeps its payout, which the unknown transaction may
 * have paid and which waits for a decision. Halts the wallet, unless `haltId` is null.
 */
export async function saveTaken(
  tx: Tx,
  key: WalletKey,
  fencingToken: number,
  nonces: readonly number[],
  reason: string,
  haltId: string | null,
): Promise<void> {
  await sql`
    insert into wallet_nonce as n (chain, wallet, nonce, state)
    select ${key.chain}, ${key.wallet}, t.nonce, 'TAKEN' from unnest(${nonces}::int8[]) as t (nonce)
    on conflict (chain, wallet, nonce) do update set state = 'TAKEN', updated_at = now(),
        order_pk = case when n.state = 'SIGNED' then n.order_pk end
      where n.state in ('RESERVED', 'SIGNED') and not exists (
        select from own_transaction o join own_transaction_fate f on f.chain = o.chain and f.tx_hash = o.tx_hash
        where o.chain = n.chain and o.wallet = n.wallet and o.nonce = n.nonce and f.state in ('MINED', 'VERIFIED'))`.execute(
    tx,
  );
  await sql`
    with lost as (
      select p.order_pk from wallet_nonce n join payout p using (order_pk)
      where ${ofWallet(key)} and n.nonce = any(${nonces}::int8[]) and n.state = 'TAKEN' and p.state = 'SIGNED'
      order by p.order_pk for update of p
    )
    update payout p set obstacle = 'NEEDS_DECISION', obstacle_at = clock_timestamp(), fencing_token = ${fencingToken},
      version = p.version + 1, updated_at = now()
    from lost where p.order_pk = lost.order_pk`.execute(tx);
  if (haltId === null) return;
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

const MADE_AT_ONCE = 1_000;

/** Returns the number of nonces created or freed. `first`: where nonces begin, for a wallet that has none. */
export async function keepFromPayouts(tx: Tx, key: WalletKey, mark: number, first: number): Promise<number> {
  const freed = await sql`
    update wallet_nonce n set order_pk = null, updated_at = now()
    where ${ofWallet(key)} and n.state = 'RESERVED' and n.order_pk is not null and n.nonce <= ${mark} returning 1`.execute(
    tx,
  );
  const made = await sql`
    insert into wallet_nonce (chain, wallet, nonce, state)
    select ${key.chain}, ${key.wallet}, s.nonce, 'RESERVED'
    from generate_series(coalesce((select max(n.nonce) + 1 from wallet_nonce n where ${ofWallet(key)}), ${first}::int8),
      ${mark}::int8) as s (nonce)
    order by s.nonce limit ${MADE_AT_ONCE} returning 1`.execute(tx);
  return freed.rows.length + made.rows.length;
}
