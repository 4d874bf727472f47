import type { ReadOptions } from '@opentill/chain/chain-reader';
import { verifiedBlock, type ChainState } from './chain-state.ts';
import type { Scanning } from './scanning.ts';

/**
 * For blocks at or below the verified one that are read again. Stored blocks are no evidence in a gap, so two sources
 * name the verified block before and after the read: what they return is of its branch. A single block of another
 * branch among the stored ones would hide a fork below it.
 */
export async function readBelowVerified<T>(
  { reader }: Pick<Scanning, 'reader'>,
  state: ChainState,
  options: ReadOptions,
  read: () => Promise<T>,
): Promise<T> {
  const block = verifiedBlock(state);
  await reader.confirmBlock(block, options);
  const result = await read();
  await reader.confirmBlock(block, options);
  return result;
}
