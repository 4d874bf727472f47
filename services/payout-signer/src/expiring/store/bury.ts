import { sql } from 'kysely';
import type { TxHash } from '@opentill/chain/transfer';
import type { Tx } from '@opentill/db/database';
import { lockPayouts } from '../../store/rows.ts';
import type { WalletKey } from '../../wallet-facts.ts';
import { ofWallet } from './rows.ts';

/**
 * Marks attempts as dead and sends their payouts back to be signed anew: only those that the own scan says are over and in no
 * block, as the triggers insist, and of those that epochs end only what it has proven. One that a block came to hold meanwhile stays, and so does one that was open when this database
 * was backed up, or whose payout a transaction may have paid that nobody here knows, until an operator has decided: another attempt
 * may have landed since. @returns those that are dead
 */
export async function buryAttempts(
  tx: Tx,
  key: WalletKey,
  fencingToken: number,
  txHashes: readonly TxHash[],
  end: { readonly height: number; readonly hash: string },
): Promise<readonly TxHash[]> {
  const open = await sql<{ order_pk: string }>`
    select a.order_pk from payout_attempt a where ${ofWallet(key)} and a.tx_hash = any(${txHashes}::text[]) and a.state = 'OPEN'`.execute(
    tx,
  );
  const orderPks = open.rows.map((row) => row.order_pk);
  await lockPayouts(tx, orderPks);
  const { rows } = await sql<{ tx_hash: TxHash; order_pk: string }>`
    update payout_attempt a set state = 'DEAD', dead_height = ${end.height}, dead_hash = ${end.hash}, updated_at = now()
    where ${ofWallet(key)} and a.tx_hash = any(${txHashes}::text[]) and a.state = 'OPEN'
      and attempt_is_over(a.chain, a.expires_ms, a.last_epoch)
      and not exists (
        select from own_transaction_fate f
        where f.chain = a.chain and f.tx_hash = a.tx_hash and f.state in ('MINED', 'VERIFIED'))
      and not exists (select from own_transaction_landed l where l.chain = a.chain and l.tx_hash = a.tx_hash)
      and not may_have_been_paid(a.order_pk) and why_epochs_unproven(a.chain, a.reference_height, a.last_epoch) is null
    returning a.tx_hash, a.order_pk`.execute(tx);
  await sql`
    update payout p set state = 'AUTHORISED', fencing_token = ${fencingToken}, version = p.version + 1, updated_at = now()
    where p.order_pk = any(${rows.map((row) => row.order_pk)}::uuid[]) and p.chain = ${key.chain} and p.wallet = ${key.wallet}
      and p.state = 'SIGNED'`.execute(tx);
  return rows.map((row) => row.tx_hash);
}
