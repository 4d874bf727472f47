import type { BlockHeader } from '@opentill/chain/block';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import { isReaderError } from '@opentill/chain/reader-error';
import { blockAt, type ChainState } from './chain-state.ts';
import { isContradiction, scanError } from './scan-error.ts';
import type { Scanning } from './scanning.ts';
import { countedDepth, type DepthFacts } from './verifiable-height.ts';

/**
 * Gives the highest height above the verified cursor, at most `target`, whose depth two sources confirm. Depth is a number of blocks
 * above, and those were read from one source, which may have invented them. The other source may be some blocks behind.
 * Throws DEPTH_NOT_VOUCHED when it lacks the block that makes the next height deep enough, and what the reader throws.
 */
export type HighestConfirmed = (
  target: number,
  state: ChainState,
  facts: Pick<DepthFacts, 'finalizedHeight'>,
  options: ReadOptions,
) => Promise<number>;

/** Remembers the block that was confirmed last: that confirms everything below it. */
export function confirmDepths({ network, reader }: Pick<Scanning, 'network' | 'reader'>): HighestConfirmed {
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

  return async (target, state, facts, options) => {
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
