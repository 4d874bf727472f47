import { createEvmStateReader } from '@opentill/chain-evm/read-balances';
import { createSuiStateReader } from '@opentill/chain-sui/read-state';
import { createTronStateReader } from '@opentill/chain-tron/read-state';
import { reconcileChain, type ReconcileDeps } from './reconcile-chain.ts';
import { reconcileSui } from './reconcile-sui.ts';
import { reconcileTron } from './reconcile-tron.ts';
import type { Reconciliation } from './reconciliation.ts';

const REQUEST_TIMEOUT_MS = 15_000;

/** The comparison of a chain with its books, by its family. */
export function comparisonOf(work: Omit<ReconcileDeps, 'state'>): () => Promise<Reconciliation | undefined> {
  const deps = { requestTimeoutMs: REQUEST_TIMEOUT_MS };
  if (work.network.family === 'TRON') {
    const state = createTronStateReader(work.network, deps);
    return () => reconcileTron({ ...work, state });
  }
  if (work.network.family === 'SUI') {
    const state = createSuiStateReader(work.network, deps);
    return () => reconcileSui({ ...work, state });
  }
  const state = createEvmStateReader(work.network, deps);
  return () => reconcileChain({ ...work, state });
}
