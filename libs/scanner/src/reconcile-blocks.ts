import type { BlockHeader } from '@opentill/chain/block';

export type Reconciliation =
  | { readonly kind: 'extends' }
  /** Stored blocks above this height have left the chain. */
  | { readonly kind: 'reorganised'; readonly ancestorHeight: number }
  | { readonly kind: 'undecided' }
  /** Contradicted down to the oldest stored block, or no block to compare. The fork cannot be found. */
  | { readonly kind: 'below-window' };

/**
 * `read` starts at most one block above the last stored one. Only hashes count: a lower head with a known hash is a
 * lagging node, not a reorganisation.
 */
export function reconcileBlocks(
  stored: readonly BlockHeader[],
  read: readonly BlockHeader[],
): Reconciliation {
  const [base, tip] = [stored[0], stored.at(-1)];
  const [first, last] = [read[0], read.at(-1)];
  if (base === undefined || tip === undefined || first === undefined || last === undefined) {
    throw new RangeError('no blocks to compare: both lists must be non-empty');
  }
  if (first.height > tip.height + 1) {
    throw new RangeError(`gap between stored block ${tip.height} and read block ${first.height}`);
  }
  let ancestorHeight: number | undefined;
  let contradicted = false;
  for (
    let height = Math.max(first.height - 1, base.height);
    height <= Math.min(last.height, tip.height);
    height += 1
  ) {
    const hash = height < first.height ? first.parentHash : read[height - first.height]?.hash;
    if (stored[height - base.height]?.hash === hash) ancestorHeight = height;
    else contradicted = true;
  }
  if (ancestorHeight === undefined) {
    return contradicted && first.height - 1 > base.height ? { kind: 'undecided' } : { kind: 'below-window' };
  }
  return contradicted ? { kind: 'reorganised', ancestorHeight } : { kind: 'extends' };
}
