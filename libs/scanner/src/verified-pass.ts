import type { BlockHeader } from '@opentill/chain/block';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { CatchingUp } from './catch-up.ts';
import { seenBlock, type ChainState, type HeadBlock } from './chain-state.ts';
import { createFinalityWatch } from './finality-watch.ts';
import { isolateFailure } from './isolate-failure.ts';
import { readSegment } from './read-segment.ts';
import type { Changes } from './scan-change.ts';
import type { Scanning } from './scanning.ts';
import { changeOf, type ScanGoal } from './segment-change.ts';
import { confirmDepths, verifiableHeight, verifiedTarget } from './depth.ts';

interface Finality {
  readonly finalizedHeight: number | null;
  readonly isFinalityStale: boolean;
}

export function createVerifiedPass(scanning: Scanning, catchingUp: CatchingUp) {
  const { network, observe } = scanning;
  const finality = createFinalityWatch(scanning);
  const verifying = isolateFailure(scanning, 'verified');
  const askingFinality = isolateFailure(scanning, 'finality');
  const highestConfirmed = confirmDepths(scanning);

  async function finalityAt(state: ChainState, head: HeadBlock, options: ReadOptions): Promise<Finality> {
    const known = { finalizedHeight: state.finalizedHeight, headHeight: head.height };
    try {
      const finalizedHeight = await finality.look(known, options);
      return { finalizedHeight, isFinalityStale: finality.view().isStale };
    } finally {
      observe.finalitySeen(network.chain, finality.view());
    }
  }

  async function goalOf(state: ChainState, options: ReadOptions): Promise<ScanGoal | undefined> {
    const seenHeight = seenBlock(state).height;
    const { head, verifiedHeight } = state;
    if (verifiedHeight === seenHeight) return undefined;
    const named = await finalityAt(state, head, options);
    const finalizedHeight =
      named.finalizedHeight === null ? null : Math.min(named.finalizedHeight, seenHeight);
    const target = verifiedTarget({ ...state, finalizedHeight }, network, named.isFinalityStale);
    if (target === verifiedHeight) return undefined;
    const confirmed = await highestConfirmed(target, state, { finalizedHeight }, options);
    return { ...named, head, seenHeight, verifiedHeight: confirmed, finalizedHeight };
  }

  return {
    async *catchUpWithHead(
      before: ChainState,
      head: BlockHeader,
      hasRested: boolean,
      options: ReadOptions,
    ): Changes<ChainState> {
      const isDeep = hasRested && isLongerThanDepth(before, head);
      if (!catchingUp.isWorthwhile(head.height - seenBlock(before).height, isDeep)) return before;
      const named = verifying.isDue()
        ? await askingFinality.run(options, () => finalityAt(before, head, options))
        : undefined;
      const goal = goalAtHead(scanning, before, head, named);
      return (yield* catchingUp.run('catch-up', before, goal, options)).state;
    },
    async *run(before: ChainState, options: ReadOptions): Changes<ChainState> {
      const plan = await verifying.run(options, async () => {
        const goal = await goalOf(before, options);
        if (goal === undefined) return { isIdle: true };
        const from = before.verifiedHeight + 1;
        if (catchingUp.isWorthwhile(goal.verifiedHeight - before.verifiedHeight)) return { goal };
        const to = Math.min(goal.verifiedHeight, before.verifiedHeight + network.maxBlockRange);
        const read = await readSegment(scanning, before, { kind: 'verified', from, to }, options);
        return { change: changeOf(network, before, goal, [read]) };
      });
      if (plan?.isIdle === true) observe.verifiedRead(network.chain);
      let state = plan?.change === undefined ? before : yield plan.change;
      if (plan?.goal !== undefined) {
        const caughtUp = yield* catchingUp.run('verified', before, plan.goal, options);
        if (caughtUp.failure !== undefined) verifying.backOff(caughtUp.failure);
        ({ state } = caughtUp);
      }
      if (state.verifiedHeight > before.verifiedHeight) observe.verifiedRead(network.chain);
      return state;
    },
    /** A block is deep enough to verify; 'later' during back-off, and after a failure, which may hide such a block. */
    hasMore(state: ChainState): boolean | 'later' {
      const { isStale, height: finalizedHeight = state.finalizedHeight } = finality.view();
      const isMore = verifiedTarget({ ...state, finalizedHeight }, network, isStale) > state.verifiedHeight;
      return (isMore && verifying.isDue()) || ((isMore || verifying.isFailing()) && 'later');
    },
    forget: finality.forget,
  };
}

/**
 * After a rest the verified cursor was as close to the seen one as finality permits. In a gap that is longer than this
 * distance, some blocks are deep enough already: catching up reads them once.
 */
function isLongerThanDepth(state: ChainState, head: BlockHeader): boolean {
  const seenHeight = seenBlock(state).height;
  return head.height - seenHeight > Math.max(1, seenHeight - state.verifiedHeight);
}

/** Verifies blocks that will be deep enough; none while finality is unknown. */
function goalAtHead(
  { network }: Scanning,
  state: ChainState,
  head: BlockHeader,
  named: Finality | undefined,
): ScanGoal {
  const verifiable =
    named === undefined ? 0 : verifiableHeight(network, { linkedHeight: head.height, ...named });
  return {
    head,
    seenHeight: head.height,
    verifiedHeight: Math.max(state.verifiedHeight, verifiable),
    ...(named ?? { finalizedHeight: null, isFinalityStale: false }),
  };
}
