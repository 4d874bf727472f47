import { readerError } from '@opentill/chain/reader-error';
import type { TronWalletHistoryReader } from '@opentill/chain-tron/sender/read-wallet-history';
import type { Db } from '@opentill/db/database';
import type { Anchor } from '../reconcile/books.ts';
import { oursAmong, readProgress, saveRead } from './store/read-progress.ts';
import type { Hold } from './store/restored-rows.ts';

/** How far the blocks since the backup were read for the holds of a chain. */
export interface ReadSince {
  /** What ends at this time of the chain or before can be in no block that was not read; null: nothing was read. */
  readonly overMs: number | null;
  /** Transactions that the database knows and that its scanner has not found verified yet: it was read up to before them. */
  readonly notVerified: readonly string[];
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
    const notVerified = await saveRead(db, hold, sent, { ...last, overMs });
    if (notVerified.length > 0) return { overMs: progress.overMs, notVerified };
    progress = { ...last, overMs };
    onProgress(last.height);
  }
  return { overMs: progress.overMs, notVerified: [] };
}
