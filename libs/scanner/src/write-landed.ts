import { sql } from 'kysely';
import type { Tx } from '@opentill/db/database';
import type { Chain } from '@opentill/domain/chains';
import type { LandedTransaction } from './landed-transaction.ts';

/** Writes down which attempts verified blocks hold: none of these is ever dead. */
export async function recordLanded(
  tx: Tx,
  chain: Chain,
  landed: readonly LandedTransaction[],
): Promise<void> {
  if (landed.length === 0) return;
  await sql`
    insert into own_transaction_landed (chain, tx_hash, block_height, block_hash)
    select ${chain}, l."txHash", l."blockHeight", l."blockHash"
    from jsonb_to_recordset(${JSON.stringify(landed)}::jsonb) as l ("txHash" text, "blockHeight" int8, "blockHash" text)
    on conflict do nothing`.execute(tx);
}
