import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { ChainState } from './chain-state.ts';
import { depthOf, findConfirmedDepth, isUnconfirmed } from './depth.ts';
import { checkContinues, readSegment } from './read-segment.ts';
import type { ScanChange } from './scan-change.ts';
import type { Scanning } from './scanning.ts';
import { changeOf, type ScanGoal } from './segment-change.ts';

/** Ranges whose depth is confirmed first, after one whose depth was not confirmed. */
const CAUTIOUS_READS = 20;

export function createRangePlanning(scanning: Scanning) {
  const { network } = scanning;
  let cautiousReads = 0;

  async function withConfirmedDepth(
    state: ChainState,
    goal: ScanGoal,
    options: ReadOptions,
  ): Promise<ScanGoal> {
    const { height, deepBy } = await findConfirmedDepth(scanning, goal.verifiedHeight, state, goal, options);
    return { ...goal, verifiedHeight: height, deepBy };
  }

  /** Confirms the depth after the blocks, while their payments are confirmed: no extra round trip. */
  async function planRange(state: ChainState, goal: ScanGoal, options: ReadOptions): Promise<ScanChange> {
    const { verifiedHeight: before } = state;
    const { deepBy } = goal;
    const to = Math.min(goal.verifiedHeight, before + network.maxBlockRange);
    const segment = { kind: 'verified', from: before + 1, to } as const;
    const afterBlocks = deepBy && (() => scanning.reader.confirmBlock(deepBy, options));
    const read = await readSegment(scanning, segment, { ...options, afterBlocks });
    checkContinues(state, undefined, read);
    return changeOf(network, state, goal, [read]);
  }

  /** Expects a second source to have the newest block. If it lags, the depth is searched first, also the next times. */
  async function plan(state: ChainState, goal: ScanGoal, options: ReadOptions): Promise<ScanChange> {
    const depth = depthOf(network, state, goal, goal.verifiedHeight);
    if (depth !== undefined && cautiousReads === 0) {
      try {
        return await planRange(state, { ...goal, deepBy: depth.deepBy }, options);
      } catch (error) {
        if (depth.deepBy === undefined || !isUnconfirmed(error) || options.signal?.aborted === true)
          throw error;
        cautiousReads = CAUTIOUS_READS;
      }
    } else cautiousReads = Math.max(0, cautiousReads - 1);
    return planRange(state, await withConfirmedDepth(state, goal, options), options);
  }

  return { plan, withConfirmedDepth };
}
