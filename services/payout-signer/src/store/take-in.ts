import { sql } from 'kysely';
import type { Db, Tx } from '@opentill/db/database';
import type { TakenIn } from '../payout-store.ts';
import type { WalletKey } from '../wallet-facts.ts';
import { ofWallet } from './rows.ts';

export const VETOED = 'Refused by operator';

/** Whether there is anything to take in; a handful of index look-ups, so that an idle wallet writes nothing. */
export async function hasNews(db: Db, key: WalletKey): Promise<boolean> {
  const { rows } = await sql<{ has_news: boolean }>`
    select exists (select ${landed(key)}) or exists (select ${reopened(key)}) or exists (select ${forsaken(key)})
      or exists (select ${vetoed(key)}) as has_news`.execute(db);
  return rows[0]?.has_news === true;
}

/** Writes what follows from fates, expiries and vetoes. */
export async function takeIn(tx: Tx, key: WalletKey, fencingToken: number): Promise<TakenIn> {
  const vetoes = await sql<{ order_pk: string }>`
    update payout set state = 'REFUSED', reason = ${VETOED}, obstacle = null, obstacle_at = null, waiting_since = null,
      fencing_token = ${fencingToken}, version = payout.version + 1, updated_at = now()
    where order_pk in (select p.order_pk ${vetoed(key)}) and state in ('REQUESTED', 'AUTHORISED')
    returning order_pk`.execute(tx);
  const final = await setState(tx, 'FINAL', sql`select n.nonce ${landed(key)}`, key);
  const again = await setState(tx, 'SIGNED', sql`select n.nonce ${reopened(key)}`, key);
  const freed = await sql<{ nonce: number }>`
    update wallet_nonce n set order_pk = null, updated_at = now()
    where ${ofWallet(key)} and n.state = 'RESERVED' and n.nonce in (select n.nonce ${forsaken(key)})
    returning n.nonce`.execute(tx);
  return {
    finalNonces: final,
    reopenedNonces: again,
    freedNonces: freed.rows.map((row) => row.nonce),
    vetoedOrderPks: vetoes.rows.map((row) => row.order_pk),
  };
}

async function setState(
  tx: Tx,
  state: 'FINAL' | 'SIGNED',
  nonces: ReturnType<typeof sql>,
  key: WalletKey,
): Promise<readonly number[]> {
  const { rows } = await sql<{ nonce: number }>`
    update wallet_nonce n set state = ${state}, updated_at = now()
    where ${ofWallet(key)} and n.nonce in (${nonces}) returning n.nonce`.execute(tx);
  return rows.map((row) => row.nonce);
}

/** Signed nonces of which a transaction is verified. */
function landed(key: WalletKey) {
  return sql`from wallet_nonce n
    join own_transaction t on (t.chain, t.wallet, t.nonce) = (n.chain, n.wallet, n.nonce)
    join own_transaction_fate f on (f.chain, f.tx_hash) = (t.chain, t.tx_hash)
    where ${ofWallet(key)} and n.state = 'SIGNED' and f.state = 'VERIFIED'`;
}

/** Final nonces whose verified transaction a reorganisation took back; any that is verified instead keeps them final. */
function reopened(key: WalletKey) {
  return sql`from own_transaction_fate f
    join own_transaction t on (t.chain, t.tx_hash) = (f.chain, f.tx_hash)
    join wallet_nonce n on (n.chain, n.wallet, n.nonce) = (t.chain, t.wallet, t.nonce)
    where ${ofWallet(key)} and f.chain = ${key.chain} and f.state = 'ORPHANED' and n.state = 'FINAL'
      and not exists (
        select from own_transaction o join own_transaction_fate v on (v.chain, v.tx_hash) = (o.chain, o.tx_hash)
        where (o.chain, o.wallet, o.nonce) = (n.chain, n.wallet, n.nonce) and v.state = 'VERIFIED')`;
}

/** Reserved nonces whose payout will not be signed with them: it expired, was refused, or has another. */
function forsaken(key: WalletKey) {
  return sql`from wallet_nonce n join payout p using (order_pk)
    where ${ofWallet(key)} and n.state = 'RESERVED' and p.state <> 'AUTHORISED'`;
}

/** Payouts of this wallet that an operator vetoed in time. */
function vetoed({ chain, wallet }: WalletKey) {
  return sql`from payout_veto v join payout p using (order_pk)
    where p.chain = ${chain} and p.wallet = ${wallet} and p.state in ('REQUESTED', 'AUTHORISED')`;
}
