import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { EpochCommittee } from '@opentill/chain/epoch-committee';
import type { Lease } from '@opentill/db/lease';
import { verifiedBlock, type ChainState } from './chain-state.ts';
import { isolateFailure } from './isolate-failure.ts';
import { scanError } from './scan-error.ts';
import type { Scanning } from './scanning.ts';

/**
 * Follows who certifies the epochs of a chain, and which end of each of them they certified.
 *
 * The committee of one epoch is trusted by the word of two sources, once: the first time that the chain is scanned. Every later one is
 * named by the last checkpoint of the epoch before it, which that epoch's committee has signed. So it is never trusted anew: nodes could
 * hide the signatures of an epoch's end, to name a committee of their own.
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
    /** Takes one step where the verified cursor is in a later epoch than the known committee. A failed step is tried again. */
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
        return; // the next step reads which one is stored
      }
      const from = known;
      if (from.epoch >= epoch) return;
      const end = await isolation.run(options, () => committees.certifiedEnd(from, options.signal));
      if (end === undefined) return;
      const isOther = await store.committees.certify(lease, chain, from.epoch, end);
      known = end.next;
      if (!isOther) return;
      const context = { epoch: from.epoch, height: end.height, hash: end.hash };
      const message = 'the validators certified another end of an epoch than was read';
      observe.failed(chain, 'certify', scanError('NOT_CERTIFIED', message, context), 1);
    },
    /** Reads from the database again: another replica may have continued. */
    forget(): void {
      known = undefined;
    },
  };
}
