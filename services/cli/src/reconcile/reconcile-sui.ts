import type { SuiStateReader } from '@opentill/chain-sui/read-state';
import { untilVerified } from './compare-resting.ts';
import { hasMoved, readBooks } from './store/read-books.ts';
import type { ReconcileDeps } from './reconcile-chain.ts';
import { reconcileResting } from './reconcile-resting.ts';
import type { Reconciliation } from './reconciliation.ts';

export interface SuiReconcileDeps extends Omit<ReconcileDeps, 'state'> {
  readonly state: SuiStateReader;
}

/**
 * Compares a SUI chain's books with the chain, changing nothing. Nodes have the newest state and no other, and a checkpoint lasts for a
 * quarter of a second. So the hot wallets are read again and again until nothing of theirs stands in the checkpoints between which
 * they were read, and the books are those of the later one; and so are deposit addresses.
 * @returns undefined when no scanner has ever verified a checkpoint of the chain
 * @throws GatewayError CHAIN_NOT_AT_REST, or with a ReaderErrorCode or a DatabaseErrorCode
 */
export async function reconcileSui(deps: SuiReconcileDeps): Promise<Reconciliation | undefined> {
  const { db, network, state } = deps;
  return reconcileResting(deps, {
    read: state.newestBalances,
    async booksAt({ fromHeight, toHeight }, deadlineMs) {
      await untilVerified(db, network.chain, toHeight, deadlineMs);
      const books = await readBooks(db, network, toHeight);
      return books === undefined || (await hasMoved(db, network, fromHeight, toHeight)) ? undefined : books;
    },
    neverMet: 'the hot wallet never rested for as long as it takes to read it.',
  });
}
