import { sql } from 'kysely';
import type { Tx } from '@opentill/db/database';
import { writeAudit } from '@opentill/db/operators';
import { readSignedTransaction } from '@opentill/chain-evm/sender/read-signed-transaction';
import { familyOf } from '@opentill/domain/chains';
import { backupError } from '@opentill/db/backup/backup-error';
import { makeAttempt } from './adopt-attempt.ts';
import { reverseLostOrder } from './book-lost-order.ts';
import type { Decided } from '../wallet-state.ts';
import type { StoredPayment } from './restored-rows.ts';

/**
 * Writes the rows that the signer had written before sending. Then scanner and tracker treat it like any payout. The
 * caller holds the wallet. @throws GatewayError RESTORE_NOT_RECONCILED when no transaction may pay the order any longer
 */
export async function adoptPayment(
  tx: Tx,
  payment: StoredPayment,
  orderPk: string | null,
  decided: Decided,
): Promise<void> {
  const { chain, txHash, nonce } = payment;
  if (payment.decision === 'ORDER_LOST') await reverseLostOrder(tx, payment);
  const raw = await markAdopted(tx, payment, orderPk, decided);
  if (nonce !== null) await takeNonce(tx, { ...payment, nonce }, raw, orderPk);
  else if (orderPk !== null)
    await makeAttempt(tx, payment, orderPk, () => markSigned(tx, orderPk, payment.blockTime));
  else
    throw backupError('RESTORE_NOT_RECONCILED', `${txHash} belongs to no order and has no nonce to use up`);
  await writeAudit(tx, {
    operator: decided.by,
    action: 'adoptForgottenPayment',
    subject: orderPk,
    outcome: 'DONE',
    details: { chain, txHash, nonce, reason: decided.reason },
    requestId: null,
  });
}

async function takeNonce(
  tx: Tx,
  { chain, wallet, txHash, nonce, blockTime }: StoredPayment & { readonly nonce: number },
  raw: Buffer,
  orderPk: string | null,
): Promise<void> {
  const purpose = orderPk === null ? 'CANCEL' : 'PAYOUT';
  const nonces = await sql`
    insert into wallet_nonce as n (chain, wallet, nonce, state, order_pk, purpose)
    values (${chain}, ${wallet}, ${nonce}, 'SIGNED', ${orderPk}::uuid, ${purpose})
    on conflict (chain, wallet, nonce) do update set state = 'SIGNED', order_pk = excluded.order_pk, purpose = excluded.purpose,
        updated_at = clock_timestamp()
      where n.state in ('RESERVED', 'TAKEN')
        or n.state = 'SIGNED' and n.order_pk is not distinct from excluded.order_pk and n.purpose = excluded.purpose
    returning n.nonce`.execute(tx);
  if (nonces.rows.length === 0)
    throw backupError(
      'RESTORE_NOT_RECONCILED',
      `nonce ${nonce} of ${wallet} on ${chain} belongs to another order`,
    );
  if (orderPk !== null) await markSigned(tx, orderPk, blockTime);
  const { gasLimit, maxFeePerGas, maxPriorityFeePerGas } = readSignedTransaction(raw);
  const terms = { gasLimit, maxFeePerGas, maxPriorityFeePerGas };
  await sql`
    insert into own_transaction (chain, tx_hash, family, wallet, nonce, purpose, order_pk, contract_address, to_address, amount, raw,
      fee_terms, signed_at, first_sent_at, last_sent_at, send_outcome)
    select f.chain, f.tx_hash, ${familyOf(chain)}, f.wallet, f.nonce, ${purpose}, ${orderPk}::uuid, f.contract_address, f.to_address,
      f.amount, f.raw, ${JSON.stringify(terms, (_, value: unknown) => (typeof value === 'bigint' ? value.toString() : value))}::jsonb,
      f.block_time, f.block_time, f.block_time, 'KNOWN'
    from forgotten_payment f where f.chain = ${chain} and f.tx_hash = ${txHash}
    on conflict do nothing`.execute(tx);
}

async function markAdopted(
  tx: Tx,
  payment: StoredPayment,
  orderPk: string | null,
  { by, reason }: Decided,
): Promise<Buffer> {
  const { rows } = await sql<{ raw: Buffer }>`
    update forgotten_payment set decision = 'ADOPTED', order_pk = ${orderPk}::uuid, decided_by = ${by}, decided_reason = ${reason},
      decided_at = clock_timestamp(), guards = false
    where chain = ${payment.chain} and tx_hash = ${payment.txHash} and decision is distinct from 'ADOPTED'
    returning raw`.execute(tx);
  const [row] = rows;
  if (row === undefined)
    throw backupError('RESTORE_NOT_RECONCILED', `${payment.txHash} already belongs to an order`);
  return row.raw;
}

/** A transaction that was sent long ago does not expire. */
async function markSigned(tx: Tx, orderPk: string, at: Date): Promise<void> {
  await sql`
    update payout set state = 'AUTHORISED', authorised_at = ${at}, waiting_since = null, obstacle = null, obstacle_at = null,
      version = version + 1, updated_at = clock_timestamp()
    where order_pk = ${orderPk} and state = 'REQUESTED'`.execute(tx);
  const { rows } = await sql`
    update payout set state = 'SIGNED', first_sent_at = coalesce(first_sent_at, ${at}), waiting_since = null, obstacle = null,
      obstacle_at = null, version = version + 1, updated_at = clock_timestamp()
    where order_pk = ${orderPk} and state in ('AUTHORISED', 'SIGNED') returning order_pk`.execute(tx);
  if (rows.length === 0)
    throw backupError(
      'RESTORE_NOT_RECONCILED',
      `the payout ${orderPk} was refused or has expired: its order can no longer be paid`,
    );
  await sql`
    update doubtful_payout set decision = 'ADOPTED', decided_by = 'opentill restore', decided_at = clock_timestamp()
    where order_pk = ${orderPk}`.execute(tx);
}
