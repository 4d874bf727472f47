import { sql } from 'kysely';
import type { EpochEnd } from '@opentill/chain/epoch-committee';
import type { Tx } from '@opentill/db/database';
import type { Chain } from '@opentill/domain/chains';
import type { FateChange } from '../judge-fates.ts';
import type { ForeignTransaction, LandedTransaction } from '../scan-change.ts';
import type { ScanNetwork } from '../scan-network.ts';

export async function recordForeign(
  tx: Tx,
  chain: Chain,
  found: readonly ForeignTransaction[],
): Promise<void> {
  if (found.length === 0) return;
  const rows = found.map(({ moved: [first], ...one }) => ({
    tx_hash: one.txHash,
    wallet: one.wallet,
    block_height: one.blockHeight,
    block_hash: one.blockHash,
    block_time: one.blockTimeSeconds,
    contract_address: first?.contract ?? null,
    to_address: first?.to ?? null,
    amount: first?.amountBaseUnits.toString() ?? null,
  }));
  await sql`
    insert into foreign_transaction (chain, tx_hash, wallet, block_height, block_hash, block_time, contract_address, to_address, amount)
    select ${chain}, f.tx_hash, f.wallet, f.block_height, f.block_hash, to_timestamp(f.block_time), f.contract_address, f.to_address,
      f.amount
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as f (tx_hash text, wallet text, block_height int8, block_hash text,
      block_time int8, contract_address text, to_address text, amount numeric)
    on conflict do nothing`.execute(tx);
  const transfers = found.flatMap(({ txHash, wallet, moved }) =>
    moved.map(({ contract, to, amountBaseUnits }, place) => ({
      tx_hash: txHash,
      wallet,
      place,
      contract_address: contract,
      to_address: to,
      amount: amountBaseUnits.toString(),
    })),
  );
  if (transfers.length === 0) return;
  await sql`
    insert into foreign_transfer (chain, tx_hash, wallet, place, contract_address, to_address, amount)
    select ${chain}, f.tx_hash, f.wallet, f.place, f.contract_address, f.to_address, f.amount
    from jsonb_to_recordset(${JSON.stringify(transfers)}::jsonb) as f (tx_hash text, wallet text, place int4, contract_address text,
      to_address text, amount numeric)
    on conflict do nothing`.execute(tx);
}

/** Landed attempts never expire as dead. */
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

export async function recordEpochEnds(tx: Tx, chain: Chain, ends: readonly EpochEnd[]): Promise<void> {
  if (ends.length === 0) return;
  await sql`
    insert into epoch_end (chain, epoch, after_height, height, hash)
    select c.chain, e.epoch, c.proven_after_height, e.height, e.hash
    from jsonb_to_recordset(${JSON.stringify(ends)}::jsonb) as e (epoch int8, height int8, hash text)
      join chain_cursor c on c.chain = ${chain} and c.proven_after_height < e.height
    on conflict do nothing`.execute(tx);
}

/**
 * A row changes only if its block, contents or state differ; then its version grows. An orphaned row keeps its values.
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
