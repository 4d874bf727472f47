import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { EpochCommittee } from '@opentill/chain/epoch-committee';
import type { Lease } from '@opentill/db/lease';
import { verifiedBlock, type ChainState } from './chain-state.ts';
import { isolateFailure } from './isolate-failure.ts';
import { scanError } from './scan-error.ts';
import type { Scanning } from './scanning.ts';

/**
 * Follows the validator committees of a chain and the checkpoints that ended their epochs. The first committee is
 * trusted once, when two sources agree on it. Each later one is named in the last checkpoint of the previous epoch,
 * signed by that epoch's committee. No committee is trusted a second time: nodes could hide an epoch's signatures and
 * name a committee of their own.
 */
export function createEpochCertifying(scanning: Scanning) {
  const {
    network: { chain },
    reader: { committees },
    store,
    observe,
  } = scanning;
  const isolation = isolateFailure(scanning, 'certify');
  let known: EpochCommittee | undefined;
  return {
    async run(lease: Lease, state: ChainState, options: ReadOptions): Promise<void> {
      const { epoch } = verifiedBlock(state);
      if (committees === undefined || epoch === undefined || !isolation.isDue()) return;
      if (known !== undefined && known.epoch >= epoch) return;
      known ??= await store.committees.latest(chain);
      if (known === undefined) {
        const first = await isolation.run(options, () => committees.trusted(epoch, options.signal));
        if (first === undefined) return;
        await store.committees.trust(lease, chain, first);
        observe.committeeTrusted(chain, first);
        return; // the next step loads the stored one; another replica may have stored it first
      }
      const from = known;
      if (from.epoch >= epoch) return;
      const end = await isolation.run(options, () => committees.certifiedEnd(from, options.signal));
      if (end === undefined) return;
      const isOther = await store.committees.certify(lease, chain, from.epoch, end);
      known = end.next;
      if (!isOther) return;
      const context = { epoch: from.epoch, height: end.height, hash: end.hash };
      const message = 'the validators certified another last block of the epoch than the scanner stored';
      observe.failed(chain, 'certify', scanError('NOT_CERTIFIED', message, context), 1);
    },
    forget(): void {
      known = undefined;
    },
  };
}
