import type { TronStateReader } from '@opentill/chain-tron/read-state';
import { untilVerified } from './compare-resting.ts';
import { readBooks } from './store/read-books.ts';
import type { ReconcileDeps } from './reconcile-chain.ts';
import { reconcileResting } from './reconcile-resting.ts';
import type { Reconciliation } from './reconciliation.ts';

export interface TronReconcileDeps extends Omit<ReconcileDeps, 'state'> {
  readonly state: TronStateReader;
}

/**
 * Compares a TRON chain's books with the chain, changing nothing. Nodes have the state of the newest solid block and of no other.
 * So the hot wallets are read within one solid block, again and again until the books stand at that very block; and a deposit
 * address counts when nothing came to it between the block before its reading and the one after.
 * @returns undefined when no scanner has ever verified a block of the chain
 * @throws GatewayError CHAIN_NOT_AT_REST, or with a ReaderErrorCode or a DatabaseErrorCode
 */
export async function reconcileTron(deps: TronReconcileDeps): Promise<Reconciliation | undefined> {
  const { db, network, state } = deps;
  return reconcileResting(deps, {
    async read(holdings) {
      const { from, to, balances } = await state.solidBalances(holdings);
      return { fromHeight: from.height, toHeight: to.height, balances, from, to };
    },
    async booksAt({ from, to }, deadlineMs) {
      if (from.hash !== to.hash) return undefined;
      await untilVerified(db, network.chain, to.height, deadlineMs);
      const books = await readBooks(db, network);
      return books?.anchor.hash === to.hash ? books : undefined;
    },
    neverMet: 'the scanner was never at the block that the nodes had the state of.',
  });
}
