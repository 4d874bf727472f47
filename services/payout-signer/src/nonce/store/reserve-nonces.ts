import { sql } from 'kysely';
import type { Tx } from '@opentill/db/database';
import type { Authorisations, WalletKey } from '../../payouts/payout-facts.ts';
import { ofWallet } from '../../store/rows.ts';
import { saveDecisions, type SavedDecisions } from '../../store/save-authorised.ts';
import { noncesToReserve } from './nonce-facts.ts';

export async function saveAuthorisations(
  tx: Tx,
  key: WalletKey,
  fencingToken: number,
  decisions: Authorisations,
  firstNonce: number,
): Promise<SavedDecisions> {
  const saved = await saveDecisions(tx, key, fencingToken, decisions);
  await reserveNonces(tx, key, saved.authorised, firstNonce);
  return saved;
}

async function reserveNonces(
  tx: Tx,
  key: WalletKey,
  orderPks: readonly string[],
  firstNonce: number,
): Promise<void> {
  if (orderPks.length === 0) return;
  const { rows } = await sql<{ free: number[]; highest: number | null }>`
    select array(select n.nonce::int4 from wallet_nonce n where ${ofWallet(key)} and n.state = 'RESERVED' and n.order_pk is null
        order by n.nonce limit ${orderPks.length}) as free,
      (select max(n.nonce) from wallet_nonce n where ${ofWallet(key)}) as highest`.execute(tx);
  const { free = [], highest = null } = rows[0] ?? {};
  const next = highest === null ? firstNonce : highest + 1;
  const nonces = noncesToReserve(free, next, orderPks.length);
  await sql`
    insert into wallet_nonce as n (chain, wallet, nonce, state, order_pk)
    select ${key.chain}, ${key.wallet}, r.nonce, 'RESERVED', r.order_pk
    from unnest(${nonces}::int8[], ${orderPks}::uuid[]) as r (nonce, order_pk)
    on conflict (chain, wallet, nonce) do update set order_pk = excluded.order_pk, updated_at = now()
      where n.state = 'RESERVED' and n.order_pk is null`.execute(tx);
}
