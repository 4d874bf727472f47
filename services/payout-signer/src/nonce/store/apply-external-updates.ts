import { sql } from 'kysely';
import type { Db, Tx } from '@opentill/db/database';
import type { WalletKey } from '../../payouts/payout-facts.ts';
import { refuseVetoed } from '../../store/refuse-vetoed.ts';
import { ofWallet } from '../../store/rows.ts';
import type { NonceUpdates, WalletView } from './payout-store.ts';

/** Looks everything up by its keys, so the cost depends neither on table sizes nor on planner estimates. */
export async function findNews(db: Db, key: WalletKey, view: WalletView): Promise<NonceUpdates> {
  const landed = view.nonces.filter(({ attempts }) => attempts.some(({ isVerified }) => isVerified));
  const reserved = view.nonces.flatMap(({ state, orderPk }) =>
    state === 'RESERVED' && orderPk !== null ? [orderPk] : [],
  );
  const { rows } = await sql<{ orphaned: string[]; ended: string[]; vetoed: string[] }>`
    select array(select f.tx_hash from own_transaction_fate f where f.chain = ${key.chain} and f.state = 'ORPHANED')
        as orphaned,
      array(select p.order_pk::text from payout p where p.order_pk = any(${reserved}::uuid[]) and p.state <> 'AUTHORISED')
        as ended,
      array(select p.order_pk::text from payout_veto v join payout p using (order_pk)
        where p.chain = ${key.chain} and p.wallet = ${key.wallet} and p.state in ('REQUESTED', 'AUTHORISED')) as vetoed`.execute(
    db,
  );
  const { orphaned = [], ended = [], vetoed = [] } = rows[0] ?? {};
  const freed = view.nonces.filter(({ orderPk, state }) => {
    return state === 'RESERVED' && orderPk !== null && (ended.includes(orderPk) || vetoed.includes(orderPk));
  });
  return {
    finalNonces: landed.map(({ nonce }) => nonce),
    reopenedNonces: orphaned.length === 0 ? [] : await findReopened(db, key, orphaned),
    freedNonces: freed.map(({ nonce }) => nonce),
    vetoedOrderPks: vetoed,
  };
}

/** Changes each row only from the state in which it was found. Returns the rejected payouts. */
export async function applyExternalUpdates(
  tx: Tx,
  key: WalletKey,
  fencingToken: number,
  news: NonceUpdates,
): Promise<readonly string[]> {
  const refused = await refuseVetoed(tx, fencingToken, news.vetoedOrderPks);
  await sql`
    update wallet_nonce n set updated_at = now(), state = case n.state when 'SIGNED' then 'FINAL' else 'SIGNED' end
    where ${ofWallet(key)} and (n.state = 'SIGNED' and n.nonce = any(${news.finalNonces}::int8[])
      or n.state = 'FINAL' and n.nonce = any(${news.reopenedNonces}::int8[]))`.execute(tx);
  await sql`
    update wallet_nonce n set order_pk = null, updated_at = now()
    where ${ofWallet(key)} and n.nonce = any(${news.freedNonces}::int8[]) and n.state = 'RESERVED'
      and not exists (select from payout p where p.order_pk = n.order_pk and p.state = 'AUTHORISED')`.execute(
    tx,
  );
  return refused;
}

/** FINAL nonces whose verified transaction a reorganisation removed, unless another one of the nonce is verified. */
async function findReopened(db: Db, key: WalletKey, orphaned: readonly string[]): Promise<readonly number[]> {
  const { rows } = await sql<{ nonce: number }>`
    select n.nonce from wallet_nonce n
    where ${ofWallet(key)} and n.state = 'FINAL'
      and n.nonce = any(array(select t.nonce from own_transaction t
        where t.chain = ${key.chain} and t.wallet = ${key.wallet} and t.tx_hash = any(${orphaned}::text[])))
      and not exists (
        select from own_transaction o join own_transaction_fate v on (v.chain, v.tx_hash) = (o.chain, o.tx_hash)
        where (o.chain, o.wallet, o.nonce) = (n.chain, n.wallet, n.nonce) and v.state = 'VERIFIED')`.execute(
    db,
  );
  return rows.map((row) => row.nonce);
}
