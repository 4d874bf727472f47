import type { ExpectedTransfer } from '@opentill/chain/chain-reader';
import type { TronHeader } from '../decode-block.ts';
import { keyOf, type TokenLog } from './read-logs.ts';

/**
 * Heights whose logs prove nothing, so that their blocks must be read whole: two sources return different logs, a log is
 * of another block at that height, or the logs lack a recorded transfer.
 */
export function doubtfulHeights(
  headers: readonly TronHeader[],
  [ours, theirs]: readonly [readonly TokenLog[], readonly TokenLog[]],
  expected: readonly ExpectedTransfer[],
): ReadonlySet<number> {
  const hashAt = new Map(headers.map(({ height, hash }) => [height, hash as string]));
  const doubtful = new Set<number>();
  const [ourKeys, theirKeys] = [new Set(ours.map(keyOf)), new Set(theirs.map(keyOf))];
  for (const log of ours) if (!theirKeys.has(keyOf(log))) doubtful.add(log.height);
  for (const log of theirs) if (!ourKeys.has(keyOf(log))) doubtful.add(log.height);
  for (const { height, blockHash } of [...ours, ...theirs])
    if (hashAt.get(height) !== blockHash) doubtful.add(height);
  const left = new Map<string, number>();
  for (const log of ours) left.set(moneyOf(log), (left.get(moneyOf(log)) ?? 0) + 1);
  const heightOf = new Map(headers.map(({ height, hash }) => [hash, height]));
  for (const transfer of expected) {
    const height = heightOf.get(transfer.blockHash);
    if (height === undefined) continue;
    const key = moneyOf({ ...transfer, amount: transfer.amountBaseUnits });
    const count = left.get(key) ?? 0;
    if (count === 0) doubtful.add(height);
    left.set(key, count - 1);
  }
  return doubtful;
}

/** Without the recipient: expected transfers have it as an address, and the transaction implies it. */
function moneyOf({
  blockHash,
  txHash,
  contract,
  amount,
}: Pick<TokenLog, 'txHash' | 'blockHash' | 'amount'> & {
  readonly contract: TokenLog['contract'] | null;
}): string {
  return `${blockHash} ${txHash} ${contract ?? ''} ${amount}`;
}
