import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { Lease } from '@opentill/db/lease';
import { createCatchingUp } from './catch-up.ts';
import { createEpochCertifying } from './certify-epochs.ts';
import { seenBlock, type ChainState } from './chain-state.ts';
import { createFateFollowing } from './follow-fates.ts';
import { createRescans } from './rescan.ts';
import type { Changes, ScanChange } from './scan-change.ts';
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

/** The rounds of one chain. Its parts remember things from round to round; losing them costs only time. */
export interface ScanRounds {
  /**
   * One round, as changes to commit in this order:
   *
   * | step               | reads                                         | in flight while a change is committed | a failed read leaves                |
   * |--------------------|-----------------------------------------------|---------------------------------------|-------------------------------------|
   * | head               | the newest block; receipts of own transactions begin | receipts, token contracts      | the round ends; the caller retries  |
   * | catch-up           | a long way to the head, in parallel            | up to 12 segments ahead               | commits so far; the round continues |
   * | seen pass          | one range, or the branch of a reorganisation   | receipts                              | the round ends                      |
   * | verified pass      | one range, or a long way in parallel           | up to 12 segments ahead               | commits so far; the round continues |
   * | committee of epochs | the end of an epoch (SUI)                     | –                                     | tried again later                   |
   * | rescan             | up to 4 segments                               | –                                     | the cursor; tried again later       |
   * | idle outcomes      | receipts, if no commit above has used them     | –                                     | asked again in the next round       |
   *
   * A round yields one change at a time and computes the next one from the state that the commit returns. A commit is one transaction:
   * cursor, blocks, transfers, outcomes and events. A failed commit is thrown at the `yield`. It stops what is read ahead and ends the
   * round with nothing half-written; only a rescan survives its failed commit, unless the lease is lost or another replica has moved the
   * cursor. An abort ends all reads and the round. After an error the caller loads the state again: a commit whose answer was lost stands.
   */
  round(lease: Lease, opened: ChainState, options: ReadOptions): Changes<RoundEnd>;
  /** The planned change with the outcomes of own transactions that belong to it. */
  withFates(before: ChainState, planned: ScanChange, options: ReadOptions): Promise<ScanChange>;
  /** The state was loaded anew: another replica may have continued a rescan. */
  stateLoaded(): void;
  /** Forgets what was noted under an earlier lease. */
  leaseChanged(): void;
}

export function createScanRounds(scanning: Scanning): ScanRounds {
  const { network, reader, observe } = scanning;
  const fates = createFateFollowing(scanning);
  const tokens = createTokenWatch(scanning);
  const seenPass = createSeenPass(scanning);
  const verifiedPass = createVerifiedPass(scanning, createCatchingUp(scanning));
  const epochs = createEpochCertifying(scanning);
  const rescans = createRescans(scanning);

  return {
    async *round(lease, opened, options) {
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
    withFates: (before, planned, options) => fates.addTo(before, planned, options),
    stateLoaded: () => rescans.forget(),
    leaseChanged() {
      verifiedPass.forget();
      tokens.forget();
      epochs.forget();
    },
  };
}
