import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { EpochCommittee } from '@opentill/chain/epoch-committee';
import type { Lease } from '@opentill/db/lease';
import type { Clock } from '@opentill/runtime/clock';
import { createApart } from './apart.ts';
import { verifiedBlock, type ChainState } from './chain-state.ts';
import { createHoldOff } from './hold-off.ts';
import { scanError } from './scan-error.ts';
import type { Scanning } from './scanning.ts';

/** Follows who certifies the epochs of a chain, and which end of each of them they certified. */
export interface EpochCertifying {
  /** Takes one step where the verified cursor is in a later epoch than the committee that is known; a failure is reported, and tried again. */
  run(lease: Lease, state: ChainState, options: ReadOptions): Promise<void>;
  /** Reads from the database what is known: another replica may have gone on. */
  forget(): void;
}

/**
 * The committee of one epoch is trusted by the word of two sources, once: the first time that the chain is scanned. Every later one is
 * named by the last checkpoint of the epoch before it, which that epoch's committee has signed. So it is never trusted anew: nodes could
 * hide the signatures of an epoch's end, to name a committee of their own.
 */
export function createEpochCertifying({
  network: { chain },
  network,
  reader: { committees },
  store,
  observe,
  clock,
}: Scanning & { readonly clock: Clock }): EpochCertifying {
  const holdOff = createHoldOff(clock);
  const apart = createApart({ network, observe });
  let known: EpochCommittee | undefined;
  return {
    async run(lease, state, options) {
      const { epoch } = verifiedBlock(state);
      if (committees === undefined || epoch === undefined || !holdOff.isDue()) return;
      if (known !== undefined && known.epoch >= epoch) return;
      known ??= await store.committees.latest(chain);
      if (known === undefined) {
        const first = await apart('certify', holdOff, options, () =>
          committees.trusted(epoch, options.signal),
        );
        if (first === undefined) return;
        await store.committees.trust(lease, chain, first);
        observe.committeeTrusted(chain, first);
        return; // which one is stored the next step reads
      }
      const from = known;
      if (from.epoch >= epoch) return;
      const end = await apart('certify', holdOff, options, () =>
        committees.certifiedEnd(from, options.signal),
      );
      if (end === undefined) return;
      const isOther = await store.committees.certify(lease, chain, from.epoch, end);
      known = end.next;
      if (isOther)
        observe.failed(
          chain,
          'certify',
          scanError('NOT_CERTIFIED', 'the validators certified another end of an epoch than was read', {
            epoch: from.epoch,
            height: end.height,
            hash: end.hash,
          }),
          1,
        );
    },
    forget() {
      known = undefined;
    },
  };
}
