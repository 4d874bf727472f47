import type { BlockHeader } from '@opentill/chain/block';
import type { ChainReader, ReadOptions } from '@opentill/chain/chain-reader';
import type { ChainState } from './chain-state.ts';
import { reconcileBlocks } from './reconcile-blocks.ts';
import { scanError } from './scan-error.ts';
import type { ScanNetwork } from './scan-network.ts';
import { vouchForBranch } from './vouch-for-branch.ts';

const FIRST_STEP_BLOCKS = 8;

/**
 * Height of the last stored block that the chain still has, given headers that contradict the stored ones. Reads
 * older headers in growing steps until a block is common to both, or none of the stored ones is.
 * Throws REORG_TOO_DEEP for a fork below the stored blocks or below a block that the chain had called final, once a
 * second source shows that branch as well; BRANCH_NOT_VOUCHED until then.
 */
export async function findAncestor(
  { network, reader }: { readonly network: ScanNetwork; readonly reader: ChainReader },
  state: ChainState,
  contradicting: readonly BlockHeader[],
  options: ReadOptions,
): Promise<number> {
  const oldestHeight = state.blocks[0]?.height ?? 0;
  let read = contradicting;
  let stepBlocks = FIRST_STEP_BLOCKS;
  for (;;) {
    const found = reconcileBlocks(state.blocks, read);
    const first = read[0];
    if (found.kind === 'reorganised') {
      const { ancestorHeight } = found;
      const branch = read.find((header) => header.height === ancestorHeight + 1);
      if (ancestorHeight < finalHeightOf(network, state) && branch !== undefined)
        await vouchForBranch(reader, branch, options);
      return mayFork(network, state, ancestorHeight);
    }
    if (found.kind === 'below-window' || first === undefined) {
      if (first !== undefined) await vouchForBranch(reader, first, options);
      throw scanError('REORG_TOO_DEEP', 'the chain forked below every stored block', { oldestHeight });
    }
    if (found.kind === 'extends') {
      throw scanError('BRANCHES_DIFFER', 'the chain changed while its fork was looked for', {
        height: first.height,
      });
    }
    const older = await reader.headers(
      Math.max(oldestHeight, first.height - stepBlocks),
      first.height - 1,
      options,
    );
    if (older.at(-1)?.hash !== first.parentHash) {
      throw scanError('BRANCHES_DIFFER', 'the chain changed while its fork was looked for', {
        height: first.height,
      });
    }
    read = [...older, ...read];
    stepBlocks = Math.min(stepBlocks * 2, network.maxBlockRange);
  }
}

function mayFork(network: ScanNetwork, state: ChainState, ancestorHeight: number): number {
  const finalHeight = finalHeightOf(network, state);
  if (ancestorHeight < finalHeight) {
    throw scanError('REORG_TOO_DEEP', 'the chain forked below a block that it had called final', {
      ancestorHeight,
      finalHeight,
    });
  }
  return ancestorHeight;
}

/** Of the stored blocks above the verified one nobody knows yet whether they are the ones that became final. */
function finalHeightOf(network: ScanNetwork, state: ChainState): number {
  return network.confirmations === 'finalized'
    ? Math.min(state.finalizedHeight ?? 0, state.verifiedHeight)
    : 0;
}
