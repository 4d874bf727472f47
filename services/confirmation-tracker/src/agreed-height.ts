import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Chain } from '@opentill/domain/chains';

/** How far a chain is scanned, as its cursor says. */
export interface CursorHeights {
  /** The newest block that one source showed. */
  readonly seenHeight: number;
  /** The newest block that was read by the authoritative way. */
  readonly verifiedHeight: number;
}

/**
 * By how many blocks a verified block of each network is surely covered, itself included: nothing is verified before
 * two sources name the block that makes it so deep. Networks that are not configured (any more) count none above it.
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
 * The height from which confirmations count where they credit. Not the seen one: above what made the verified block
 * deep enough it is the word of one source, which could meet a larger order's depth with blocks that it made up.
 */
export function agreedHeight(
  { seenHeight, verifiedHeight }: CursorHeights,
  verifiedDepth: number | undefined,
): number {
  return Math.min(seenHeight, verifiedHeight + (verifiedDepth ?? 1) - 1);
}
