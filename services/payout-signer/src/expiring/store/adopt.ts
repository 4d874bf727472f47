import { sql } from 'kysely';
import type { FoundExpiringPayment } from '@opentill/chain/expiring-sender';
import type { Tx } from '@opentill/db/database';
import { familyOf } from '@opentill/domain/chains';
import type { Adoption, PaidByDecision, WalletKey } from '../../payouts/payout-facts.ts';

/** All that is signed after it gets a later time: one from far ahead would be used up with it. */
const FAR_MS = 86_400_000;

/**
 * Makes a found payment the payout's own, as if it had never been forgotten: the payout is SIGNED, by this transaction, whose
 * bytes nobody here has; the scanner and the tracker see to the rest. Nothing is written when the payout ended otherwise, when
 * an attempt of its own may still land, when another payout has this transaction, or when its unique time, which some other
 * software may have chosen, can't stand among ours.
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
  if (found.is_known)
    return never('this transaction is known already, and stands for what it was signed for');
  if (found.is_booked)
    return never('a restore booked it as of a lost order: opentill restore decide-payment takes that back');
  if (!isPossible) return never(`its timestamp is ${uniqueMs}, which no transaction from here has`);
  if (found.is_time_taken) return never('another transaction of the wallet has its timestamp');
  // The last refusal: what is buried stays buried, also when nothing is adopted. A payout has one attempt at most that is not dead.
  if (!(await buryLandedNowhere(tx, key, orderPk)))
    return never('an attempt of its own is on its way, or landed');

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
 * Marks the payout's own attempt as dead when it is over and the own scan has found it in no block. @returns whether all are dead
 *
 * No node is asked for the blocks once more, and the own scan need not be proven (why_epochs_unproven): no payment follows. The payout
 * is paid by the transaction that is adopted, and is never signed anew, since what is adopted has no bytes here and is never buried.
 * Should the attempt have landed as well, it was paid twice before anybody decided. With the proof as a condition, a payout that
 * stays UNPROVEN could never be said to be paid.
 */
async function buryLandedNowhere(tx: Tx, { chain, wallet }: WalletKey, orderPk: string): Promise<boolean> {
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
