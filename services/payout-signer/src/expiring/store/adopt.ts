import { sql } from 'kysely';
import type { FoundExpiringPayment } from '@opentill/chain/expiring-sender';
import type { Tx } from '@opentill/db/database';
import { familyOf } from '@opentill/domain/chains';
import type { Adoption, PaidByDecision, WalletKey } from '../../payouts/payout-facts.ts';

/** All later attempts get a higher unique time, so an adopted one must not be further ahead than this. */
const FAR_MS = 86_400_000;

/**
 * The payout becomes SIGNED by a transaction without known bytes.
 *
 * NOT_POSSIBLE, without a write, when:
 * - the payout ended, or one of its attempts may still land;
 * - another payout has this transaction;
 * - its unique time, which other software may have chosen, does not fit among ours.
 */
export async function adoptExpiring(
  tx: Tx,
  key: WalletKey,
  fencingToken: number,
  { payout: { orderPk }, txHash }: PaidByDecision,
  { intent, validity, feeLimitBaseUnits }: FoundExpiringPayment,
): Promise<Adoption> {
  const never = (why: string): Adoption => ({ kind: 'NOT_POSSIBLE', why });
  const { reference, uniqueMs, expiresMs, epochs } = validity;
  const isPossible = Number.isSafeInteger(uniqueMs) && uniqueMs > 0 && uniqueMs <= expiresMs + FAR_MS;
  const { rows } = await sql<{
    state: string;
    is_known: boolean;
    is_booked: boolean;
    is_time_taken: boolean;
  }>`
    select p.state,
      exists (select from own_transaction t where t.chain = ${key.chain} and t.tx_hash = ${txHash}) as is_known,
      exists (
        select from forgotten_payment f where f.chain = ${key.chain} and f.tx_hash = ${txHash} and f.decision = 'ORDER_LOST'
      ) as is_booked,
      exists (
        select from payout_attempt a where a.chain = ${key.chain} and a.wallet = ${key.wallet}
          and a.unique_ms = ${isPossible ? uniqueMs : 0}
      ) as is_time_taken
    from payout p where p.order_pk = ${orderPk} and p.chain = ${key.chain} and p.wallet = ${key.wallet} for update`.execute(
    tx,
  );
  const found = rows[0];
  if (found === undefined || !['REQUESTED', 'AUTHORISED', 'SIGNED'].includes(found.state))
    return never(`the payout is ${found?.state ?? 'not of this wallet'}`);
  if (found.is_known) return never('this transaction is already recorded for what it was signed for');
  if (found.is_booked)
    return never('a restore booked it for a lost order: revert that with opentill restore decide-payment');
  if (!isPossible) return never(`its timestamp ${uniqueMs} is none that this signer uses`);
  if (found.is_time_taken) return never('another transaction of the wallet has its timestamp');
  // Comes last, because it writes: an attempt stays DEAD even if the adoption is rejected.
  if (!(await markLandedNowhere(tx, key, orderPk)))
    return never('an attempt of this payout may still land, or has landed');

  await sql`
    update payout set state = 'AUTHORISED', authorised_at = clock_timestamp(), waiting_since = null
    where order_pk = ${orderPk} and state = 'REQUESTED'`.execute(tx);
  await sql`
    update payout p set state = 'SIGNED', first_sent_at = coalesce(p.first_sent_at, clock_timestamp()), obstacle = null,
      obstacle_at = null, fencing_token = ${fencingToken}, version = p.version + 1, updated_at = now()
    where p.order_pk = ${orderPk}`.execute(tx);
  const terms = JSON.stringify({ feeLimit: `${feeLimitBaseUnits}`, cost: '0' });
  await sql`
    insert into own_transaction (chain, tx_hash, family, wallet, nonce, purpose, order_pk, contract_address, to_address, amount,
      raw, fee_terms, signed_at, first_sent_at)
    values (${key.chain}, ${txHash}, ${familyOf(key.chain)}, ${key.wallet}, null, 'PAYOUT', ${orderPk},
      ${intent.contract}, ${intent.to}, ${intent.amountBaseUnits.toString()}::numeric, '', ${terms}::jsonb,
      clock_timestamp(), clock_timestamp())`.execute(tx);
  await sql`
    insert into payout_attempt (chain, tx_hash, wallet, order_pk, unique_ms, expires_ms, reference_height, reference_hash,
      first_epoch, last_epoch)
    values (${key.chain}, ${txHash}, ${key.wallet}, ${orderPk}, ${uniqueMs}, ${expiresMs}, ${reference.height},
      ${reference.hash}, ${epochs?.first ?? null}, ${epochs?.last ?? null})`.execute(tx);
  return { kind: 'DONE' };
}

/**
 * Marks the payout's attempt DEAD if it is over and the own scan found it in no block. Returns whether all are dead.
 *
 * Requires no proof (why_epochs_unproven), because no payment follows: the adopted transaction paid the payout. It has
 * no bytes here, so it cannot become DEAD, and the payout is not signed again. With the proof required, no operator
 * could declare an UNPROVEN payout paid.
 */
async function markLandedNowhere(tx: Tx, { chain, wallet }: WalletKey, orderPk: string): Promise<boolean> {
  await sql`
    update payout_attempt a set state = 'DEAD', dead_height = c.verified_height, dead_hash = c.verified_hash, updated_at = clock_timestamp()
    from chain_cursor c where c.chain = a.chain and a.chain = ${chain} and a.wallet = ${wallet} and a.order_pk = ${orderPk}
      and a.state = 'OPEN' and attempt_is_over(a.chain, a.expires_ms, a.last_epoch)
      and not exists (
        select from own_transaction_fate f
        where f.chain = a.chain and f.tx_hash = a.tx_hash and f.state in ('MINED', 'VERIFIED'))
      and not exists (select from own_transaction_landed l where l.chain = a.chain and l.tx_hash = a.tx_hash)`.execute(
    tx,
  );
  const { rows } = await sql`
    select from payout_attempt a where a.order_pk = ${orderPk} and a.state <> 'DEAD'`.execute(tx);
  return rows.length === 0;
}
