import { createEvmStateReader } from '@opentill/chain-evm/read-balances';
import { createSuiStateReader } from '@opentill/chain-sui/read-state';
import { createTronStateReader } from '@opentill/chain-tron/read-state';
import type { Family } from '@opentill/domain/chains';
import { reconcileChain, type ReconcileDeps } from './reconcile-chain.ts';
import { reconcileSui } from './reconcile-sui.ts';
import { reconcileTron } from './reconcile-tron.ts';
import type { Reconciliation } from './reconciliation.ts';

const READER_DEPS = { requestTimeoutMs: 15_000 };

type Work = Omit<ReconcileDeps, 'state'>;
type Comparison = () => Promise<Reconciliation | undefined>;

const COMPARISONS: Readonly<Record<Family, (work: Work) => Comparison>> = {
  EVM(work) {
    const state = createEvmStateReader(work.network, READER_DEPS);
    return () => reconcileChain({ ...work, state });
  },
  TRON(work) {
    const state = createTronStateReader(work.network, READER_DEPS);
    return () => reconcileTron({ ...work, state });
  },
  SUI(work) {
    const state = createSuiStateReader(work.network, READER_DEPS);
    return () => reconcileSui({ ...work, state });
  },
};

/** The comparison of a chain with its books, by its family. */
export function comparisonOf(work: Work): Comparison {
  return COMPARISONS[work.network.family](work);
}
