import type { Address } from '@opentill/chain/address-codec';
import type { ReadPayment } from '@opentill/chain-sui/sender/read-payment-bytes';
import type { TxHash } from '@opentill/chain/transfer';
import type { Db } from '@opentill/db/database';
import { sql } from 'kysely';
import type { Anchor } from '../../reconcile/chain-ledger.ts';
import type { Hold } from './restored-rows.ts';

/** The scanner recorded it once for each own wallet or deposit address that takes part. */
export interface SentOnSui {
  readonly txHash: TxHash;
  readonly wallet: Address;
  readonly height: number;
  readonly hash: string;
  readonly time: Date;
}

/** Lists deposit addresses first: they show what a hot wallet received for which it only paid the gas. */
export async function findSentOnSui(
  db: Db,
  { chain, wallet, fromHeight }: Hold,
  anchor: Anchor,
): Promise<readonly SentOnSui[]> {
  const { rows } = await sql<SentOnSui>`
    select x.tx_hash as "txHash", x.wallet, x.block_height as height, x.block_hash as hash, x.block_time as time
    from foreign_transaction x
    where x.chain = ${chain} and x.block_height > ${fromHeight} and x.block_height <= ${anchor.height}
      and (x.wallet = ${wallet} or exists (select from deposit_address d where d.family = 'SUI' and d.address = x.wallet))
      and not exists (select from own_transaction t where t.chain = x.chain and t.tx_hash = x.tx_hash)
      and not exists (select from forgotten_payment f where f.chain = x.chain and f.tx_hash = x.tx_hash)
    order by x.wallet = ${wallet}, x.block_height, x.tx_hash`.execute(db);
  return rows;
}

/** A sweep whose gas the wallet only paid belongs to its deposit address. */
export async function saveSentOnSui(
  db: Db,
  { restoreId, chain }: Hold,
  { txHash, wallet, height, hash, time }: SentOnSui,
  raw: Uint8Array,
  pays: ReadPayment['intent'] | undefined,
): Promise<void> {
  // Whole coins: the bytes do not contain their amounts. Two sources agreed on the result.
  await sql`
    insert into forgotten_payment (chain, tx_hash, restore_id, wallet, nonce, raw, contract_address, to_address, amount,
      block_height, block_hash, block_time)
    select ${chain}, ${txHash}, ${restoreId}, coalesce(d.address, ${wallet}), null, ${Buffer.from(raw)}, ${pays?.contract ?? null}::text,
      p.to_address, p.amount, ${height}, ${hash}, ${time}
    from (select) one
      left join deposit_address d on d.family = 'SUI' and d.address = ${pays?.from ?? null}::text
      left join lateral (
        select ${pays?.to ?? null}::text as to_address, coalesce(${pays?.amountBaseUnits?.toString() ?? null}::numeric, (
          select sum(y.amount) from foreign_transfer y where y.chain = ${chain} and y.tx_hash = ${txHash} and y.wallet = ${wallet}
            and y.to_address = ${pays?.to ?? null}::text and y.contract_address is not distinct from ${pays?.contract ?? null}::text)) as amount
      ) p on ${pays?.from ?? null}::text in (d.address, ${wallet}) and ${pays?.to ?? null}::text <> ${pays?.from ?? null}::text and p.amount is not null
    on conflict do nothing`.execute(db);
}

export async function markReadOnSui(
  db: Db,
  { restoreId, chain, wallet }: Hold,
  { height, hash }: Anchor,
): Promise<void> {
  await sql`
    update restore_hold set read_height = ${height}, read_hash = ${hash}
    where restore_id = ${restoreId} and chain = ${chain} and wallet = ${wallet}`.execute(db);
}

export async function readVerifiedEpoch(db: Db, chain: string): Promise<number | undefined> {
  const { rows } = await sql<{ epoch: number | null }>`
    select verified_epoch as epoch from chain_cursor where chain = ${chain}`.execute(db);
  return rows[0]?.epoch ?? undefined;
}
