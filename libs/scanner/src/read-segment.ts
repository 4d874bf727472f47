import type { BlockHeader } from '@opentill/chain/block';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import { seenBlock, type ChainState } from './chain-state.ts';
import { findForeign } from './find-foreign.ts';
import type { ForeignTransaction } from './foreign-transaction.ts';
import { matchTransfers } from './match-transfers.ts';
import type { LiveTransfer, MatchedTransfer } from './scan-change.ts';
import type { Scanning } from './scanning.ts';

/** A part of a long way: blocks to be verified at once, or to be shown alone. */
export interface Segment {
  readonly kind: 'verified' | 'seen';
  readonly from: number;
  readonly to: number;
}

/** What was read of a segment: its blocks, and the little of their transfers that matters here. */
export interface SegmentRead extends Segment {
  readonly headers: readonly BlockHeader[];
  readonly matched: readonly MatchedTransfer[];
  /** What was recorded of it before; only of blocks that are to be verified. */
  readonly live: readonly LiveTransfer[];
  readonly foreign: readonly ForeignTransaction[];
}

/** The way up from a state, in order: what is to be verified, then what is to be seen above it. */
export function* segmentsOf(
  goal: { readonly fromState: ChainState; readonly verifiedHeight: number; readonly seenHeight: number },
  blocks: number,
): Generator<Segment, undefined, undefined> {
  const { fromState, verifiedHeight, seenHeight } = goal;
  const ways = [
    { kind: 'verified', from: fromState.verifiedHeight + 1, to: verifiedHeight },
    { kind: 'seen', from: Math.max(seenBlock(fromState).height, verifiedHeight) + 1, to: seenHeight },
  ] as const;
  for (const { kind, from, to } of ways) {
    for (const range of splitRange(from, to, blocks)) yield { kind, ...range };
  }
  return undefined;
}

/** The ranges of at most so many blocks that `from` to `to` consists of, ascending; none when it is empty. */
export function* splitRange(
  from: number,
  to: number,
  blocks: number,
): Generator<{ readonly from: number; readonly to: number }, undefined, undefined> {
  for (let first = from; first <= to; first += blocks)
    yield { from: first, to: Math.min(to, first + blocks - 1) };
  return undefined;
}

/** Reads a segment by the way of its kind, and what of it is ours. */
export async function readSegment(
  scanning: Scanning,
  state: ChainState,
  segment: Segment,
  options: ReadOptions,
): Promise<SegmentRead> {
  const { network, reader, store } = scanning;
  const { kind, from, to } = segment;
  const isRecorded = kind === 'verified' && from <= seenBlock(state).height;
  const live = isRecorded ? await store.liveTransfers(network.chain, from, to) : [];
  const range =
    kind === 'verified'
      ? await reader.readVerified(from, to, live, options)
      : await reader.readSeen(from, to, options);
  return {
    ...segment,
    headers: range.headers,
    matched: await matchTransfers(scanning, range, { ...options, byOneSource: kind === 'seen' }),
    live,
    foreign: await findForeign(scanning, range),
  };
}
