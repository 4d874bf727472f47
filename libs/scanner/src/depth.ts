import type { BlockHeader } from '@opentill/chain/block';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import { isReaderError } from '@opentill/chain/reader-error';
import { blockAt, seenBlock, type ChainState } from './chain-state.ts';
import { isContradiction, scanError } from './scan-error.ts';
import type { ScanNetwork } from './scan-network.ts';
import type { Scanning } from './scanning.ts';

/** What is known of a chain's depth and finality at one moment. */
export interface DepthFacts {
  /**
   * Height of the newest block that is linked, parent by parent, to everything below it. Depth counts from there:
   * while a node is ahead of what was read, its head is a bare number that it may have made up.
   */
  readonly linkedHeight: number;
  /** Newest block that the chain called final; null when it never named one. */
  readonly finalizedHeight: number | null;
  /** Whether finality has stalled for longer than the network allows. */
  readonly isFinalityStale: boolean;
}

/**
 * The highest block that may be verified. With a number of confirmations: so many blocks deep, the linked block being
 * the first. With 'finalized': not above the finalized height and `minDepth` deep; once finality is stale also what is
 * `fallbackDepth` deep, where the network has such a rule, else the chain holds. May be negative on a young chain.
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

/**
 * How many blocks make a verifiable height deep enough, itself included: those that somebody has to vouch for. 1 where
 * none above it does, since it is final or needs no depth; its own hash is compared when it is read.
 */
export function countedDepth(
  { confirmations, finality }: Pick<ScanNetwork, 'confirmations' | 'finality'>,
  { finalizedHeight }: Pick<DepthFacts, 'finalizedHeight'>,
  height: number,
): number {
  if (confirmations !== 'finalized') return confirmations;
  const isFinal = height <= (finalizedHeight ?? -1);
  return (isFinal ? finality?.minDepth : finality?.fallbackDepth) ?? 1;
}

/** The height that the verified cursor may reach now: never above what was seen, nor below where it is. */
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

/**
 * Makes the function that gives the highest height above the verified cursor, at most `target`, whose depth two sources confirm. Depth
 * is a number of blocks above, and those were read from one source, which may have invented them. The other source may be some blocks
 * behind. Throws DEPTH_NOT_VOUCHED when it lacks the block that makes the next height deep enough, and what the reader throws.
 * Remembers the block that was confirmed last: that confirms everything below it.
 */
export function confirmDepths({ network, reader }: Pick<Scanning, 'network' | 'reader'>) {
  let confirmed: Pick<BlockHeader, 'height' | 'hash'> | undefined;

  async function confirm(
    { height, hash }: BlockHeader,
    state: ChainState,
    options: ReadOptions,
  ): Promise<void> {
    const isOfChain = confirmed !== undefined && blockAt(state, confirmed.height)?.hash === confirmed.hash;
    if (isOfChain && confirmed !== undefined && height <= confirmed.height) return;
    await reader.vouch({ height, hash }, options);
    confirmed = { height, hash };
  }

  return async (
    target: number,
    state: ChainState,
    facts: Pick<DepthFacts, 'finalizedHeight'>,
    options: ReadOptions,
  ): Promise<number> => {
    let failure: unknown;
    for (const height of downwards(target, state.verifiedHeight + 1)) {
      const depth = countedDepth(network, facts, height);
      if (depth === 1) return height;
      const block = blockAt(state, height + depth - 1);
      if (block === undefined) continue;
      try {
        await confirm(block, state, options);
        return height;
      } catch (error) {
        if (!isReaderError(error, 'BLOCK_NOT_FOUND') && !isContradiction(error)) throw error;
        failure = error;
      }
    }
    if (isContradiction(failure)) throw failure;
    const context = { verified: state.verifiedHeight, target };
    throw scanError(
      'DEPTH_NOT_VOUCHED',
      'no second source has the blocks yet that make the next one deep enough',
      context,
      failure,
    );
  };
}

/** From the highest to the lowest, in growing steps. */
function* downwards(highest: number, lowest: number): Generator<number, undefined, undefined> {
  let step = 1;
  for (let height = highest; height > lowest; height -= step, step *= 2) yield height;
  yield lowest;
  return undefined;
}
