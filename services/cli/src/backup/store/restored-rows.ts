import { sql, type RawBuilder } from 'kysely';
import type { Address } from '@opentill/chain/address-codec';
import type { Db, Tx } from '@opentill/db/database';
import { familyOf, type Chain } from '@opentill/domain/chains';
import { canonicalContract } from '../../families.ts';
import type { MinedTransaction } from '../find-wallet-transactions.ts';
import type { DoubtfulPayout, UnknownTransaction, KnownNonce, Payment } from '../match-transactions.ts';

export interface Hold {
  readonly restoreId: string;
  readonly chain: Chain;
  readonly wallet: Address;
  readonly fromHeight: number;
  /** The lost machine made all its signatures before it. */
  readonly restoredAt: Date;
}

export interface StoredPayment extends UnknownTransaction {
  readonly chain: Chain;
  readonly wallet: Address;
  readonly restoreId: string;
  readonly blockHeight: number;
  readonly decision: 'ADOPTED' | 'ORDER_LOST' | null;
  readonly orderPk: string | null;
}

export interface NamedPayout extends DoubtfulPayout {
  readonly orderId: string;
  readonly merchantId: string;
  readonly symbol: string;
  readonly decimals: number;
  readonly displayDecimals: number;
}

export async function readHolds(db: Db | Tx, lock = false): Promise<readonly Hold[]> {
  const { rows } = await sql<Hold>`
    select h.restore_id as "restoreId", h.chain, h.wallet, h.from_height as "fromHeight", r.restored_at as "restoredAt"
    from restore_hold h join restoration r using (restore_id)
    where h.released_at is null order by h.chain, h.wallet ${lock ? sql`for update of h` : sql``}`.execute(
    db,
  );
  return rows;
}

export async function readOpenNonces(db: Db | Tx, { chain, wallet }: Hold): Promise<readonly KnownNonce[]> {
  const { rows } = await sql<NonceRow>`
    select n.nonce, n.state, n.purpose, n.order_pk as "orderPk", o.contract_address as contract, o.address as "to", o.amount
    from wallet_nonce n left join orders o using (order_pk)
    where n.chain = ${chain} and n.wallet = ${wallet} and n.state in ('RESERVED', 'SIGNED') order by n.nonce`.execute(
    db,
  );
  return rows.map((row) => knownNonce(row, chain));
}

interface NonceRow {
  readonly nonce: number;
  readonly state: 'RESERVED' | 'SIGNED';
  readonly purpose: 'PAYOUT' | 'CANCEL';
  readonly orderPk: string | null;
  readonly contract: string | null;
  readonly to: string | null;
  readonly amount: bigint | null;
}

function knownNonce(row: NonceRow, chain: Chain): KnownNonce {
  const { nonce, state, purpose, orderPk, to, amount } = row;
  if (state === 'RESERVED') return { nonce, signed: undefined };
  if (purpose === 'CANCEL' || orderPk === null || to === null || amount === null)
    return { nonce, signed: 'CANCEL' };
  return { nonce, signed: { orderPk, pays: { contract: canonical(chain, row.contract), to, amount } } };
}

/** Returns nonces of final use, and the first that was ever assigned (null: none). */
export async function readAccountedNonces(
  db: Db | Tx,
  { chain, wallet }: Hold,
): Promise<{ readonly accounted: ReadonlySet<number>; readonly first: number | null }> {
  const { rows } = await sql<{ nonce: number }>`
    select nonce from wallet_nonce where chain = ${chain} and wallet = ${wallet} and state in ('FINAL', 'TAKEN')
    union select t.nonce from own_transaction t join own_transaction_fate f using (chain, tx_hash)
      where t.chain = ${chain} and t.wallet = ${wallet} and f.state = 'VERIFIED'
    union select nonce from forgotten_payment where chain = ${chain} and wallet = ${wallet}`.execute(db);
  const { rows: lowest } = await sql<{ first: number | null }>`
    select min(nonce) as first from wallet_nonce where chain = ${chain} and wallet = ${wallet}`.execute(db);
  return { accounted: new Set(rows.map((row) => row.nonce)), first: lowest[0]?.first ?? null };
}

export async function saveForgotten(db: Db, hold: Hold, found: readonly MinedTransaction[]): Promise<void> {
  for (const { txHash, nonce, raw, aim, blockHeight, blockTime } of found) {
    const pays = aim.kind === 'PAYMENT' ? aim : undefined;
    // Stored without money as zero coin to the wallet itself, like the signer's cancels.
    const to = pays?.to ?? (aim.kind === 'NOTHING' ? hold.wallet : null);
    const amount = pays?.amountBaseUnits ?? (aim.kind === 'NOTHING' ? 0n : null);
    await sql`
      insert into forgotten_payment (chain, tx_hash, restore_id, wallet, nonce, raw, contract_address, to_address, amount,
        block_height, block_time)
      select ${hold.chain}, ${txHash}, ${hold.restoreId}, ${hold.wallet}, ${nonce}, ${Buffer.from(raw)}, ${pays?.contract ?? null}::text,
        ${to}::text, ${amount?.toString() ?? null}::numeric, ${blockHeight}, ${blockTime}
      where not exists (select from own_transaction t where t.chain = ${hold.chain} and t.tx_hash = ${txHash})
      on conflict do nothing`.execute(db);
  }
}

