import { sql } from 'kysely';
import type { TxHash } from '@opentill/chain/transfer';
import type { Db, Tx } from '@opentill/db/database';
import { refuseVetoed } from '../../store/refuse-vetoed.ts';
import type { WalletKey } from '../../payouts/payout-facts.ts';
import type { ExpiringView, AttemptUpdates } from './attempt-store.ts';
import { ofWallet } from './rows.ts';

export async function findNews(db: Db, key: WalletKey, view: ExpiringView): Promise<AttemptUpdates> {
  const { rows } = await sql<{ reopened: TxHash[]; vetoed: string[] }>`
    select array(select a.tx_hash from own_transaction_fate f join payout_attempt a using (chain, tx_hash)
        where f.chain = ${key.chain} and f.state = 'ORPHANED' and ${ofWallet(key)} and a.state = 'SETTLED') as reopened,
      array(select p.order_pk::text from payout_veto v join payout p using (order_pk)
        where p.chain = ${key.chain} and p.wallet = ${key.wallet} and p.state in ('REQUESTED', 'AUTHORISED')) as vetoed`.execute(
    db,
  );
  const { reopened = [], vetoed = [] } = rows[0] ?? {};
  return {
    settled: view.attempts.flatMap(({ isVerified, txHash }) => (isVerified ? [txHash] : [])),
    reopened,
    vetoedOrderPks: vetoed,
  };
}

/** Changes each row only from the state in which it was found. Returns the rejected payouts. */
export async function applyExternalUpdates(
  tx: Tx,
  key: WalletKey,
  fencingToken: number,
  news: AttemptUpdates,
): Promise<readonly string[]> {
  const refused = await refuseVetoed(tx, fencingToken, news.vetoedOrderPks);
  await sql`
    update payout_attempt a set updated_at = now(), state = case a.state when 'OPEN' then 'SETTLED' else 'OPEN' end
    where ${ofWallet(key)} and (a.state = 'OPEN' and a.tx_hash = any(${news.settled}::text[])
      or a.state = 'SETTLED' and a.tx_hash = any(${news.reopened}::text[]))`.execute(tx);
  return refused;
}
