import type { BlockHash } from '@opentill/chain/block';
import { readerError } from '@opentill/chain/reader-error';
import { readBlock, type BlockAccount, type BlockOptions } from './read-block.ts';
import type { TronSource, TronSources } from './tron-sources.ts';

/** What is asked of a walk on whose word something rests that can't be taken back, unless a second source is asked for its own. */
export function proofOf(sources: Pick<TronSources, 'all'>): Pick<BlockOptions, 'isToBeProven'> {
  return { isToBeProven: sources.all().length === 1 };
}

/** So many blocks are asked for at once, two requests each. */
const AT_ONCE = 8;

/**
 * The solid blocks of one source behind `after`, whole with their receipts, each the child of the one before, up to `to` and
 * without it for as long as there are any. BLOCK_NOT_FOUND where they end, INCONSISTENT_ANSWER where they are not linked.
 */
export async function* walkSolidBlocks(
  source: Pick<TronSource, 'call'>,
  after: { readonly height: number; readonly hash: BlockHash },
  options: BlockOptions,
  to = Infinity,
): AsyncGenerator<BlockAccount, undefined, undefined> {
  let { height, hash } = after;
  while (height < to) {
    const start = height + 1;
    const heights = Array.from({ length: Math.min(AT_ONCE, to - height) }, (_, place) => start + place);
    const reads = heights.map((at) => readBlock(source, 'walletsolidity', at, options));
    // One that is missing matters only when those before it were not enough.
    for (const block of await Promise.allSettled(reads)) {
      if (block.status === 'rejected') throw block.reason;
      const { header } = block.value;
      if (header.parentHash !== hash)
        throw readerError('INCONSISTENT_ANSWER', 'the blocks are not linked', { height: header.height });
      ({ height, hash } = header);
      yield block.value;
    }
  }
  return undefined;
}
