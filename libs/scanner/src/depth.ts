import type { BlockHeader } from '@opentill/chain/block';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import { isReaderError } from '@opentill/chain/reader-error';
import { blockAt, seenBlock, type ChainState } from './chain-state.ts';
import { isContradiction, scanError } from './scan-error.ts';
import type { ScanNetwork } from './scan-network.ts';
import type { Scanning } from './scanning.ts';

export interface DepthFacts {
  /** Newest block that is linked by parent hashes to every block below it: an unread head of a node proves no depth. */
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

/**
 * Blocks, including `height`, that make it deep enough and that a second source must confirm. 1 if the block is final
 * or needs no depth: its own hash is compared when it is read.
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

/**
 * Finds the highest height in (verified, `target`] whose depth two sources confirm: one source could have invented
 * blocks. The second source may be some blocks behind, so lower heights are tried. DEPTH_NOT_VOUCHED if it lacks the
 * block for the next height. The last confirmed block is cached: it confirms all blocks below it.
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
    await reader.confirmBlock({ height, hash }, options);
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
      'no second source has the blocks yet that make the next block deep enough',
      context,
      failure,
    );
  };
}

function* downwards(highest: number, lowest: number): Generator<number, undefined, undefined> {
  let step = 1;
  for (let height = highest; height > lowest; height -= step, step *= 2) yield height;
  yield lowest;
  return undefined;
}
