import { createEvmStateReader } from '@opentill/chain-evm/read-balances';
import { createSuiStateReader } from '@opentill/chain-sui/read-state';
import { createTronStateReader } from '@opentill/chain-tron/read-state';
import type { Family } from '@opentill/domain/chains';
import { waitUntilVerified } from './compare-at-newest-state.ts';
import { reconcileChain, type ReconcileWork } from './reconcile-chain.ts';
import { reconcileAtNewestState } from './reconcile-newest-state.ts';
import type { Reconciliation } from './reconciliation.ts';
import { hasMoved, readChainLedger } from './store/read-chain-ledger.ts';

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

/** @returns undefined when no scanner has verified a block of the chain yet; @throws GatewayError CHAIN_NOT_AT_REST */
export function createComparison(work: ReconcileWork): Comparison {
  return COMPARISONS[work.network.family](work);
}

/**
 * TRON nodes have only the state of the newest solid block. Hot wallets are read within one solid block, repeatedly
 * until the scanner has verified exactly that block. A deposit address counts if its balance did not change between the
 * blocks before and after its reading.
 */
function compareTron(work: ReconcileWork): Comparison {
  const { db, network } = work;
  const state = createTronStateReader(network, READER_DEPS);
  return () =>
    reconcileAtNewestState(work, {
      async read(holdings) {
        const { from, to, balances } = await state.solidBalances(holdings);
        return { fromHeight: from.height, toHeight: to.height, balances, from, to };
      },
      async booksAt({ from, to }, deadlineMs) {
        if (from.hash !== to.hash) return undefined;
        await waitUntilVerified(db, network.chain, to.height, deadlineMs);
        const books = await readChainLedger(db, network);
        return books?.anchor.hash === to.hash ? books : undefined;
      },
      neverMet: 'the scanner was never at the block whose state the nodes had. Run it again.',
    });
}

/**
 * SUI nodes have only the newest state, and a checkpoint lasts a quarter of a second. Balances are read repeatedly
 * until the checkpoints around a reading contain none of their movements.
 */
function compareSui(work: ReconcileWork): Comparison {
  const { db, network } = work;
  const state = createSuiStateReader(network, READER_DEPS);
  return () =>
    reconcileAtNewestState(work, {
      read: state.newestBalances,
      async booksAt({ fromHeight, toHeight }, deadlineMs) {
        await waitUntilVerified(db, network.chain, toHeight, deadlineMs);
        const books = await readChainLedger(db, network, toHeight);
        return books === undefined || (await hasMoved(db, network, fromHeight, toHeight)) ? undefined : books;
      },
      neverMet: 'the balance of the hot wallet changed during every reading. Run it again.',
    });
}
