import type { BlockHeader } from '@opentill/chain/block';

export type Reconciliation =
  | { readonly kind: 'extends' }
  /** The highest stored block that is still in the chain; those above it have left the chain. */
  | { readonly kind: 'reorganised'; readonly ancestorHeight: number }
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
  const compared = stored.filter(({ height }) => hashes.has(height));
  const ancestor = compared.findLast(({ height, hash }) => hashes.get(height) === hash);
  const isContradicted = compared.some(({ height, hash }) => hashes.get(height) !== hash);
  if (ancestor !== undefined)
    return isContradicted ? { kind: 'reorganised', ancestorHeight: ancestor.height } : { kind: 'extends' };
  return oldest.height < first.height - 1 ? { kind: 'undecided' } : { kind: 'below-window' };
}
