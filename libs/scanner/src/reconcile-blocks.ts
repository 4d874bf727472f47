import type { BlockHeader } from '@opentill/chain/block';

export type Reconciliation =
  | { readonly kind: 'extends' }
  /**
   * The ancestor is the highest stored block that is still in the chain; those above it have left the chain.
   * `contradicting`: the block of the chain at the height of the lowest of these.
   */
  | { readonly kind: 'reorganised'; readonly ancestorHeight: number; readonly contradicting: BlockHeader }
  | { readonly kind: 'undecided' }
  /** Contradicted down to the oldest stored block, or no block to compare. The fork cannot be found. */
  | { readonly kind: 'below-window' };

/**
 * `read`: linked blocks without gaps. The stored ones may have gaps. Only hashes count: a lower head with a known hash
 * is a lagging node, not a reorganisation.
 */
export function reconcileBlocks(
  stored: readonly BlockHeader[],
  read: readonly BlockHeader[],
): Reconciliation {
  const [oldest, first] = [stored[0], read[0]];
  if (oldest === undefined || first === undefined)
    throw new RangeError('no blocks to compare: both lists must be non-empty');
  const hashes = new Map(read.map(({ height, hash }) => [height, hash]));
  hashes.set(first.height - 1, first.parentHash);
  const ancestor = stored.findLast(({ height, hash }) => hashes.get(height) === hash);
  if (ancestor === undefined)
    return oldest.height < first.height ? { kind: 'undecided' } : { kind: 'below-window' };
  const lowest = stored.find(({ height }) => height > ancestor.height && hashes.has(height));
  const contradicting = read.find(({ height }) => height === lowest?.height);
  if (contradicting === undefined) return { kind: 'extends' };
  return { kind: 'reorganised', ancestorHeight: ancestor.height, contradicting };
}
