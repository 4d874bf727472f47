import { expect, it } from 'vitest';
import type { BlockHeader } from '@opentill/chain/block';
import type { ChainReader } from '@opentill/chain/chain-reader';
import { buildChain, forkAt } from '../test/build-chain.ts';
import type { ChainState } from './chain-state.ts';
import { findAncestor } from './find-ancestor.ts';
import type { Scanning } from './scanning.ts';

const chain = buildChain({ to: 120 });
/** Verified by depth while finality was stale, so no block at the finalized height is stored. */
const STATE: ChainState = {
  head: chain[120]!,
  finalizedHeight: 105,
  verifiedHeight: 110,
  blocks: [90, 100, 110, 120].map((height) => chain[height]!),
};

const forkOf = (branch: readonly BlockHeader[], state: ChainState): ReturnType<typeof findAncestor> => {
  const network = { confirmations: 'finalized', maxBlockRange: 50, finality: { tag: 'finalized' } };
  const reader: Pick<ChainReader, 'headers' | 'confirmBlock'> = {
    headers: (from, to) => Promise.resolve(branch.slice(from, to + 1)),
    confirmBlock: () => Promise.resolve(),
  };
  return findAncestor({ network, reader } as unknown as Scanning, state, branch.at(-1)!, {});
};

it('finds a fork above a finalized block that is not stored', async () => {
  const branch = forkAt(chain, 107, { branch: 'b', to: 121 });
  expect(await forkOf(branch, STATE)).toEqual({ ancestorHeight: 100, branch: branch[110] });
});

it('halts if a stored block at or below the finalized one left the chain', async () => {
  const halted = { code: 'REORG_TOO_DEEP', context: { ancestorHeight: 100, replacedHeight: 110 } };
  const branch = forkAt(chain, 107, { branch: 'b', to: 121 });
  await expect(forkOf(branch, { ...STATE, finalizedHeight: 110 })).rejects.toMatchObject(halted);
  await expect(forkOf(branch, { ...STATE, finalizedHeight: 115 })).rejects.toMatchObject(halted);
});

it('finds the lowest stored block that left the chain below one of the branch', async () => {
  const branch = forkAt(chain, 93, { branch: 'b', to: 121 });
  const blocks = [chain[90]!, chain[95]!, branch[97]!, chain[110]!, chain[120]!];
  const state = { ...STATE, finalizedHeight: 80, blocks };
  expect(await forkOf(branch, state)).toEqual({ ancestorHeight: 90, branch: branch[95] });
  const halted = { code: 'REORG_TOO_DEEP', context: { ancestorHeight: 90, replacedHeight: 95 } };
  await expect(forkOf(branch, { ...state, finalizedHeight: 95 })).rejects.toMatchObject(halted);
  const withoutAncestor = { ...state, blocks: blocks.slice(1) };
  await expect(forkOf(branch, withoutAncestor)).rejects.toMatchObject({
    code: 'REORG_TOO_DEEP',
    context: { oldestHeight: 95 },
  });
});
