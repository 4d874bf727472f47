import { seenBlock, type ChainState } from './chain-state.ts';
import type { ScanNetwork } from './scan-network.ts';

/** What is known of a chain's depth and finality at one moment. */
export interface DepthFacts {
  /**
   * Height of the newest block that is linked, parent by parent, to everything below it. Depth counts from there:
   * while a node is ahead of what was read, its head is a bare number that it may have made up.
   */
  readonly linkedHeight: number;
  /** Newest block that the chain called final; null when it never named one. */
  readonly finalizedHeight: number | null;
  /** Whether finality has stalled for longer than the network allows. */
  readonly isFinalityStale: boolean;
}

/**
 * The highest block that may be verified. With a number of confirmations: so many blocks deep, the linked block being
 * the first. With 'finalized': not above the finalized height and `minDepth` deep; once finality is stale also what is
 * `fallbackDepth` deep, where the network has such a rule, else the chain holds. May be negative on a young chain.
 */
export function verifiableHeight(
  { confirmations, finality }: Pick<ScanNetwork, 'confirmations' | 'finality'>,
  { linkedHeight, finalizedHeight, isFinalityStale }: DepthFacts,
): number {
  const heightAtDepth = (depth: number): number => linkedHeight - depth + 1;
  if (confirmations !== 'finalized') return heightAtDepth(confirmations);
  const fallbackDepth = isFinalityStale ? finality?.fallbackDepth : undefined;
  const final = Math.max(
    finalizedHeight ?? -1,
    fallbackDepth === undefined ? -1 : heightAtDepth(fallbackDepth),
  );
  return Math.min(final, heightAtDepth(finality?.minDepth ?? 1));
}

/**
 * How many blocks make a verifiable height deep enough, itself included: those that somebody has to vouch for. 1 where
 * none above it does, since it is final or needs no depth; its own hash is compared when it is read.
 */
export function countedDepth(
  { confirmations, finality }: Pick<ScanNetwork, 'confirmations' | 'finality'>,
  { finalizedHeight }: Pick<DepthFacts, 'finalizedHeight'>,
  height: number,
): number {
  if (confirmations !== 'finalized') return confirmations;
  const isFinal = height <= (finalizedHeight ?? -1);
  return (isFinal ? finality?.minDepth : finality?.fallbackDepth) ?? 1;
}

/** The height that the verified cursor may reach now: never above what was seen, nor below where it is. */
export function verifiedTarget(
  state: ChainState,
  network: Pick<ScanNetwork, 'confirmations' | 'finality'>,
  isFinalityStale: boolean,
): number {
  const { finalizedHeight } = state;
  const linkedHeight = seenBlock(state).height;
  const verifiable = verifiableHeight(network, { linkedHeight, finalizedHeight, isFinalityStale });
  return Math.max(state.verifiedHeight, verifiable);
}
