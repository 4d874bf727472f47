import { sql } from 'kysely';
import type { Tx } from '@opentill/db/database';
import type { FateChange } from '../judge-fates.ts';
import type { ScanNetwork } from '../scan-network.ts';

/**
 * Records what became of own transactions. A row is changed only when its block, its contents or its state differ; then
 * its version grows. One that lost its block keeps what it was there. Gives the hashes of new and changed rows.
 */
export async function recordFates(
  tx: Tx,
  { chain, family }: ScanNetwork,
  changes: readonly FateChange[],
): Promise<readonly string[]> {
  const mined = changes.flatMap((change) =>
    change.state === 'ORPHANED'
      ? []
      : [
          {
            tx_hash: change.fate.txHash,
            block_height: change.fate.blockHeight,
            block_hash: change.fate.blockHash,
            block_time: change.blockTimeSeconds,
            state: change.state,
            succeeded: change.fate.succeeded,
            delivered: change.fate.deliveredBaseUnits.toString(),
            network_fee: change.fate.feeBaseUnits.toString(),
          },
        ],
  );
  const orphaned = changes.flatMap((change) => (change.state === 'ORPHANED' ? [change.txHash] : []));
  const written: string[] = [];
  if (mined.length > 0) {
    const { rows } = await sql<{ tx_hash: string }>`
      insert into own_transaction_fate as f (chain, tx_hash, family, block_height, block_hash, block_time, state, succeeded,
        delivered, network_fee)
      select ${chain}, m.tx_hash, ${family}, m.block_height, m.block_hash, to_timestamp(m.block_time), m.state, m.succeeded,
        m.delivered, m.network_fee
      from jsonb_to_recordset(${JSON.stringify(mined)}::jsonb) as m (tx_hash text, block_height int8, block_hash text,
        block_time int8, state text, succeeded boolean, delivered numeric, network_fee numeric)
      on conflict (chain, tx_hash) do update
        set block_height = excluded.block_height, block_hash = excluded.block_hash, block_time = excluded.block_time,
          state = excluded.state, succeeded = excluded.succeeded, delivered = excluded.delivered,
          network_fee = excluded.network_fee, version = f.version + 1, updated_at = now()
        where (f.state, f.block_hash, f.succeeded, f.delivered, f.network_fee)
          is distinct from (excluded.state, excluded.block_hash, excluded.succeeded, excluded.delivered, excluded.network_fee)
      returning tx_hash`.execute(tx);
    written.push(...rows.map((row) => row.tx_hash));
  }
  if (orphaned.length > 0) {
    const { rows } = await sql<{ tx_hash: string }>`
      update own_transaction_fate set state = 'ORPHANED', version = version + 1, updated_at = now()
      where chain = ${chain} and tx_hash = any(${orphaned}::text[]) and state <> 'ORPHANED'
      returning tx_hash`.execute(tx);
    written.push(...rows.map((row) => row.tx_hash));
  }
  return written;
}
