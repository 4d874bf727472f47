import type { BlockHeader } from '@opentill/chain/block';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { CatchingUp } from './catch-up.ts';
import { createChainFinality, type NamedHead } from './chain-finality.ts';
import { seenBlock, type ChainState } from './chain-state.ts';
import { findConfirmedDepth, verifiedTarget } from './depth.ts';
import { isolateFailure } from './isolate-failure.ts';
import { planVerifiedRange } from './plan-verified-range.ts';
import type { Changes, ScanChange } from './scan-change.ts';
import { isScanError } from './scan-error.ts';
import type { Scanning } from './scanning.ts';
import { planTakingBack } from './seen-pass.ts';
import { contradictionOf, type ScanGoal } from './segment-change.ts';
import { createVerifyPace } from './verify-pace.ts';

/** Reads of blocks that were not seen before: up to a head after a rest or a long gap, or at a rest. */
export function createHeadReading(scanning: Scanning, catchingUp: CatchingUp) {
  const finality = createChainFinality(scanning);
  return {
    finality,
    nameHead: finality.nameHead,
    /**
     * One range at a chain that rests, of the blocks that are deep enough. They are read once, and no block above.
     * False if a block may be left that is deep enough.
     */
    async *look(
      before: ChainState,
      named: NamedHead,
      options: ReadOptions,
    ): Changes<readonly [ChainState, boolean]> {
      const goal = await finality.goalAtHead(before, named, options);
      const seenHeight = Math.max(seenBlock(before).height, goal.verifiedHeight);
      const caughtUp = yield* catchingUp.run('verified', before, { ...goal, seenHeight }, options);
      const isComplete = caughtUp.failure === undefined && !finality.isFailing();
      if (isComplete) scanning.observe.verifiedRead(scanning.network.chain);
      return [caughtUp.state, isComplete];
    },
    async *catchUp(
      before: ChainState,
      head: BlockHeader,
      hasRested: boolean,
      options: ReadOptions,
    ): Changes<ChainState> {
      const isDeep = hasRested && isLongerThanDepth(before, head);
      if (!catchingUp.isWorthwhile(head.height - seenBlock(before).height, isDeep)) return before;
      const goal = await finality.goalAtHead(before, { head }, options);
      return (yield* catchingUp.run('catch-up', before, goal, options)).state;
    },
  };
}

export function createVerifiedPass(
  scanning: Scanning,
  catchingUp: CatchingUp,
  finality: ReturnType<typeof createChainFinality>,
) {
  const { network, observe } = scanning;
  const pace = createVerifyPace(scanning);
  const verifying = isolateFailure(scanning, 'verified');
  let wasDue = true;
  /** Since blocks were last verified. A source that then names no deeper block must not end the alarm. */
  let isContradicted = false;

  async function goalOf(state: ChainState, options: ReadOptions): Promise<ScanGoal | undefined> {
    const seenHeight = seenBlock(state).height;
    const { head, verifiedHeight } = state;
    if (verifiedHeight === seenHeight) return undefined;
    const named = await finality.at(state, head, options);
    const finalizedHeight =
      named.finalizedHeight === null ? null : Math.min(named.finalizedHeight, seenHeight);
    const { isFinalityStale } = named;
    const target = verifiedTarget({ ...state, finalizedHeight }, network, isFinalityStale);
    if (target === verifiedHeight) return undefined;
    const facts = { finalizedHeight };
    const { height, deepBy } = await findConfirmedDepth(scanning, target, state, facts, options);
    return { head, seenHeight, verifiedHeight: height, finalizedHeight, isFinalityStale, deepBy };
  }

  return {
    /** `isAwaited`: the outcome of an own transaction waits for it. */
    async *run(before: ChainState, isAwaited: boolean, options: ReadOptions): Changes<ChainState> {
      wasDue = isAwaited || verifying.isFailing() || (await pace.isDue(before));
      if (!wasDue) {
        observe.verifiedRead(network.chain);
        return before;
      }
      const next = await verifying.run(options, async () => {
        const goal = await goalOf(before, options);
        if (goal === undefined) return { isIdle: true };
        if (catchingUp.isWorthwhile(goal.verifiedHeight - before.verifiedHeight)) return { goal };
        const plan = planVerifiedRange(scanning, before, goal, options);
        return { change: await plan.catch((error: unknown) => repair(scanning, before, error, options)) };
      });
      if (next?.isIdle === true && !isContradicted) observe.verifiedRead(network.chain);
      let state = next?.change === undefined ? before : yield next.change;
      const contradiction = next?.change && contradictionOf(before, state);
      if (contradiction !== undefined) {
        isContradicted = true;
        verifying.failed(contradiction);
      }
      if (next?.goal !== undefined) {
        const caughtUp = yield* catchingUp.run('verified', before, next.goal, options);
        ({ state } = caughtUp);
        const { failure } = caughtUp;
        const isLeft = isScanError(failure, 'VERIFIED_BLOCK_LEFT');
        const change =
          isLeft && (await verifying.run(options, () => repair(scanning, state, failure, options)));
        if (change) state = yield change;
        else if (failure !== undefined && !isLeft) verifying.backOff(failure);
      }
      if (state.verifiedHeight > before.verifiedHeight) {
        isContradicted = false;
        observe.verifiedRead(network.chain);
        pace.verified();
      }
      return state;
    },
    /** A block is deep enough to verify; 'later' during back-off, and after a failure, which may hide such a block. */
    hasMore(state: ChainState): boolean | 'later' {
      const { isStale, height: finalizedHeight = state.finalizedHeight } = finality.view();
      const target = verifiedTarget({ ...state, finalizedHeight }, network, isStale);
      const isMore = wasDue && target > state.verifiedHeight;
      return (isMore && verifying.isDue()) || ((isMore || verifying.isFailing()) && 'later');
    },
  };
}

/** The change that takes back the verified block, if two sources replace it. Otherwise the error is thrown. */
async function repair(
  scanning: Scanning,
  state: ChainState,
  error: unknown,
  options: ReadOptions,
): Promise<ScanChange> {
  if (!isScanError(error, 'VERIFIED_BLOCK_LEFT')) throw error;
  const change = await planTakingBack(scanning, state, options);
  if (change === undefined) throw error;
  return change;
}

/**
 * After a rest the verified cursor was as close to the seen one as finality permits. In a gap that is longer than this
 * distance, some blocks are deep enough already: catching up reads them once.
 */
function isLongerThanDepth(state: ChainState, head: BlockHeader): boolean {
  const seenHeight = seenBlock(state).height;
  return head.height - seenHeight > Math.max(1, seenHeight - state.verifiedHeight);
}
