import { readPaymentBytes } from '@opentill/chain-sui/sender/read-payment-bytes';
import { uniqueNear } from '@opentill/chain-sui/sender/read-payment';
import { backupError } from '@opentill/db/backup/backup-error';
import type { Db, Tx } from '@opentill/db/database';
import { familyOf, type Chain } from '@opentill/domain/chains';
import { sql } from 'kysely';
import { hasLandedNowhere, readRaw, type StoredPayment } from './restored-rows.ts';

/** Later signatures get later timestamps. One from far in the future would use up all timestamps before it. */
const FAR_MS = 86_400_000;

/** Undefined: it can be one of the wallet's own transactions. */
export async function whyNotAdopted(
  db: Db | Tx,
  { chain, wallet, txHash, pays, blockTime }: StoredPayment,
): Promise<string | undefined> {
  if (pays === undefined || pays === null) return 'it is not a payment';
  const { uniqueMs, expiresMs } = await boundsOf(chain, await readRaw(db, { chain, txHash }), blockTime);
  if (!Number.isSafeInteger(uniqueMs) || uniqueMs <= 0 || uniqueMs > expiresMs + FAR_MS)
    return `its timestamp ${uniqueMs} is one that this gateway never uses`;
  const { rows } = await sql`
    select from payout_attempt a where a.chain = ${chain} and a.wallet = ${wallet} and a.unique_ms = ${uniqueMs}`.execute(
    db,
  );
  return rows.length > 0 ? 'another transaction of the wallet has its timestamp' : undefined;
}

/**
 * Makes the payment the payout's only attempt; it is in a verified block and is not sent again. Attempts that landed in
 * no block of their lifetime become DEAD. @throws GatewayError RESTORE_NOT_RECONCILED when another attempt may land or
 * has landed, or by `whyNotAdopted`
 */
export async function makeAttempt(
  tx: Tx,
  payment: StoredPayment,
  orderPk: string,
  markSigned: () => Promise<void>,
): Promise<void> {
  const { restoreId, chain, wallet, txHash, blockTime } = payment;
  const why = await whyNotAdopted(tx, payment);
  if (why !== undefined) throw notReconciled(`${txHash} cannot be adopted: ${why}`);
  await sql`
    update payout_attempt a set state = 'DEAD', dead_height = h.read_height, dead_hash = h.read_hash, updated_at = now()
    from restore_hold h where h.restore_id = ${restoreId} and h.chain = a.chain and h.wallet = a.wallet
      and a.order_pk = ${orderPk} and ${hasLandedNowhere}`.execute(tx);
  const alive = await sql`
    select from payout_attempt a where a.order_pk = ${orderPk} and a.state <> 'DEAD'`.execute(tx);
  if (alive.rows.length > 0)
    throw notReconciled(`another transaction of the payout ${orderPk} is in flight, or has landed`);
  await markSigned();
  const bounds = await boundsOf(chain, await readRaw(tx, { chain, txHash }), blockTime);
  const { uniqueMs, expiresMs, feeLimit, epochs } = bounds;
  const terms = JSON.stringify({ feeLimit: `${feeLimit}`, cost: '0' });
  await sql`
    insert into own_transaction (chain, tx_hash, family, wallet, nonce, purpose, order_pk, contract_address, to_address, amount, raw,
      fee_terms, signed_at, first_sent_at, last_sent_at, send_outcome)
    select f.chain, f.tx_hash, ${familyOf(chain)}, f.wallet, null, 'PAYOUT', ${orderPk}::uuid, f.contract_address, f.to_address,
      f.amount, '', ${terms}::jsonb, ${blockTime}, ${blockTime}, ${blockTime}, 'KNOWN'
    from forgotten_payment f where f.chain = ${chain} and f.tx_hash = ${txHash}`.execute(tx);
  // A transaction names its reference block by a few bytes only. Its own block serves: no code searches below it.
  await sql`
    insert into payout_attempt (chain, tx_hash, wallet, order_pk, unique_ms, expires_ms, reference_height, reference_hash,
      first_epoch, last_epoch)
    select f.chain, f.tx_hash, ${wallet}, ${orderPk}::uuid, ${uniqueMs}, ${expiresMs}, f.block_height, f.block_hash,
      ${epochs?.first ?? null}::int8, ${epochs?.last ?? null}::int8
    from forgotten_payment f where f.chain = ${chain} and f.tx_hash = ${txHash}`.execute(tx);
}

interface Bounds {
  readonly uniqueMs: number;
  readonly expiresMs: number;
  readonly feeLimit: bigint;
  readonly epochs?: { readonly first: number; readonly last: number };
}

/** The bytes may lack some bounds. On SUI the time is that of the checkpoint. */
async function boundsOf(chain: Chain, raw: Uint8Array, blockTime: Date): Promise<Bounds> {
  if (familyOf(chain) === 'SUI') {
    const { nonce, epochs, gas } = readPaymentBytes(raw);
    const expiresMs = blockTime.getTime();
    return { uniqueMs: uniqueNear(expiresMs, nonce), expiresMs, feeLimit: gas.budgetMist, epochs };
  }
  // Loads TronWeb, which would add 0.2 s to every command.
  const { readSignedTransaction } = await import('@opentill/chain-tron/sender/read-signed-transaction');
  const { timestampMs, expirationMs, feeLimit } = readSignedTransaction(raw).raw;
  return { uniqueMs: timestampMs, expiresMs: expirationMs, feeLimit: BigInt(feeLimit) };
}

function notReconciled(message: string): Error {
  return backupError('RESTORE_NOT_RECONCILED', message);
}
