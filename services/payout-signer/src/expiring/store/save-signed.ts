import { sql } from 'kysely';
import type { Tx } from '@opentill/db/database';
import { familyOf } from '@opentill/domain/chains';
import { openHalts } from '../../store/rows.ts';
import { NotSaved } from '../../store/under-lease.ts';
import type { WalletKey } from '../../payouts/payout-facts.ts';
import type { SignedPayment } from './attempt-store.ts';
import { hasNoLiveAttempt } from './rows.ts';

/**
 * From this commit on a payout can be paid. A halt, hold, veto or living attempt stops it. The policy's windows count
 * it. A payout that waited for a decision gets a new expiry. Throws NotSaved.
 */
export async function saveAttempts(
  tx: Tx,
  key: WalletKey,
  fencingToken: number,
  payments: readonly SignedPayment[],
): Promise<void> {
  const orderPks = payments.map(({ orderPk }) => orderPk);
  const halts = await sql`select 1 ${openHalts(key)} limit 1`.execute(tx);
  if (halts.rows.length > 0) throw new NotSaved({ kind: 'STALE' });
  // Locks in key order, like the statement that expires payouts.
  const { rows } = await sql<{ order_pk: string }>`
    with unlocked as (
      select p.order_pk from payout p where p.order_pk = any(${orderPks}::uuid[]) order by p.order_pk for update
    )
    update payout p set state = 'SIGNED', authorised_at = clock_timestamp(), obstacle = null, obstacle_at = null,
      expires_at = case when attempt_is_decided(p.order_pk)
        then greatest(p.expires_at, clock_timestamp() + (o.expires_at - o.created_at)) else p.expires_at end,
      fencing_token = ${fencingToken}, version = p.version + 1, updated_at = now()
    from unlocked u join orders o using (order_pk)
    where p.order_pk = u.order_pk and p.chain = ${key.chain} and p.wallet = ${key.wallet}
      and p.state = 'AUTHORISED' and (p.expires_at > clock_timestamp() or attempt_is_decided(p.order_pk))
      and ${hasNoLiveAttempt} and not may_be_paid_by_foreign(p.order_pk)
      and not exists (select from payout_veto v where v.order_pk = p.order_pk)
      and not exists (select from asset_hold a where (a.chain, a.symbol) = (o.chain, o.symbol) and a.released_at is null)
    returning p.order_pk`.execute(tx);
  const moved = new Set(rows.map((row) => row.order_pk));
  const gone = orderPks.filter((orderPk) => !moved.has(orderPk));
  if (gone.length > 0) throw new NotSaved({ kind: 'GONE', orderPks: gone });
  await insertAttempts(tx, key, payments);
  await sql`
    update payout_decision d set handled_at = clock_timestamp(), outcome = 'DONE'
    where d.order_pk = any(${orderPks}::uuid[]) and d.decision = 'PAY_AGAIN' and d.handled_at is null`.execute(
    tx,
  );
}

async function insertAttempts(
  tx: Tx,
  { chain, wallet }: WalletKey,
  payments: readonly SignedPayment[],
): Promise<void> {
  const rows = payments.map(({ orderPk, contract, to, amountBaseUnits, costBaseUnits, signed }) => ({
    tx_hash: signed.txHash,
    order_pk: orderPk,
    contract_address: contract,
    to_address: to,
    amount: amountBaseUnits.toString(),
    raw: Buffer.from(signed.raw).toString('hex'),
    fee_terms: { feeLimit: signed.feeLimitBaseUnits.toString(), cost: costBaseUnits.toString() },
    unique_ms: signed.validity.uniqueMs,
    expires_ms: signed.validity.expiresMs,
    reference_height: signed.validity.reference.height,
    reference_hash: signed.validity.reference.hash,
    first_epoch: signed.validity.epochs?.first ?? null,
    last_epoch: signed.validity.epochs?.last ?? null,
  }));
  const given = JSON.stringify(rows);
  await sql`
    insert into own_transaction (chain, tx_hash, family, wallet, nonce, purpose, order_pk, contract_address, to_address, amount,
      raw, fee_terms, signed_at)
    select ${chain}, t.tx_hash, ${familyOf(chain)}, ${wallet}, null, 'PAYOUT', t.order_pk, t.contract_address, t.to_address,
      t.amount, decode(t.raw, 'hex'), t.fee_terms, clock_timestamp()
    from jsonb_to_recordset(${given}::jsonb) as t (tx_hash text, order_pk uuid, contract_address text, to_address text,
      amount numeric, raw text, fee_terms jsonb)`.execute(tx);
  await sql`
    insert into payout_attempt (chain, tx_hash, wallet, order_pk, unique_ms, expires_ms, reference_height, reference_hash,
      first_epoch, last_epoch)
    select ${chain}, t.tx_hash, ${wallet}, t.order_pk, t.unique_ms, t.expires_ms, t.reference_height, t.reference_hash,
      t.first_epoch, t.last_epoch
    from jsonb_to_recordset(${given}::jsonb) as t (tx_hash text, order_pk uuid, unique_ms int8, expires_ms int8,
      reference_height int8, reference_hash text, first_epoch int8, last_epoch int8)`.execute(tx);
}
