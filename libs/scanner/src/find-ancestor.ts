import type { BlockHeader } from '@opentill/chain/block';
import type { ChainReader, ReadOptions } from '@opentill/chain/chain-reader';
import { hasFinalBlocks } from '@opentill/contracts/network-config';
import { GatewayError } from '@opentill/domain/gateway-error';
import { seenBlock, type ChainState } from './chain-state.ts';
import { reconcileBlocks } from './reconcile-blocks.ts';
import { scanError } from './scan-error.ts';
import type { Scanning } from './scanning.ts';

const FIRST_STEP_BLOCKS = 8;

export interface Fork {
  /** The highest stored block that is still in the chain. */
  readonly ancestorHeight: number;
  /** A block of the new branch, in place of the lowest stored block that left the chain. */
  readonly branch: BlockHeader;
}

/**
 * Reads headers downwards, from the seen block or a lower head, in growing steps. Undefined if they contradict no
 * stored block. With a fork at or below the verified block, reads down to the oldest stored block. REORG_TOO_DEEP if all
 * stored blocks or a finalized one left the chain and a second source shows the branch too; until then
 * BRANCH_NOT_VOUCHED.
 */
export async function findAncestor(
  { network, reader }: Scanning,
  state: ChainState,
  head: BlockHeader,
  options: ReadOptions,
): Promise<Fork | undefined> {
  const oldestHeight = state.blocks[0]?.height ?? 0;
  // Limited to the verified height: a stored block above it may differ from the one that became final.
  const finalHeight = hasFinalBlocks(network)
    ? Math.min(state.finalizedHeight ?? 0, state.verifiedHeight)
    : 0;
  const top = Math.min(head.height, seenBlock(state).height);
  let read = top === head.height ? [head] : await reader.headers(top, top, options);
  let stepBlocks = FIRST_STEP_BLOCKS;
  for (;;) {
    const found = reconcileBlocks(state.blocks, read);
    const first = read[0];
    if (found.kind === 'extends') return undefined;
    if (found.kind === 'reorganised') {
      const { ancestorHeight, contradicting: branch } = found;
      // With gaps between the blocks, the ancestor may be far below the fork.
      if (branch.height > state.verifiedHeight) return { ancestorHeight, branch };
      // A branch that sources left and took again during a read may have left a single block below the verified one.
      const isWhole = first !== undefined && first.height <= oldestHeight;
      const lowest = isWhole ? lowestFork(state.blocks, read) : undefined;
      if (lowest !== undefined && lowest.branch.height > finalHeight) return lowest;
      if (branch.height <= finalHeight || lowest !== undefined) {
        const deepest = lowest ?? { ancestorHeight, branch };
        await confirmBranch(reader, deepest.branch, options);
        const context = {
          ancestorHeight: deepest.ancestorHeight,
          replacedHeight: deepest.branch.height,
          finalHeight,
        };
        throw scanError(
          'REORG_TOO_DEEP',
          'the chain forked below a finalized block; compare the nodes with an explorer',
          context,
        );
      }
    }
    // Also reached if the oldest stored block left the chain and a higher one did not.
    if (found.kind === 'below-window' || first === undefined || first.height <= oldestHeight) {
      if (first !== undefined) await confirmBranch(reader, first, options);
      throw scanError(
        'REORG_TOO_DEEP',
        'the chain forked below every stored block; compare the nodes with an explorer',
        { oldestHeight },
      );
    }
    const { height, parentHash } = first;
    const from = Math.max(oldestHeight, height - stepBlocks);
    const older = await reader.headers(from, height - 1, options);
    if (older.at(-1)?.hash !== parentHash)
      throw scanError('BRANCHES_DIFFER', 'the chain changed while the scanner searched the fork', { height });
    read = [...older, ...read];
    stepBlocks = Math.min(stepBlocks * 2, network.maxBlockRange);
  }
}

/**
 * The fork below the lowest stored block that left the chain. `read` reaches down to the oldest stored block. Undefined
 * if that one left the chain.
 */
function lowestFork(stored: readonly BlockHeader[], read: readonly BlockHeader[]): Fork | undefined {
  const byHeight = new Map(read.map((header) => [header.height, header]));
  const place = stored.findIndex(({ height, hash }) => (byHeight.get(height)?.hash ?? hash) !== hash);
  const [ancestor, replaced] = [stored[place - 1], stored[place]];
  const branch = replaced && byHeight.get(replaced.height);
  return ancestor && branch && { ancestorHeight: ancestor.height, branch };
}

/**
 * For a branch that would remove verified blocks or halt the chain. Throws BRANCH_NOT_VOUCHED if no second source shows
 * it.
 */
export async function confirmBranch(
  reader: Pick<ChainReader, 'confirmBlock'>,
  { height, hash }: BlockHeader,
  options: ReadOptions,
): Promise<void> {
  try {
    await reader.confirmBlock({ height, hash }, options);
  } catch (error) {
    if (options.signal?.aborted === true || !(error instanceof GatewayError)) throw error;
    const context = { height, hash, why: error.code };
    throw scanError(
      'BRANCH_NOT_VOUCHED',
      'only one source shows a branch that forks below the verified block',
      context,
      error,
    );
  }
}
