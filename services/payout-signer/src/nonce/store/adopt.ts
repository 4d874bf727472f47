import { sql } from 'kysely';
import type { FoundPayment } from '@opentill/chain/wallet-sender';
import type { Tx } from '@opentill/db/database';
import { familyOf } from '@opentill/domain/chains';
import type { Adoption, PaidByDecision, WalletKey } from '../../payouts/payout-facts.ts';
import { ofWallet } from '../../store/rows.ts';

/**
 * The payout becomes SIGNED by a transaction without known bytes. LATER while its nonce is not known as TAKEN, because
 * then earlier nonces are not known either.
 *
 * NOT_POSSIBLE, without a write, when:
 * - the payout ended, or one of its transactions may still land;
 * - another payout has this transaction;
 * - a restore booked it as the owner's, which only the restore's own command reverts.
 */
export async function adoptPayment(
  tx: Tx,
  key: WalletKey,
  fencingToken: number,
  decision: PaidByDecision,
  { nonce, intent }: FoundPayment,
): Promise<Adoption> {
  const never = (why: string): Adoption => ({ kind: 'NOT_POSSIBLE', why });
  const { payout, txHash } = decision;
  const { rows } = await sql<{
    state: string;
    is_own: boolean;
    is_known: boolean;
    is_booked: boolean;
    nonce_state: string | null;
  }>`
    select p.state,
      exists (select from wallet_nonce own where own.order_pk = p.order_pk and own.state in ('SIGNED', 'FINAL')) as is_own,
      exists (select from own_transaction t where t.chain = ${key.chain} and t.tx_hash = ${txHash}) as is_known,
      exists (
        select from forgotten_payment f where f.chain = ${key.chain} and f.tx_hash = ${txHash} and f.decision = 'ORDER_LOST'
      ) as is_booked,
      (select n.state from wallet_nonce n where ${ofWallet(key)} and n.nonce = ${nonce}) as nonce_state
    from payout p where p.order_pk = ${payout.orderPk} and p.chain = ${key.chain} and p.wallet = ${key.wallet} for update`.execute(
    tx,
  );
  const found = rows[0];
  if (found === undefined || !['REQUESTED', 'AUTHORISED', 'SIGNED'].includes(found.state))
    return never(`the payout is ${found?.state ?? 'not of this wallet'}`);
  if (found.is_known) return never('this transaction is already recorded for what it was signed for');
  if (found.is_booked)
    return never('a restore booked it for a lost order: revert that with opentill restore decide-payment');
  if (found.nonce_state === 'FINAL')
    return never(`nonce ${nonce} was used by another transaction of this wallet`);
  if (found.nonce_state !== 'TAKEN') return { kind: 'LATER' };
  if (found.is_own) return never('a transaction of this payout may still land, or has landed');

  await sql`
    update wallet_nonce n set order_pk = null, updated_at = now()
    where ${ofWallet(key)} and n.state = 'RESERVED' and n.order_pk = ${payout.orderPk}`.execute(tx);
  await sql`
    update payout set state = 'AUTHORISED', authorised_at = clock_timestamp(), waiting_since = null
    where order_pk = ${payout.orderPk} and state = 'REQUESTED'`.execute(tx);
  await sql`
    update payout p set state = 'SIGNED', first_sent_at = coalesce(p.first_sent_at, clock_timestamp()), obstacle = null,
      obstacle_at = null, fencing_token = ${fencingToken}, version = p.version + 1, updated_at = now()
    where p.order_pk = ${payout.orderPk}`.execute(tx);
  await sql`
    insert into own_transaction (chain, tx_hash, family, wallet, nonce, purpose, order_pk, contract_address, to_address, amount,
      raw, fee_terms, signed_at, first_sent_at)
    values (${key.chain}, ${txHash}, ${familyOf(key.chain)}, ${key.wallet}, ${nonce}, 'PAYOUT', ${payout.orderPk},
      ${intent.contract}, ${intent.to}, ${intent.amountBaseUnits.toString()}::numeric, '', ${NO_TERMS}::jsonb,
      clock_timestamp(), clock_timestamp())`.execute(tx);
  return { kind: 'DONE' };
}

/** Never used, because an adopted transaction is never replaced. */
const NO_TERMS = JSON.stringify({ gasLimit: '0', maxFeePerGas: '0', maxPriorityFeePerGas: '0' });
