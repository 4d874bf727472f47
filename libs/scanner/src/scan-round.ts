import type { BlockHeader } from '@opentill/chain/block';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { Lease } from '@opentill/db/lease';
import { createCatchingUp } from './catch-up.ts';
import { createEpochCertifying } from './certify-epochs.ts';
import { seenBlock, type ChainState } from './chain-state.ts';
import { createFateFollowing } from './follow-fates.ts';
import { createRescans } from './rescan.ts';
import type { Changes } from './scan-change.ts';
import type { Scanning } from './scanning.ts';
import { createSeenPass } from './seen-pass.ts';
import { createTokenWatch } from './token-watch.ts';
import { createHeadReading, createVerifiedPass } from './verified-pass.ts';

export interface RoundEnd {
  readonly state: ChainState;
  /** 'again': more work now. 'soon': work is waiting that needs no new head. */
  readonly next: 'again' | 'soon' | undefined;
}

export interface RoundOptions extends ReadOptions {
  /** Only the blocks that are deep enough are read: no open work awaits others. */
  readonly isLook?: boolean;
  /** The nodes were left unasked for a while, so the gap to the head is longer than usual. */
  readonly hasRested?: boolean;
}

/** Parts keep state between rounds; losing it costs only time. */
export function createScanRounds(scanning: Scanning) {
  const { network, observe } = scanning;
  const fates = createFateFollowing(scanning);
  const tokens = createTokenWatch(scanning);
  const seenPass = createSeenPass(scanning);
  const catchingUp = createCatchingUp(scanning);
  const headReading = createHeadReading(scanning, catchingUp);
  const verifiedPass = createVerifiedPass(scanning, catchingUp, headReading.finality);
  const epochs = createEpochCertifying(scanning);
  const rescans = createRescans(scanning);

  async function* seeAndVerify(
    opened: ChainState,
    head: BlockHeader,
    hasRested: boolean,
    options: ReadOptions,
  ): Changes<{ readonly state: ChainState; readonly isHeld: boolean; readonly hasSeen: boolean }> {
    const reached = yield* headReading.catchUp(opened, head, hasRested, options);
    const seen = yield* seenPass.run(reached, head, options);
    // Depths counted from the old head are invalid.
    if (seen.isHeld) return { state: reached, isHeld: true, hasSeen: false };
    const state = yield* verifiedPass.run(seen.state, fates.mayBeOpen(), options);
    if (state.verifiedHeight > seen.state.verifiedHeight) seenPass.verified();
    // A node that claims a head without blocks must not stop the crediting of those below.
    if (seen.failure !== undefined) throw seen.failure;
    return { state, isHeld: false, hasSeen: seen.state !== reached };
  }

  return {
    /**
     * Runs one round. Yields one change at a time, in this order, and computes the next from the committed state.
     *
     * | step               | reads                                  | in flight during a commit | state after a failed read  |
     * |--------------------|----------------------------------------|---------------------------|----------------------------|
     * | head               | the newest block                       | own receipts, tokens      | unchanged; the round ends  |
     * | look, at rest only | deep blocks; the next four are skipped | up to 12 segments         | the commits so far         |
     * | catch-up           | a long range to the head, in parallel  | up to 12 segments         | the commits so far         |
     * | seen pass          | one range, or a new branch             | own receipts              | unchanged; the round ends  |
     * |                    |                                        |                           | after the verified pass    |
     * | verified pass      | one range, or a long one in parallel   | up to 12 segments         | the commits so far         |
     * | committee (SUI)    | the certified end of an epoch          | –                         | the known committee        |
     * | rescan             | up to 4 segments                       | –                         | the unchanged request      |
     * | idle outcomes      | own receipts, unless a commit had them | –                         | the unchanged outcomes     |
     *
     * If a failed read does not end the round, its step backs off and the round continues. A commit is one
     * transaction with cursor, blocks, transfers, outcomes and events. A failed commit is thrown at the `yield`, stops
     * reading ahead and ends the round. Only a rescan survives its failed commit, unless the lease was lost or another
     * replica moved the cursor. An abort ends all reads and the round. After any error the caller loads the state,
     * because a commit may have succeeded although its answer was lost.
     */
    async *round(
      lease: Lease,
      opened: ChainState,
      { isLook = false, hasRested = false, ...options }: RoundOptions,
    ): Changes<RoundEnd> {
      const named = await headReading.nameHead(isLook, options);
      const { head } = named;
      observe.headNamed(network.chain, head, isLook || hasRested);
      fates.begin(opened, head, options);
      tokens.look(options);
      if (isLook) {
        const [looked, isComplete] = yield* headReading.look(opened, named, options);
        await epochs.run(lease, looked, options);
        const found = await fates.planIdle(looked, options);
        return { state: found === undefined ? looked : yield found, next: isComplete ? undefined : 'soon' };
      }
      const { state: read, isHeld, hasSeen } = yield* seeAndVerify(opened, head, hasRested, options);
      if (isHeld) return { state: read, next: 'soon' };
      await epochs.run(lease, read, options);
      let state = yield* rescans.run(read, options);
      const idle = await fates.planIdle(state, options);
      if (idle !== undefined) state = yield idle;
      const hasMoved = hasSeen || seenBlock(opened).height !== seenBlock(state).height;
      const isBehind = hasMoved && seenBlock(state).height < state.head.height;
      const isVerifiable = verifiedPass.hasMore(state);
      if (isBehind || isVerifiable === true || rescans.isDue()) return { state, next: 'again' };
      return { state, next: isVerifiable === 'later' ? 'soon' : undefined };
    },
    withFates: fates.addTo,
    /** By the last round. True after a failed look-up. */
    hasOpenOutcomes: fates.mayBeOpen,
    /** Call after loading the state: another replica may have continued a rescan. */
    stateLoaded: rescans.forget,
    leaseChanged(): void {
      headReading.finality.forget();
      tokens.forget();
      epochs.forget();
    },
  };
}
