import type { BlockHeader } from '@opentill/chain/block';
import type { ChainReader, ReadOptions } from '@opentill/chain/chain-reader';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { ChainState } from './chain-state.ts';
import { reconcileBlocks } from './reconcile-blocks.ts';
import { scanError } from './scan-error.ts';
import type { Scanning } from './scanning.ts';

const FIRST_STEP_BLOCKS = 8;

/**
 * Height of the last stored block that the chain still has, given headers that contradict the stored ones. Reads
 * older headers in growing steps until a block is common to both, or none of the stored ones is.
 * Throws REORG_TOO_DEEP for a fork below the stored blocks or below a block that the chain had called final, once a
 * second source shows that branch as well; BRANCH_NOT_VOUCHED until then.
 */
export async function findAncestor(
  { network, reader }: Scanning,
  state: ChainState,
  contradicting: readonly BlockHeader[],
  options: ReadOptions,
): Promise<number> {
  const oldestHeight = state.blocks[0]?.height ?? 0;
  // At most the verified height: a stored block above it may be another than the one that became final.
  const isTagged = network.confirmations === 'finalized';
  const finalHeight = isTagged ? Math.min(state.finalizedHeight ?? 0, state.verifiedHeight) : 0;
  let read = contradicting;
  let stepBlocks = FIRST_STEP_BLOCKS;
  for (;;) {
    const found = reconcileBlocks(state.blocks, read);
    const first = read[0];
    if (found.kind === 'reorganised') {
      const { ancestorHeight } = found;
      if (ancestorHeight >= finalHeight) return ancestorHeight;
      const branch = read.find((header) => header.height === ancestorHeight + 1);
      if (branch !== undefined) await confirmBranch(reader, branch, options);
      const context = { ancestorHeight, finalHeight };
      throw scanError('REORG_TOO_DEEP', 'the chain forked below a block that it had called final', context);
    }
    if (found.kind === 'below-window' || first === undefined) {
      if (first !== undefined) await confirmBranch(reader, first, options);
      throw scanError('REORG_TOO_DEEP', 'the chain forked below every stored block', { oldestHeight });
    }
    const { height, parentHash } = first;
    const from = Math.max(oldestHeight, height - stepBlocks);
    const older = found.kind === 'extends' ? [] : await reader.headers(from, height - 1, options);
    if (older.at(-1)?.hash !== parentHash)
      throw scanError('BRANCHES_DIFFER', 'the chain changed while its fork was looked for', { height });
    read = [...older, ...read];
    stepBlocks = Math.min(stepBlocks * 2, network.maxBlockRange);
  }
}

/**
 * Has a second source confirm the first block of a branch that would take verified blocks back, or halt the chain.
 * Throws BRANCH_NOT_VOUCHED while none does: the cursors stay where they are.
 */
export async function confirmBranch(
  reader: Pick<ChainReader, 'vouch'>,
  { height, hash }: BlockHeader,
  options: ReadOptions,
): Promise<void> {
  try {
    await reader.vouch({ height, hash }, options);
  } catch (error) {
    if (options.signal?.aborted === true || !(error instanceof GatewayError)) throw error;
    const context = { height, hash, why: error.code };
    throw scanError(
      'BRANCH_NOT_VOUCHED',
      'a single source shows another branch from below the verified block on',
      context,
      error,
    );
  }
}