export async function readRaw(
  db: Db | Tx,
  { chain, txHash }: { readonly chain: Chain; readonly txHash: string },
): Promise<Uint8Array> {
  const { rows } = await sql<{ raw: Buffer }>`
    select raw from forgotten_payment where chain = ${chain} and tx_hash = ${txHash}`.execute(db);
  return rows[0]?.raw ?? new Uint8Array(0);
}

/** Excludes the decided ones unless `all`. */
export async function readPayments(
  db: Db | Tx,
  of: { readonly hold?: Hold; readonly chain?: Chain; readonly txHash?: string; readonly all?: boolean },
): Promise<readonly StoredPayment[]> {
  const where: RawBuilder<unknown>[] = [sql`true`];
  if (of.all !== true) where.push(sql`decision is null`);
  if (of.txHash !== undefined) where.push(sql`tx_hash = ${of.txHash}`);
  if (of.chain !== undefined) where.push(sql`chain = ${of.chain}`);
  if (of.hold !== undefined) where.push(sql`chain = ${of.hold.chain} and wallet = ${of.hold.wallet}`);
  const { rows } = await sql<PaymentRow>`
    select chain, wallet, restore_id as "restoreId", tx_hash as "txHash", nonce, contract_address as contract, to_address as "to",
      amount, block_height as "blockHeight", block_time as "blockTime", decision, order_pk as "orderPk"
    from forgotten_payment where ${sql.join(where, sql` and `)} order by chain, wallet, nonce, block_height, tx_hash`.execute(
    db,
  );
  return rows.map(({ contract, to, amount, ...row }) => ({
    ...row,
    pays: paysOf(row, contract, to, amount),
  }));
}

interface PaymentRow extends Omit<StoredPayment, 'pays'> {
  readonly contract: string | null;
  readonly to: string | null;
  readonly amount: bigint | null;
}

function paysOf(
  { chain, wallet, nonce }: Pick<PaymentRow, 'chain' | 'wallet' | 'nonce'>,
  contract: string | null,
  to: string | null,
  amount: bigint | null,
): UnknownTransaction['pays'] {
  if (to === null || amount === null) return undefined;
  // Without a nonce to use up, a transaction cannot be a cancel.
  if (amount === 0n && to === wallet) return nonce === null ? undefined : null;
  return { contract: canonical(chain, contract), to, amount };
}

/** Returns payouts that were unsigned at the backup, or whose only transaction landed nowhere. */
export function readDoubtful(
  db: Db | Tx,
  { restoreId, chain, wallet }: Hold,
): Promise<readonly NamedPayout[]> {
  return readPayouts(
    db,
    sql`join doubtful_payout d using (order_pk) join restoration r using (restore_id)
      left join restore_hold h on h.restore_id = ${restoreId} and h.chain = p.chain and h.wallet = p.wallet
    where p.chain = ${chain} and p.wallet = ${wallet} and d.decision is null and (p.state in ('REQUESTED', 'AUTHORISED')
      or p.state = 'SIGNED' and exists (
        select from payout_attempt a where a.order_pk = p.order_pk and ${hasLandedNowhere}))`,
    sql`p.waiting_since < r.taken_at`,
  );
}

/** No block read for the hold `h` contained the attempt `a` in its lifetime or its epochs. */
export const hasLandedNowhere: RawBuilder<boolean> = sql<boolean>`(a.state = 'OPEN'
  and case when a.last_epoch is null then a.expires_ms <= h.read_over_ms
    else h.read_height is not null and attempt_is_over(a.chain, a.expires_ms, a.last_epoch) end
  and not exists (select from own_transaction_fate f
    where f.chain = a.chain and f.tx_hash = a.tx_hash and f.state in ('MINED', 'VERIFIED'))
  and not exists (select from own_transaction_landed l where l.chain = a.chain and l.tx_hash = a.tx_hash))`;

export async function findPayouts(db: Db | Tx, wanted: string): Promise<readonly NamedPayout[]> {
  return readPayouts(db, sql`where o.order_id = ${wanted} or o.order_pk::text = ${wanted}`, sql`false`);
}

async function readPayouts(
  db: Db | Tx,
  which: RawBuilder<unknown>,
  waited: RawBuilder<unknown>,
): Promise<readonly NamedPayout[]> {
  const { rows } = await sql<
    Omit<NamedPayout, 'pays'> & Payment & { readonly chain: Chain; readonly waited: boolean }
  >`
    select o.chain, o.order_pk as "orderPk", o.order_id as "orderId", o.merchant_id as "merchantId", o.symbol, o.decimals,
      o.display_decimals as "displayDecimals", o.contract_address as contract, o.address as "to", o.amount,
      p.requested_at as "requestedAt", p.expires_at as "expiresAt", ${waited} as waited
    from payout p join orders o using (order_pk) ${which} order by 1`.execute(db);
  return rows.map(({ chain, contract, to, amount, waited: hasWaited, expiresAt, ...row }) => ({
    ...row,
    pays: { contract: canonical(chain, contract), to, amount },
    expiresAt: hasWaited ? null : expiresAt,
  }));
}

function canonical(chain: Chain, contract: string | null): string | null {
  return contract === null ? null : canonicalContract(familyOf(chain), contract);
}
