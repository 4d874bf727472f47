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
import { createVerifiedPass } from './verified-pass.ts';

/** The end of a round. */
export interface RoundEnd {
  readonly state: ChainState;
  /** 'again': there is more to do at once. 'soon': something waits that needs no new head. */
  readonly next: 'again' | 'soon' | undefined;
}

/** The rounds of one chain. Their parts remember things from round to round; losing them costs only time. */
export function createScanRounds(scanning: Scanning) {
  const { network, reader, observe } = scanning;
  const fates = createFateFollowing(scanning);
  const tokens = createTokenWatch(scanning);
  const seenPass = createSeenPass(scanning);
  const verifiedPass = createVerifiedPass(scanning, createCatchingUp(scanning));
  const epochs = createEpochCertifying(scanning);
  const rescans = createRescans(scanning);

  return {
    /**
     * One round. It yields one change at a time, in this order, and computes the next one from the state that the commit returns.
     *
     * | step               | it reads                               | in flight during a commit | a failed read leaves       |
     * |--------------------|----------------------------------------|---------------------------|----------------------------|
     * | head               | the newest block                       | own receipts, tokens      | nothing: the round ends    |
     * | catch-up           | a long way to the head, in parallel    | up to 12 segments         | the commits so far         |
     * | seen pass          | one range, or a new branch             | own receipts              | nothing: the round ends    |
     * | verified pass      | one range, or a long way in parallel   | up to 12 segments         | the commits so far         |
     * | committee (SUI)    | the certified end of an epoch          | –                         | the known committee        |
     * | rescan             | up to 4 segments                       | –                         | the request as it was      |
     * | idle outcomes      | own receipts, unless a commit had them | –                         | the outcomes as they were  |
     *
     * Where a failed read does not end the round, the step backs off and the round continues. A commit is one transaction: cursor,
     * blocks, transfers, outcomes and events. A failed commit is thrown at the `yield`: it stops what is read ahead and ends the round
     * with nothing half-written. Only a rescan survives its failed commit, unless the lease is lost or another replica moved the cursor.
     * An abort ends all reads and the round. After any error the caller loads the state: a commit whose answer was lost may stand.
     */
    async *round(lease: Lease, opened: ChainState, options: ReadOptions): Changes<RoundEnd> {
      const head = await reader.head(options);
      observe.headNamed(network.chain, head);
      fates.begin(opened, head, options);
      tokens.look(options);
      const reached = yield* verifiedPass.catchUpWithHead(opened, head, options);
      const seen = yield* seenPass.run(reached, head, options);
      // Depths counted from the old head do not hold.
      if (seen === undefined) return { state: reached, next: 'soon' };
      const verified = yield* verifiedPass.run(seen, options);
      if (verified.verifiedHeight > seen.verifiedHeight) seenPass.verified();
      await epochs.run(lease, verified, options);
      let state = yield* rescans.run(verified, options);
      const idle = await fates.planIdle(state, options);
      if (idle !== undefined) state = yield idle;
      const hasMoved = seen !== reached || seenBlock(opened).height !== seenBlock(state).height;
      const isBehind = hasMoved && seenBlock(state).height < state.head.height;
      const isVerifiable = verifiedPass.hasMore(state);
      if (isBehind || isVerifiable === true || rescans.isDue()) return { state, next: 'again' };
      return { state, next: isVerifiable === 'later' ? 'soon' : undefined };
    },
    /** The planned change with the outcomes of own transactions that belong to it. */
    withFates: fates.addTo,
    /** The state was loaded anew: another replica may have continued a rescan. */
    stateLoaded: rescans.forget,
    /** Forgets what was noted under an earlier lease. */
    leaseChanged(): void {
      verifiedPass.forget();
      tokens.forget();
      epochs.forget();
    },
  };
}
