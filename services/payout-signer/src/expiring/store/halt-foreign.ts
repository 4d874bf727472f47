import { sql } from 'kysely';
import type { Tx } from '@opentill/db/database';
import type { WalletKey } from '../../payouts/payout-facts.ts';
import { newForeign } from './rows.ts';

/** Uses the open FOREIGN_NONCE halt or sets a new one. Each transaction halts the wallet once and is returned once. */
export async function haltForeign(
  tx: Tx,
  key: WalletKey,
  reason: string,
  haltId: string,
): Promise<readonly string[]> {
  const { chain, wallet } = key;
  const found = await sql<{ tx_hash: string }>`select x.tx_hash ${newForeign(key)}`.execute(tx);
  if (found.rows.length === 0) return [];
  const txHashes = found.rows.map((row) => row.tx_hash);
  await sql`
    insert into wallet_halt (halt_id, chain, wallet, kind, reason, set_by, set_at)
    select ${haltId}::uuid, ${chain}, ${wallet}, 'FOREIGN_NONCE', ${reason}, 'payout-signer', clock_timestamp()
    where not exists (select from wallet_halt h where h.chain = ${chain} and h.wallet = ${wallet} and h.kind = 'FOREIGN_NONCE'
      and h.released_at is null)`.execute(tx);
  await sql`
    update foreign_transaction x set halt_id = (
      select h.halt_id from wallet_halt h where h.chain = x.chain and h.wallet = x.wallet and h.kind = 'FOREIGN_NONCE'
        and h.released_at is null order by h.set_at limit 1)
    where x.chain = ${chain} and x.wallet = ${wallet} and x.tx_hash = any(${txHashes}::text[]) and x.halt_id is null`.execute(
    tx,
  );
  return txHashes;
}
