import { sql } from 'kysely';
import type { Tx } from '@opentill/db/database';
import { familyOf } from '@opentill/domain/chains';
import type { SpentRow, WalletKey } from '../../payouts/payout-facts.ts';
import { hasNoOwnNonce, isDecidedAgain, ofWallet, openHalts } from '../../store/rows.ts';
import { lockWindows, readSpent } from '../../store/spent.ts';
import { NotSaved } from '../../store/under-lease.ts';
import type { SignedAttempt } from './payout-store.ts';

/** Checks that the policy still permits all of them with the amounts of this moment. Throws NotSaved. */
export async function saveAllowed(
  tx: Tx,
  key: WalletKey,
  fencingToken: number,
  attempts: readonly SignedAttempt[],
  chooseRefused: (spent: readonly SpentRow[]) => readonly string[],
): Promise<void> {
  await lockWindows(tx, key);
  const orderPks = attempts.flatMap(({ orderPk }) => (orderPk === null ? [] : [orderPk]));
  const refused = chooseRefused(await readSpent(tx, key, orderPks));
  if (refused.length > 0) throw new NotSaved({ kind: 'GONE', orderPks: refused });
  await saveSigned(tx, key, fencingToken, attempts);
}

/**
 * From this commit on a payout can be paid. A halt, hold or veto stops it. Nonces that other payouts reserved are taken
 * from them. The policy's windows count it, however long it waited. Throws NotSaved.
 */
async function saveSigned(
  tx: Tx,
  key: WalletKey,
  fencingToken: number,
  attempts: readonly SignedAttempt[],
): Promise<void> {
  const orderPks = attempts.map(({ orderPk }) => orderPk ?? '');
  await requireNotHalted(tx, key);
  // Locks in key order, like the statement that expires payouts.
  const { rows } = await sql<{ order_pk: string }>`
    with unlocked as (
      select p.order_pk from payout p where p.order_pk = any(${orderPks}::uuid[]) order by p.order_pk for update
    )
    update payout p set state = 'SIGNED', authorised_at = clock_timestamp(), obstacle = null, obstacle_at = null,
      fencing_token = ${fencingToken}, version = p.version + 1, updated_at = now()
    from unlocked u join orders o using (order_pk)
    where p.order_pk = u.order_pk and p.chain = ${key.chain} and p.wallet = ${key.wallet}
      and (p.state = 'AUTHORISED' and p.expires_at > clock_timestamp() or p.state = 'SIGNED' and ${isDecidedAgain})
      and ${hasNoOwnNonce}
      and not exists (select from payout_veto v where v.order_pk = p.order_pk)
      and not exists (select from asset_hold a where (a.chain, a.symbol) = (o.chain, o.symbol) and a.released_at is null)
    returning p.order_pk`.execute(tx);
  const moved = new Set(rows.map((row) => row.order_pk));
  const gone = orderPks.filter((orderPk) => !moved.has(orderPk));
  if (gone.length > 0) throw new NotSaved({ kind: 'GONE', orderPks: gone });

  const nonces = attempts.map(({ signed }) => signed.nonce);
  await sql`
    update wallet_nonce n set order_pk = null, updated_at = now()
    where ${ofWallet(key)} and n.state = 'RESERVED' and n.order_pk is not null
      and (n.nonce = any(${nonces}::int8[]) or n.order_pk = any(${orderPks}::uuid[]))`.execute(tx);
  const signed = await sql`
    insert into wallet_nonce as n (chain, wallet, nonce, state, order_pk)
    select ${key.chain}, ${key.wallet}, s.nonce, 'SIGNED', s.order_pk
    from unnest(${nonces}::int8[], ${orderPks}::uuid[]) as s (nonce, order_pk)
    on conflict (chain, wallet, nonce) do update set state = 'SIGNED', order_pk = excluded.order_pk, updated_at = now()
      where n.state = 'RESERVED'
    returning n.nonce`.execute(tx);
  if (signed.rows.length !== attempts.length) throw new NotSaved({ kind: 'STALE' });
  await sql`
    update payout_decision d set handled_at = clock_timestamp(), outcome = 'DONE'
    where d.order_pk = any(${orderPks}::uuid[]) and d.decision = 'PAY_AGAIN' and d.handled_at is null`.execute(
    tx,
  );
  await insertTransactions(tx, key, attempts);
}

export async function saveReplacement(tx: Tx, key: WalletKey, attempt: SignedAttempt): Promise<void> {
  await requireNotHalted(tx, key);
  const { purpose, orderPk, signed } = attempt;
  const { rows } = await sql`
    update wallet_nonce n set state = 'SIGNED', purpose = ${purpose}, updated_at = now()
    where ${ofWallet(key)} and n.nonce = ${signed.nonce} and n.order_pk is not distinct from ${orderPk}::uuid
      and (n.state = 'SIGNED' and n.purpose = ${purpose} or n.state = 'RESERVED' and ${purpose}::text = 'CANCEL')
    returning n.nonce`.execute(tx);
  if (rows.length === 0) throw new NotSaved({ kind: 'STALE' });
  await insertTransactions(tx, key, [attempt]);
}

async function requireNotHalted(tx: Tx, key: WalletKey): Promise<void> {
  const { rows } = await sql`select 1 ${openHalts(key)} limit 1`.execute(tx);
  if (rows.length > 0) throw new NotSaved({ kind: 'STALE' });
}

async function insertTransactions(
  tx: Tx,
  { chain, wallet }: WalletKey,
  attempts: readonly SignedAttempt[],
): Promise<void> {
  const rows = attempts.map(({ purpose, orderPk, contract, to, amountBaseUnits, signed }) => ({
    tx_hash: signed.txHash,
    nonce: signed.nonce,
    purpose,
    order_pk: orderPk,
    contract_address: contract,
    to_address: to,
    amount: amountBaseUnits.toString(),
    raw: Buffer.from(signed.raw).toString('hex'),
    fee_terms: {
      gasLimit: signed.terms.gasLimit.toString(),
      maxFeePerGas: signed.terms.maxFeePerGas.toString(),
      maxPriorityFeePerGas: signed.terms.maxPriorityFeePerGas.toString(),
      dataFee: signed.terms.dataFeeBaseUnits?.toString(), // JSON omits undefined
    },
  }));
  await sql`
    insert into own_transaction (chain, tx_hash, family, wallet, nonce, purpose, order_pk, contract_address, to_address, amount,
      raw, fee_terms, signed_at)
    select ${chain}, t.tx_hash, ${familyOf(chain)}, ${wallet}, t.nonce, t.purpose, t.order_pk, t.contract_address, t.to_address,
      t.amount, decode(t.raw, 'hex'), t.fee_terms, clock_timestamp()
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as t (tx_hash text, nonce int8, purpose text, order_pk uuid,
      contract_address text, to_address text, amount numeric, raw text, fee_terms jsonb)`.execute(tx);
}
