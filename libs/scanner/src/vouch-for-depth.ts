import type { BlockHeader } from '@opentill/chain/block';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import { isReaderError } from '@opentill/chain/reader-error';
import { blockAt, type ChainState } from './chain-state.ts';
import { isContradiction, scanError } from './scan-error.ts';
import type { Scanning } from './scanning.ts';
import { countedDepth, type DepthFacts } from './verifiable-height.ts';

/**
 * Rests depth on what two sources name. That a block is deep enough is told by numbers of blocks above it, which were
 * read of one source: it may have made them up, on top of a block that is real.
 */
export interface DepthVouching {
  /**
   * The highest height above the verified cursor, at most `target`, that is deep enough under a block that is vouched for. The other
   * source may be some blocks behind. Throws DEPTH_NOT_VOUCHED when it does not even have the block that the next
   * height needs, and what the reader does.
   */
  highestUpTo(
    target: number,
    state: ChainState,
    facts: Pick<DepthFacts, 'finalizedHeight'>,
    options: ReadOptions,
  ): Promise<number>;
}

/** Remembers the block that was vouched for last: it speaks for everything below it. */
export function createDepthVouching({
  network,
  reader,
}: Pick<Scanning, 'network' | 'reader'>): DepthVouching {
  let vouched: Pick<BlockHeader, 'height' | 'hash'> | undefined;

  async function vouchFor(block: BlockHeader, state: ChainState, options: ReadOptions): Promise<void> {
    const isOfChain = vouched !== undefined && blockAt(state, vouched.height)?.hash === vouched.hash;
    if (isOfChain && vouched !== undefined && block.height <= vouched.height) return;
    await reader.vouch({ height: block.height, hash: block.hash }, options);
    vouched = { height: block.height, hash: block.hash };
  }

  return {
    async highestUpTo(target, state, facts, options) {
      let failure: unknown;
      for (const height of downwards(target, state.verifiedHeight + 1)) {
        const depth = countedDepth(network, facts, height);
        if (depth === 1) return height;
        const block = blockAt(state, height + depth - 1);
        if (block === undefined) continue;
        try {
          await vouchFor(block, state, options);
          return height;
        } catch (error) {
          if (!isReaderError(error, 'BLOCK_NOT_FOUND') && !isContradiction(error)) throw error;
          failure = error;
        }
      }
      if (isContradiction(failure)) throw failure;
      throw scanError(
        'DEPTH_NOT_VOUCHED',
        'no second source has the blocks yet that make the next one deep enough',
        { verified: state.verifiedHeight, target },
        failure,
      );
    },
  };
}

/** From the highest to the lowest, in growing steps. */
function* downwards(highest: number, lowest: number): Generator<number, undefined, undefined> {
  let step = 1;
  for (let height = highest; height > lowest; height -= step, step *= 2) yield height;
  yield lowest;
  return undefined;
}
