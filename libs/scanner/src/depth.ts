import type { BlockHeader } from '@opentill/chain/block';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import { isReaderError } from '@opentill/chain/reader-error';
import { firstBlockFrom, seenBlock, type ChainState } from './chain-state.ts';
import { isContradiction, scanError } from './scan-error.ts';
import type { ScanNetwork } from './scan-network.ts';
import type { Scanning } from './scanning.ts';

export interface DepthFacts {
  /** Block from which depth is counted. Two sources must confirm it: one could have invented it. */
  readonly linkedHeight: number;
  readonly finalizedHeight: number | null;
  readonly isFinalityStale: boolean;
}

/**
 * Highest block that may be verified. May be negative on a young chain.
 * - Number of confirmations: the block has that depth, counting the linked block as 1.
 * - 'finalized': at or below the height of the tag and `minDepth` deep. With stale finality, `fallbackDepth` also
 * suffices if the network defines it; otherwise the chain waits.
 */
export function verifiableHeight(
  { confirmations, finality }: Pick<ScanNetwork, 'confirmations' | 'finality'>,
  { linkedHeight, finalizedHeight, isFinalityStale }: DepthFacts,
): number {
  const heightAtDepth = (depth: number): number => linkedHeight - depth + 1;
  if (confirmations !== 'finalized') return heightAtDepth(confirmations);
  const fallbackDepth = isFinalityStale ? finality?.fallbackDepth : undefined;
  const final = Math.max(
    finalizedHeight ?? -1,
    fallbackDepth === undefined ? -1 : heightAtDepth(fallbackDepth),
  );
  return Math.min(final, heightAtDepth(finality?.minDepth ?? 1));
}

/** Depth that makes the block deep enough, the block itself included. */
function countedDepth(
  { confirmations, finality }: Pick<ScanNetwork, 'confirmations' | 'finality'>,
  { finalizedHeight }: Pick<DepthFacts, 'finalizedHeight'>,
  height: number,
): number {
  if (confirmations !== 'finalized') return confirmations;
  const isFinal = height <= (finalizedHeight ?? -1);
  return (isFinal ? finality?.minDepth : finality?.fallbackDepth) ?? 1;
}

/**
 * Highest block that finality, on which two sources agree, makes deep enough. Its own hash is compared
 * when it is read. -1 without finality.
 */
export function surelyFinal(
  { finality }: Pick<ScanNetwork, 'finality'>,
  { finalizedHeight }: Pick<DepthFacts, 'finalizedHeight'>,
): number {
  return finalizedHeight === null ? -1 : finalizedHeight - (finality?.minDepth ?? 1) + 1;
}

/** Never below the verified height nor above the seen height. */
export function verifiedTarget(
  state: ChainState,
  network: Pick<ScanNetwork, 'confirmations' | 'finality'>,
  isFinalityStale: boolean,
): number {
  const { finalizedHeight } = state;
  const linkedHeight = seenBlock(state).height;
  const verifiable = verifiableHeight(network, { linkedHeight, finalizedHeight, isFinalityStale });
  return Math.max(state.verifiedHeight, verifiable);
}

export type BlockName = Pick<BlockHeader, 'height' | 'hash'>;

/** `deepBy`: see ScanGoal. */
export interface Depth {
  readonly height: number;
  readonly deepBy: BlockName | undefined;
}

/** Undefined if no stored block makes the height deep enough. */
function depthOf(
  network: Pick<ScanNetwork, 'confirmations' | 'finality'>,
  state: ChainState,
  facts: Pick<DepthFacts, 'finalizedHeight'>,
  height: number,
): Depth | undefined {
  const depth = countedDepth(network, facts, height);
  if (depth === 1 || height <= surelyFinal(network, facts)) return { height, deepBy: undefined };
  const deepBy = firstBlockFrom(state, height + depth - 1);
  return deepBy && { height, deepBy };
}

/** A source lacks the block, or has another one: it lags, or the other source invented it. */
export function isUnconfirmed(error: unknown): boolean {
  return isReaderError(error, 'BLOCK_NOT_FOUND') || isContradiction(error);
}

/**
 * Finds the highest height in (verified, `target`] whose depth two sources confirm: one source could have invented
 * blocks. The second source may be some blocks behind, so lower heights are tried. DEPTH_NOT_VOUCHED if it lacks the
 * block for the next height. A later reorganisation may replace blocks below the returned height: confirm again after
 * they were read.
 */
export async function findConfirmedDepth(
  { network, reader }: Pick<Scanning, 'network' | 'reader'>,
  target: number,
  state: ChainState,
  facts: Pick<DepthFacts, 'finalizedHeight'>,
  options: ReadOptions,
): Promise<Depth> {
  let failure: unknown;
  let failed: BlockName | undefined;
  for (const height of downwards(target, state.verifiedHeight + 1)) {
    const depth = depthOf(network, state, facts, height);
    if (depth === undefined || (depth.deepBy !== undefined && depth.deepBy === failed)) continue;
    if (depth.deepBy === undefined) return depth;
    try {
      await reader.confirmBlock(depth.deepBy, options);
      return depth;
    } catch (error) {
      if (!isUnconfirmed(error)) throw error;
      [failure, failed] = [error, depth.deepBy];
    }
  }
  if (isContradiction(failure)) throw failure;
  const context = { verified: state.verifiedHeight, target };
  throw scanError(
    'DEPTH_NOT_VOUCHED',
    'no second source has the blocks yet that make the next block deep enough',
    context,
    failure,
  );
}

function* downwards(highest: number, lowest: number): Generator<number, undefined, undefined> {
  let step = 1;
  for (let height = highest; height > lowest; height -= step, step *= 2) yield height;
  yield lowest;
  return undefined;
}
