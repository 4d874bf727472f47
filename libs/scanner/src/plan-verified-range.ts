import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { ChainState } from './chain-state.ts';
import { checkContinues, readSegment } from './read-segment.ts';
import type { ScanChange } from './scan-change.ts';
import type { Scanning } from './scanning.ts';
import { changeOf, comparedHeights, type ScanGoal } from './segment-change.ts';

/**
 * One range towards the goal. Its depth was confirmed before, so that no source is on an older branch, and is confirmed
 * again after the blocks, while their payments are confirmed.
 */
export async function planVerifiedRange(
  scanning: Scanning,
  state: ChainState,
  goal: ScanGoal,
  options: ReadOptions,
): Promise<ScanChange> {
  const { network, reader } = scanning;
  const { verifiedHeight: before } = state;
  const { deepBy } = goal;
  const to = Math.min(goal.verifiedHeight, before + network.maxBlockRange);
  const headersAt = comparedHeights(network, state, goal);
  const segment = { kind: 'verified', from: before + 1, to, headersAt } as const;
  const afterBlocks = deepBy && (() => reader.confirmBlock(deepBy, options));
  const read = await readSegment(scanning, segment, { ...options, afterBlocks });
  checkContinues(state, undefined, read);
  return changeOf(network, state, goal, [read]);
}
