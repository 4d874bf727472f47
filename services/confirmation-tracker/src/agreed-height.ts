import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Chain } from '@opentill/domain/chains';

export interface CursorHeights {
  /** At least one source returned it. */
  readonly seenHeight: number;
  /** Read the verified way. */
  readonly verifiedHeight: number;
}

/**
 * A block is verified only after two sources confirm the block that gives it this depth. Includes the block itself.
 * Networks without configuration count as 1.
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
 * Blocks above this height come from a single source, which could invent blocks to meet the depth of a larger order.
 */
export function agreedHeight(
  { seenHeight, verifiedHeight }: CursorHeights,
  verifiedDepth: number | undefined,
): number {
  return Math.min(seenHeight, verifiedHeight + (verifiedDepth ?? 1) - 1);
}
