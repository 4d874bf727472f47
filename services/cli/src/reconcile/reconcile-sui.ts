import type { SuiStateReader } from '@opentill/chain-sui/read-state';
import type { Db } from '@opentill/db/database';
import { sql } from 'kysely';
import { untilVerified } from './compare-resting.ts';
import { readBooks } from './read-books.ts';
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

/** Whether anything came to a hot wallet, or was done by the gateway or a hot wallet, in the checkpoints above `from` up to `to`. */
async function hasMoved(
  db: Db,
  { chain, family }: ReconcileDeps['network'],
  from: number,
  to: number,
): Promise<boolean> {
  const { rows } = await sql`
    select from own_transaction_fate f where f.chain = ${chain} and f.block_height > ${from} and f.block_height <= ${to}
    union all
    select from hot_wallet w join transfer t on t.family = w.family and t.to_address = w.address
      where w.family = ${family} and t.chain = ${chain} and t.block_height > ${from} and t.block_height <= ${to}
    union all
    select from foreign_transaction x where x.chain = ${chain} and x.block_height > ${from} and x.block_height <= ${to}
    limit 1`.execute(db);
  return rows.length > 0;
}
