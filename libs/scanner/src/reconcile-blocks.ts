import type { BlockHeader } from '@opentill/chain/block';

/** What newly read headers say of the stored blocks. */
export type Reconciliation =
  /** No stored block is contradicted: what was read repeats them, or goes on from the last of them, or both. */
  | { readonly kind: 'extends' }
  /** The stored blocks above this height are not in the chain any more. */
  | { readonly kind: 'reorganised'; readonly ancestorHeight: number }
  /** Contradicted, with no block in common yet: headers below the ones that were read are needed. */
  | { readonly kind: 'undecided' }
  /** Contradicted down to the oldest stored block, or nothing to compare at all: the fork can't be found. */
  | { readonly kind: 'below-window' };

/**
 * Compares stored blocks with headers read from a node. Both ascend without a gap, each the parent of the next, and
 * neither is empty; `read` may start anywhere up to the block after the last stored one, else RangeError. Only hashes
 * decide: a head that is lower than before and of a known hash is a node that lags, not a reorganisation.
 */
export function reconcileBlocks(
  stored: readonly BlockHeader[],
  read: readonly BlockHeader[],
): Reconciliation {
  const [base, tip] = [stored[0], stored.at(-1)];
  const [first, last] = [read[0], read.at(-1)];
  if (base === undefined || tip === undefined || first === undefined || last === undefined) {
    throw new RangeError('no blocks to compare');
  }
  if (first.height > tip.height + 1) {
    throw new RangeError(`a gap between the stored block ${tip.height} and the read block ${first.height}`);
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
