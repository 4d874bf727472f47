import { sql } from 'kysely';
import type { EpochEnd } from '@opentill/chain/epoch-committee';
import type { Tx } from '@opentill/db/database';
import type { Chain } from '@opentill/domain/chains';
import type { ForeignTransaction, LandedTransaction } from '../scan-change.ts';

/** Writes down what hot wallets did that the gateway did not sign, and all that it moved; each once. */
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

/** Writes down which epochs ended in what was proven; call it when the cursor has moved. */
export async function recordEpochEnds(tx: Tx, chain: Chain, ends: readonly EpochEnd[]): Promise<void> {
  if (ends.length === 0) return;
  await sql`
    insert into epoch_end (chain, epoch, after_height, height, hash)
    select c.chain, e.epoch, c.proven_after_height, e.height, e.hash
    from jsonb_to_recordset(${JSON.stringify(ends)}::jsonb) as e (epoch int8, height int8, hash text)
      join chain_cursor c on c.chain = ${chain} and c.proven_after_height < e.height
    on conflict do nothing`.execute(tx);
}
