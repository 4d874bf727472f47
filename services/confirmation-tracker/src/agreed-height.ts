import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Chain } from '@opentill/domain/chains';

/** Cursors of a chain. */
export interface CursorHeights {
  /** Newest block that at least one source returned. */
  readonly seenHeight: number;
  /** Newest block read the verified way. */
  readonly verifiedHeight: number;
}

/**
 * Minimum number of blocks that cover a verified block, itself included: a block is verified only after two
 * sources confirm the block that gives it this depth. Networks without configuration count as 1.
 */
export function verifiedDepths(networks: readonly NetworkConfig[]): ReadonlyMap<Chain, number> {
  return new Map(
    networks.map(({ chain, confirmations, finality }) => [
      chain,
      confirmations === 'finalized' ? (finality?.minDepth ?? 1) : confirmations,
    ]),
  );
}

/**
 * Height from which confirmations count for crediting. Blocks above it come from a single source, which could
 * invent blocks to meet the depth of a larger order.
 */
export function agreedHeight(
  { seenHeight, verifiedHeight }: CursorHeights,
  verifiedDepth: number | undefined,
): number {
  return Math.min(seenHeight, verifiedHeight + (verifiedDepth ?? 1) - 1);
}
