import type { BlockHash } from '@opentill/chain/block';
import { sameTransfers } from './block-transfers.ts';
import type { RawAnswer } from './client.ts';
import type { EvmHeader } from './decode.ts';
import { sameHeader } from './decode.ts';
import type { Account } from './read-blocks.ts';
import { linkedHeaders } from './read-blocks.ts';
import { nativeTransfersOf } from './native-transfers.ts';
import { readLogAnswer } from './read-log-answer.ts';
import type { Reading, SourceComparison } from './reading.ts';

/** An account, with the answers as raw bytes where they can be compared directly. */
export interface OwnAccount {
  readonly account: Account;
  readonly blocks: RawAnswer | undefined;
  readonly logs: RawAnswer | undefined;
}

/** The same requests answered by another source, not decoded yet. */
export interface PeerAnswers {
  readonly blocks: RawAnswer | undefined;
  /** Answers to `logRequests`, or to its last request when even one block has too many logs. */
  readonly logs: RawAnswer;
  readonly hasLogs: boolean;
}

export interface SourceDifference {
  readonly outcome: SourceComparison['outcome'];
  /** Height of the fork or of the first differing block; otherwise the end of the range. */
  readonly height: number;
  /** Never empty with outcome LOGS_DIFFER. */
  readonly differing: ReadonlySet<BlockHash>;
}

const NONE: ReadonlySet<BlockHash> = new Set();

/** Nodes of the same software return equal bytes, which are decoded once. */
export function compareSources(reading: Reading, own: OwnAccount, peer: PeerAnswers): SourceDifference {
  const { headers, byBlock } = own.account;
  const last = headers.at(-1);
  const height = last?.height ?? 0;
  if (last === undefined || isSameAnswer(reading, own, peer))
    return { outcome: 'AGREED', height, differing: NONE };

  const [first, ...others] = headers;
  const before = others.length === 0 ? 0 : 1;
  const logs = readLogAnswer(reading.tokens, headers, peer.logs, before);
  const boundaries = [
    ...linkedHeaders(logs.others.slice(-1), height),
    ...linkedHeaders(logs.others.slice(0, before), first?.height ?? 0),
  ];
  for (const theirs of boundaries) {
    const ours = theirs.height === height ? last : first;
    if (ours?.hash !== theirs.hash) return { outcome: 'FORKED', height: theirs.height, differing: NONE };
    if (!sameHeader(ours, theirs))
      return { outcome: 'CONTENTS_DIFFER', height: theirs.height, differing: NONE };
  }
  if (peer.blocks !== undefined) {
    const difference = compareTransactions(
      headers,
      linkedHeaders(peer.blocks.results(), headers[0]?.height ?? 0),
    );
    if (difference !== undefined) return { ...difference, differing: NONE };
  }
  const peerByBlock = peer.hasLogs ? logs.byBlock() : undefined;
  const differing = headers.filter(({ hash }) => {
    const [ours, theirs] = [byBlock?.get(hash), peerByBlock?.get(hash)];
    return ours === undefined || theirs === undefined || !sameTransfers(ours.transfers, theirs.transfers);
  });
  return {
    outcome: differing.length === 0 ? 'AGREED' : 'LOGS_DIFFER',
    height,
    differing: new Set(differing.map(({ hash }) => hash)),
  };
}

function isSameAnswer({ native }: Reading, own: OwnAccount, peer: PeerAnswers): boolean {
  const same = (a: OwnAccount['logs'], b: OwnAccount['logs']): boolean =>
    a !== undefined && b !== undefined && a.body.equals(b.body);
  return same(own.logs, peer.logs) && (!native || same(own.blocks, peer.blocks));
}

/** A block's hash commits to its transactions: with other values under the same hash, one source is wrong. */
function compareTransactions(
  ours: readonly EvmHeader[],
  theirs: readonly EvmHeader[],
): Pick<SourceDifference, 'outcome' | 'height'> | undefined {
  for (const [place, header] of ours.entries()) {
    const other = theirs[place];
    if (other?.hash !== header.hash) return { outcome: 'FORKED', height: header.height };
    if (!sameHeader(header, other) || !sameTransfers(nativeTransfersOf(header), nativeTransfersOf(other)))
      return { outcome: 'CONTENTS_DIFFER', height: header.height };
  }
  return undefined;
}
