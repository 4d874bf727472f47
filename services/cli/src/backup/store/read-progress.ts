import type { Address } from '@opentill/chain/address-codec';
import type { BlockHash } from '@opentill/chain/block';
import type { SelectOwnAddresses, SentTransaction } from '@opentill/chain-tron/sender/read-wallet-history';
import type { Db, Tx } from '@opentill/db/database';
import { sql } from 'kysely';
import type { Hold } from './restored-rows.ts';

interface Progress {
  readonly height: number;
  readonly hash: BlockHash | undefined;
  readonly overMs: number | null;
}

export function oursAmong(db: Db, { restoreId, chain }: Hold): SelectOwnAddresses {
  return async (owners) => {
    const { rows } = await sql<{ address: Address }>`
      select d.address from deposit_address d join chain_family f using (family)
        where f.chain = ${chain} and d.address = any(${owners}::text[])
      union select h.wallet from restore_hold h
        where h.restore_id = ${restoreId} and h.chain = ${chain} and h.wallet = any(${owners}::text[])`.execute(
      db,
    );
    return new Set(rows.map(({ address }) => address));
  };
}

/** Takes the hold of the chain that was read least far. */
export async function readProgress(db: Db, { restoreId, chain }: Hold): Promise<Progress> {
  const { rows } = await sql<{
    height: number;
    hash: BlockHash | null;
    over_ms: number | null;
  }>`
    select coalesce(h.read_height, least(h.from_height, (
        select min(a.reference_height) from payout_attempt a where a.chain = h.chain and a.state = 'OPEN'))) as height,
      h.read_hash as hash, h.read_over_ms as over_ms
    from restore_hold h where h.restore_id = ${restoreId} and h.chain = ${chain} and h.released_at is null
    order by 1, h.read_height nulls first limit 1`.execute(db);
  const [row] = rows;
  return { height: row?.height ?? 0, hash: row?.hash ?? undefined, overMs: row?.over_ms ?? null };
}

/** Stores neither blocks nor progress while own transactions in them are not verified. @returns these */
export function saveRead(
  db: Db,
  hold: Hold,
  sent: readonly SentTransaction[],
  last: { readonly height: number; readonly hash: BlockHash; readonly overMs: number },
): Promise<readonly string[]> {
  return db.transaction().execute(async (tx) => {
    const open = await findNotVerified(tx, hold, sent);
    if (open.length === 0) await save(tx, hold, sent, last);
    return open;
  });
}

async function findNotVerified(
  tx: Tx,
  { chain }: Hold,
  sent: readonly SentTransaction[],
): Promise<readonly string[]> {
  const { rows } = await sql<{ tx_hash: string }>`
    select t.tx_hash from own_transaction t left join own_transaction_fate f using (chain, tx_hash)
    where t.chain = ${chain} and t.tx_hash = any(${sent.map(({ txHash }) => txHash)}::text[])
      and f.state is distinct from 'VERIFIED'`.execute(tx);
  return rows.map((row) => row.tx_hash);
}

async function save(
  tx: Tx,
  { restoreId, chain }: Hold,
  sent: readonly SentTransaction[],
  { height, hash, overMs }: { readonly height: number; readonly hash: BlockHash; readonly overMs: number },
): Promise<void> {
  for (const { owner, txHash, blockHeight, blockHash, blockTimeMs, raw, payment } of sent) {
    const { contract = null, to = null, amountBaseUnits } = payment?.intent ?? {};
    await sql`
      insert into forgotten_payment (chain, tx_hash, restore_id, wallet, nonce, raw, contract_address, to_address, amount,
        block_height, block_hash, block_time)
      select ${chain}, ${txHash}, ${restoreId}, ${owner}, null, ${Buffer.from(raw)}, ${contract}::text, ${to}::text,
        ${amountBaseUnits?.toString() ?? null}::numeric, ${blockHeight}, ${blockHash}, ${new Date(blockTimeMs)}
      where not exists (select from own_transaction t where t.chain = ${chain} and t.tx_hash = ${txHash})
      on conflict do nothing`.execute(tx);
  }
  await sql`
    update restore_hold set read_height = ${height}, read_hash = ${hash}, read_over_ms = ${overMs}
    where restore_id = ${restoreId} and chain = ${chain} and released_at is null`.execute(tx);
}
