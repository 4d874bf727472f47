import { createEvmStateReader } from '@opentill/chain-evm/read-balances';
import { createSuiStateReader } from '@opentill/chain-sui/read-state';
import { createTronStateReader } from '@opentill/chain-tron/read-state';
import type { Family } from '@opentill/domain/chains';
import { untilVerified } from './compare-resting.ts';
import { reconcileChain, type ReconcileWork } from './reconcile-chain.ts';
import { reconcileResting } from './reconcile-resting.ts';
import type { Reconciliation } from './reconciliation.ts';
import { hasMoved, readBooks } from './store/read-books.ts';

const READER_DEPS = { requestTimeoutMs: 15_000 };

type Comparison = () => Promise<Reconciliation | undefined>;

const COMPARISONS: Readonly<Record<Family, (work: ReconcileWork) => Comparison>> = {
  EVM(work) {
    const state = createEvmStateReader(work.network, READER_DEPS);
    return () => reconcileChain({ ...work, state });
  },
  TRON: compareTron,
  SUI: compareSui,
};

/**
 * The comparison of a chain with its books, by its family; it changes nothing.
 * @returns undefined when no scanner has ever verified a block of the chain
 * @throws GatewayError CHAIN_NOT_AT_REST, or with a ReaderErrorCode or a DatabaseErrorCode
 */
export function comparisonOf(work: ReconcileWork): Comparison {
  return COMPARISONS[work.network.family](work);
}

/**
 * Nodes have the state of the newest solid block and of no other.
 * So the hot wallets are read within one solid block, again and again until the books stand at that very block; and a deposit
 * address counts when nothing came to it between the block before its reading and the one after.
 */
function compareTron(work: ReconcileWork): Comparison {
  const { db, network } = work;
  const state = createTronStateReader(network, READER_DEPS);
  return () =>
    reconcileResting(work, {
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

/**
 * Nodes have the newest state and no other, and a checkpoint lasts for a
 * quarter of a second. So the hot wallets are read again and again until nothing of theirs stands in the checkpoints between which
 * they were read, and the books are those of the later one; and so are deposit addresses.
 */
function compareSui(work: ReconcileWork): Comparison {
  const { db, network } = work;
  const state = createSuiStateReader(network, READER_DEPS);
  return () =>
    reconcileResting(work, {
      read: state.newestBalances,
      async booksAt({ fromHeight, toHeight }, deadlineMs) {
        await untilVerified(db, network.chain, toHeight, deadlineMs);
        const books = await readBooks(db, network, toHeight);
        return books === undefined || (await hasMoved(db, network, fromHeight, toHeight)) ? undefined : books;
      },
      neverMet: 'the hot wallet never rested for as long as it takes to read it.',
    });
}
