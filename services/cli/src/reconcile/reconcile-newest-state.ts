import { setTimeout as pause } from 'node:timers/promises';
import type { Holding } from '@opentill/chain/state-number';
import type { ChainLedger } from './chain-ledger.ts';
import {
  COMPARED_WITHIN_MS,
  compareAtNewestState,
  changedDuringRead,
  POLL_MS,
  type NewestStateDeps,
} from './compare-at-newest-state.ts';
import { readHotWalletAddresses } from '../store/hot-wallets.ts';
import { assetsOf, readAnchor } from './store/read-chain-ledger.ts';
import type { ReconcileWork } from './reconcile-chain.ts';
import { hotBalances, NO_ADDRESSES, createReconciliation, type Reconciliation } from './reconciliation.ts';

export type RestingBalances = Awaited<ReturnType<NewestStateDeps['balancesOf']>>;

export interface Meeting<R extends RestingBalances> {
  readonly read: (holdings: readonly Holding[]) => Promise<R>;
  /** After the scanner has reached the reading; undefined if everything has to be read again. */
  readonly booksAt: (reading: R, deadlineMs: number) => Promise<ChainLedger | undefined>;
  readonly neverMet: string;
}

/**
 * Nodes of these chains have only the newest state. Hot wallets are read repeatedly until they and the ledger belong to
 * one moment. @returns undefined when no block is verified yet; @throws GatewayError CHAIN_NOT_AT_REST
 */
export async function reconcileAtNewestState<R extends RestingBalances>(
  work: ReconcileWork,
  { read, booksAt, neverMet }: Meeting<R>,
): Promise<Reconciliation | undefined> {
  const { db, network } = work;
  const deadlineMs = performance.now() + COMPARED_WITHIN_MS;
  const assets = assetsOf(network);
  if ((await readAnchor(db, network.chain)) === undefined) return undefined;
  for (; performance.now() < deadlineMs; await pause(POLL_MS)) {
    const wallets = await readHotWalletAddresses(db, network.family);
    const reading = await read(
      assets.flatMap(({ contract }) => wallets.map((holder) => ({ holder, contract }))),
    );
    const books = await booksAt(reading, deadlineMs);
    if (books === undefined || books.hotWallets.length !== wallets.length) continue;
    const hot = {
      balances: hotBalances(assets, wallets.length, reading.balances),
      transactions: new Map(),
    };
    const compared =
      work.hotOnly === true ? NO_ADDRESSES : await compareAtNewestState({ ...work, balancesOf: read }, books);
    return createReconciliation(books, network, hot, compared);
  }
  throw changedDuringRead(`${network.chain}: ${neverMet}`);
}
