import { sameTransfers } from './block-transfers.ts';
import type { RawAnswer } from './client.ts';
import { sameHeader, transactionHashes } from './decode.ts';
import type { Account } from './read-blocks.ts';
import { heightsOf } from './read-blocks.ts';
import { nativeTransfersOf } from './native-transfers.ts';
import type { Reading, SourceComparison } from './reading.ts';

/** Answers of one source for a range, not decoded yet. */
export interface SourceAnswers {
  /** The blocks with their transactions, where the native coin is configured. */
  readonly blocks: RawAnswer | undefined;
  /** Answers to `rangeRequests`. Undefined: one block has too many logs, or the method is missing. */
  readonly logs: RawAnswer | undefined;
}

export interface SourceDifference {
  readonly outcome: SourceComparison['outcome'];
  /** Height of the fork or of the first differing block; otherwise the end of the range. */
  readonly height: number;
  /** Heights with other logs. Never empty with outcome LOGS_DIFFER. */
  readonly differing: readonly number[];
}

export interface PeerAccount {
  readonly account: Account;
  readonly difference: SourceDifference;
}

/** Nodes of the same software return equal bytes, which are decoded once. */
export function compareSources(
  reading: Reading,
  own: { readonly account: Account; readonly answers: SourceAnswers },
  peer: SourceAnswers,
  readPeer: () => Account,
): PeerAccount {
  const { account } = own;
  if (isSameAnswer(reading, own.answers, peer))
    return { account, difference: { outcome: 'AGREED', height: account.range.to, differing: [] } };
  const other = readPeer();
  return { account: other, difference: differenceOf(reading, account, other) };
}

function differenceOf(reading: Reading, account: Account, other: Account): SourceDifference {
  const { to } = account.range;
  const difference = compareHeaders(reading, account, other, reading.native);
  if (difference !== undefined) return { ...difference, differing: [] };
  // Receipts are asked for by hash, and nodes also answer for a sibling of the block.
  for (const [height, { hash }] of account.byHeight ?? [])
    if ((other.byHeight?.get(height)?.hash ?? hash) !== hash)
      return { outcome: 'FORKED', height, differing: [] };
  const differing = heightsOf(account.range).filter((height) => {
    const [a, b] = [account.byHeight?.get(height), other.byHeight?.get(height)];
    if (account.byHeight === undefined || other.byHeight === undefined) return true;
    if (a === undefined || b === undefined) return a !== b;
    return !sameTransfers(a.transfers, b.transfers);
  });
  return { outcome: differing.length === 0 ? 'AGREED' : 'LOGS_DIFFER', height: to, differing };
}

function isSameAnswer({ native }: Reading, own: SourceAnswers, peer: SourceAnswers): boolean {
  const same = (a: RawAnswer | undefined, b: RawAnswer | undefined): boolean =>
    a !== undefined && b !== undefined && a.body.equals(b.body);
  return same(own.logs, peer.logs) && (!native || same(own.blocks, peer.blocks));
}

/**
 * Compares the headers that both returned. A block's hash commits to its contents: with others under the same hash, one
 * source is wrong. Polygon's nodes list state-sync transactions differently: there the lists are not compared.
 */
export function compareHeaders(
  { hasStateSync }: Pick<Reading, 'hasStateSync'>,
  ours: Account,
  theirs: Account,
  withValues = false,
): Pick<SourceDifference, 'outcome' | 'height'> | undefined {
  for (const [height, header] of ours.headers) {
    const other = theirs.headers.get(height);
    if (other === undefined) continue;
    if (other.hash !== header.hash) return { outcome: 'FORKED', height };
    const isSame =
      sameHeader(header, other) &&
      (hasStateSync || transactionHashes(header).join() === transactionHashes(other).join()) &&
      (!withValues || sameTransfers(nativeTransfersOf(header), nativeTransfersOf(other)));
    if (!isSame) return { outcome: 'CONTENTS_DIFFER', height };
  }
  return undefined;
}
