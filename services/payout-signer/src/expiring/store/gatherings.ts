import { sql } from 'kysely';
import type { TokenContract, TxHash } from '@opentill/chain/transfer';
import type { Db, Tx } from '@opentill/db/database';
import { familyOf } from '@opentill/domain/chains';
import type { WalletKey } from '../../payouts/payout-facts.ts';
import { openHalts } from '../../store/rows.ts';
import type { NewGathering, OpenGathering } from './attempt-store.ts';
import { openGatherings } from './rows.ts';

export async function saveGathering(
  tx: Tx,
  key: WalletKey,
  { txHash, raw, contract, amountBaseUnits, feeLimitBaseUnits, heldAs }: NewGathering,
  lastEpoch: number | undefined,
): Promise<boolean> {
  const { chain, wallet } = key;
  const halts = await sql`select 1 ${openHalts(key)} limit 1`.execute(tx);
  const holds = await sql`select from asset_hold
    where chain = ${chain} and symbol = ${heldAs ?? null}::text and released_at is null limit 1`.execute(tx);
  if (halts.rows.length + holds.rows.length > 0) return false;
  const terms = JSON.stringify({ feeLimit: `${feeLimitBaseUnits}`, cost: `${feeLimitBaseUnits}`, lastEpoch });
  await sql`
    insert into own_transaction (chain, tx_hash, family, wallet, nonce, purpose, order_pk, contract_address, to_address, amount,
      raw, fee_terms, signed_at)
    values (${chain}, ${txHash}, ${familyOf(chain)}, ${wallet}, null, 'GATHER', null, ${contract}, ${wallet},
      ${amountBaseUnits.toString()}::numeric, ${Buffer.from(raw)}, ${terms}::jsonb, clock_timestamp())`.execute(
    tx,
  );
  return true;
}

export async function readOpenGatherings(
  db: Db,
  { chain, wallet }: WalletKey,
): Promise<readonly OpenGathering[]> {
  const { rows } = await sql<{
    tx_hash: TxHash;
    contract: TokenContract | null;
    signed_at: Date;
    is_mined: boolean;
  }>`
    select t.tx_hash, t.contract_address as contract, t.signed_at, coalesce(f.state = 'MINED', false) as is_mined
    ${openGatherings(chain)} and t.wallet = ${wallet} order by t.signed_at`.execute(db);
  return rows.map((row) => ({
    txHash: row.tx_hash,
    contract: row.contract,
    signedAt: row.signed_at,
    isMined: row.is_mined,
  }));
}
