import { readerError } from '@opentill/chain/reader-error';
import type { TronWalletHistoryReader } from '@opentill/chain-tron/sender/read-wallet-history';
import type { Db } from '@opentill/db/database';
import type { Anchor } from '../reconcile/chain-ledger.ts';
import { oursAmong, readProgress, saveRead } from './store/read-progress.ts';
import type { Hold } from './store/restored-rows.ts';

export interface ReadSince {
  /** A transaction that expires at this chain time or before is in no unread block; null: no block was read. */
  readonly overMs: number | null;
  /** Own transactions that the scanner has not verified yet. Reading stopped before their blocks. */
  readonly notVerified: readonly string[];
}

const BLOCKS_PER_STEP = 200;

/**
 * Stores transactions of held wallets and deposit addresses that the database does not know, with the progress, up to
 * the verified block. Each block is read for all holds of the chain, so the next run and the next hold continue there.
 * Begins below the backup's block if a transaction was in flight at the backup, so that every block of its lifetime is
 * read.
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
    const to = Math.min(anchor.height, progress.height + BLOCKS_PER_STEP);
    const { sent, last, overMs } = await history.read(oursAmong(db, hold), { after: progress, to });
    if (last.height === anchor.height && last.hash !== anchor.hash)
      throw readerError('INCONSISTENT_ANSWER', 'the block differs from the one that the scanner verified', {
        height: last.height,
      });
    const notVerified = await saveRead(db, hold, sent, { ...last, overMs });
    if (notVerified.length > 0) return { overMs: progress.overMs, notVerified };
    progress = { ...last, overMs };
    onProgress(last.height);
  }
  return { overMs: progress.overMs, notVerified: [] };
}
