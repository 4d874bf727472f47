import { sql, type Insertable, type Selectable } from 'kysely';
import type { Db } from '@opentill/db/database';
import type { OwnTransactionFateTable, OwnTransactionTable } from '@opentill/db/payout-tables';
import type { FateState } from '@opentill/domain/settle-payout';
import { aHash, aHotWallet, aPayout, type OrderRow } from './scenario.ts';

export type OwnTransactionRow = Selectable<OwnTransactionTable>;
export type FateRow = Selectable<OwnTransactionFateTable>;

/** Payout of 250 USDT on ETH_SEPOLIA with its amount reserved, from a hot wallet with exactly that balance. */
export async function aReservedPayout(
  db: Db,
  overrides: Parameters<typeof aPayout>[1] = {},
): Promise<OrderRow> {
  const order = await aPayout(db, overrides);
  await aHotWallet(db, order);
  await sql`select reserve(${order.order_pk})`.execute(db);
  return order;
}

/** Signs the wallet's next nonce for `order`, with the transaction hash of the bytes. */
export async function anOwnTransaction(
  db: Db,
  order: OrderRow,
  overrides: Partial<Insertable<OwnTransactionTable>> = {},
): Promise<OwnTransactionRow> {
  const wallet = order.source_address ?? '';
  const { chain, order_pk, family } = order;
  const nonce = overrides.nonce === undefined ? await takeNonce(db, order) : overrides.nonce;
  return db
    .insertInto('own_transaction')
    .values({
      chain,
      tx_hash: aHash(),
      family,
      wallet,
      nonce,
      purpose: 'PAYOUT',
      order_pk,
      contract_address: order.contract_address,
      to_address: order.address,
      amount: order.amount,
      raw: Buffer.from('02f8', 'hex'),
      fee_terms: JSON.stringify({ gasLimit: '65000', maxFeePerGas: '10', maxPriorityFeePerGas: '1' }),
      signed_at: new Date(),
      ...overrides,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
}

async function takeNonce(db: Db, { chain, order_pk, source_address }: OrderRow): Promise<number> {
  const { rows } = await sql<{ nonce: number }>`
    insert into wallet_nonce (chain, wallet, nonce, state, order_pk)
    select ${chain}, ${source_address}, coalesce(max(nonce) + 1, 0), 'SIGNED', ${order_pk}::uuid
    from wallet_nonce where chain = ${chain} and wallet = ${source_address}
    returning nonce`.execute(db);
  return rows[0]?.nonce ?? 0;
}

/** Creates a payout up to the stored signed bytes; `sent` also records a first broadcast. */
export async function aSignedPayout(
  db: Db,
  overrides: Parameters<typeof aPayout>[1] = {},
  { sent = false }: { readonly sent?: boolean } = {},
): Promise<{ readonly order: OrderRow; readonly transaction: OwnTransactionRow }> {
  const order = await aReservedPayout(db, overrides);
  const transaction = await sign(db, order);
  if (sent) await send(db, order);
  return { order, transaction };
}

/** Same writes as the signer: authorises, then stores bytes and state in one commit. */
export async function sign(db: Db, order: OrderRow): Promise<OwnTransactionRow> {
  await sql`update payout set state = 'AUTHORISED', authorised_at = now(), waiting_since = null, version = version + 1,
    updated_at = now() where order_pk = ${order.order_pk} and state = 'REQUESTED'`.execute(db);
  return db.transaction().execute(async (tx) => {
    const transaction = await anOwnTransaction(tx, order);
    await sql`update payout set state = 'SIGNED', version = version + 1, updated_at = now()
      where order_pk = ${order.order_pk}`.execute(tx);
    return transaction;
  });
}

export async function send(db: Db, order: Pick<OrderRow, 'order_pk'>): Promise<void> {
  await sql`update payout set first_sent_at = now(), version = version + 1, updated_at = now()
    where order_pk = ${order.order_pk} and first_sent_at is null`.execute(db);
}

export async function refuse(db: Db, order: Pick<OrderRow, 'order_pk'>, reason: string): Promise<void> {
  await sql`update payout set state = 'REFUSED', reason = ${reason}, version = version + 1, updated_at = now()
    where order_pk = ${order.order_pk}`.execute(db);
}

/** Outcome as a scanner records it. By default success with the intended delivery in block 100. */
export async function aFate(
  db: Db,
  transaction: OwnTransactionRow,
  state: FateState,
  overrides: Partial<Insertable<OwnTransactionFateTable>> = {},
): Promise<FateRow> {
  const { chain, tx_hash, family, amount } = transaction;
  const succeeded = overrides.succeeded ?? true;
  const row: Insertable<OwnTransactionFateTable> = {
    chain,
    tx_hash,
    family,
    block_height: 100,
    block_hash: aHash(),
    block_time: new Date(),
    state,
    succeeded,
    delivered: succeeded ? amount : 0n,
    network_fee: 63_000_000_000_000n,
    ...overrides,
  };
  return db
    .insertInto('own_transaction_fate')
    .values(row)
    .onConflict((conflict) =>
      conflict.columns(['chain', 'tx_hash']).doUpdateSet({
        ...row,
        version: sql`own_transaction_fate.version + 1`,
        updated_at: sql`now()`,
      }),
    )
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** Address whose incoming transfers belong to the operator. */
export async function aHotWalletAddress(
  db: Db,
  { family, address }: Pick<OrderRow, 'family' | 'address'>,
): Promise<void> {
  await db.insertInto('hot_wallet').values({ family, address }).execute();
}
