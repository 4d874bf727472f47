import type { Address } from '@opentill/chain/address-codec';
import type { BlockHash } from '@opentill/chain/block';
import { readerError } from '@opentill/chain/reader-error';
import type {
  OursAmong,
  SentTransaction,
  TronWalletHistoryReader,
} from '@opentill/chain-tron/sender/read-wallet-history';
import type { Db, Tx } from '@opentill/db/database';
import type { Anchor } from '../reconcile/books.ts';
import { sql } from 'kysely';
import type { Hold } from './restore-store.ts';

/** How far the blocks since the backup were read for the holds of a chain. */
export interface ReadSince {
  /** What ends at this time of the chain or before can be in no block that was not read; null: nothing was read. */
  readonly overMs: number | null;
  /** Transactions that the database knows and that its scanner has not found verified yet: it was read up to before them. */
  readonly notVerified: readonly string[];
}

interface Progress {
  readonly height: number;
  readonly hash: BlockHash | undefined;
  readonly overMs: number | null;
}

/** Read and written down at once. */
const BLOCKS_AT_ONCE = 200;

/**
 * Reads every block since the backup, up to the one that the scanner has verified, for what held wallets and deposit addresses
 * sent, and writes down what the database does not know, and how far it got: a run that ends goes on there, and so does the
 * next hold of the chain, since each block is read for all of them. It begins below the backup's own block where
 * something was on its way then: of that too every block of its life is read.
 * @throws GatewayError with a ReaderErrorCode or a DatabaseErrorCode
 */
export async function readSinceBackup(
  db: Db,
  history: TronWalletHistoryReader,
  hold: Hold,
  anchor: Anchor,
  onProgress: (height: number) => void,
): Promise<ReadSince> {
  let progress = await readProgress(db, hold);
  while (progress.height < anchor.height) {
    const to = Math.min(anchor.height, progress.height + BLOCKS_AT_ONCE);
    const { sent, last, overMs } = await history.read(oursAmong(db, hold), { after: progress, to });
    if (last.height === anchor.height && last.hash !== anchor.hash)
      throw readerError('INCONSISTENT_ANSWER', 'the scanner has verified another block', {
        height: last.height,
      });
    const notVerified = await db.transaction().execute(async (tx) => {
      const open = await findNotVerified(tx, hold, sent);
      if (open.length === 0) await save(tx, hold, sent, { ...last, overMs });
      return open;
    });
    if (notVerified.length > 0) return { overMs: progress.overMs, notVerified };
    progress = { ...last, overMs };
    onProgress(last.height);
  }
  return { overMs: progress.overMs, notVerified: [] };
}

function oursAmong(db: Db, { restoreId, chain }: Hold): OursAmong {
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

/** Where the one of its holds is that was read least far. */
async function readProgress(db: Db, { restoreId, chain }: Hold): Promise<Progress> {
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

/** Own transactions that stand in these blocks, while what the scanner has recorded of them is something else. */
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
