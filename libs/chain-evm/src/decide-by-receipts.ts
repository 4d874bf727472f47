import type { RangeRead } from '@opentill/chain/chain-reader';
import type { Account } from './read-blocks.ts';
import { nextLowerWithLogs } from './read-blocks.ts';
import type { ReceiptDecision } from './reading.ts';
import type { ReceiptTransfers } from './transfers-by-receipts.ts';

type Transfers = RangeRead['transfers'];

/**
 * Reads the receipts of blocks in doubt. If they show logs of a block without logs, the answer lacks logs: it may be
 * cut off, so the next lower block with logs is read by its receipts, too. Ends at the first failure.
 */
export async function decideByReceipts<F extends { readonly error: unknown } = never>(
  account: Account,
  doubts: ReadonlyMap<number, ReceiptDecision['reason']>,
  readBlock: (height: number, reason: ReceiptDecision['reason']) => Promise<ReceiptTransfers | F>,
): Promise<ReadonlyMap<number, Transfers> | F> {
  const byReceipts = new Map<number, Transfers>();
  const left = new Map(doubts);
  for (const [height, reason] of left) {
    const read = await readBlock(height, reason);
    if ('error' in read) return read;
    byReceipts.set(height, read.transfers);
    if (read.logCount === 0 || account.byHeight?.has(height) === true) continue;
    const lower = nextLowerWithLogs(account, height);
    if (lower !== undefined && !left.has(lower)) left.set(lower, 'CUT_OFF'); // and is read by this loop
  }
  return byReceipts;
}
