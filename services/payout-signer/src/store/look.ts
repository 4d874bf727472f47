import { sql } from 'kysely';
import type { Address } from '@opentill/chain/address-codec';
import type { BlockHash } from '@opentill/chain/block';
import type { TokenContract, TxHash } from '@opentill/chain/transfer';
import type { SendOutcome } from '@opentill/chain/wallet-sender';
import type { Db } from '@opentill/db/database';
import { baseUnits } from '@opentill/domain/money';
import type { LookOptions } from '../payout-store.ts';
import type {
  OpenNonce,
  OwnAttempt,
  PayoutFacts,
  RequestedPayout,
  UnsignedPayout,
  WalletKey,
  WalletView,
} from '../wallet-facts.ts';
import { hasNoOwnNonce, ofWallet, openHalts } from './rows.ts';

/** Reads everything that a pass decides by. Several statements, each bounded by an index; no locks. */
export async function look(
  db: Db,
  key: WalletKey,
  { requested: requestedMax, unsigned: unsignedMax, after }: LookOptions,
): Promise<WalletView> {
  // The payouts before the nonces: a payout that is seen unsigned has its nonce in what is read later.
  const [requested, unsigned] = await Promise.all([
    readRequested(db, key, requestedMax, after),
    readUnsigned(db, key, unsignedMax),
  ]);
  const [state, nonces] = await Promise.all([readState(db, key), readNonces(db, key)]);
  return { ...state, requested, unsigned, nonces };
}

interface PayoutRow {
  readonly order_pk: string;
  readonly order_id: string;
  readonly merchant_id: string;
  readonly symbol: string;
  readonly contract_address: string | null;
  readonly decimals: number;
  readonly address: string;
  readonly amount: bigint;
  readonly obstacle: string | null;
}

const PAYOUT_COLUMNS = sql`o.order_pk, o.order_id, o.merchant_id, o.symbol, o.contract_address, o.decimals, o.address, o.amount,
  p.obstacle`;

function payoutFacts(row: PayoutRow, { wallet }: WalletKey): PayoutFacts {
  return {
    orderPk: row.order_pk,
    orderId: row.order_id,
    merchantId: row.merchant_id,
    symbol: row.symbol,
    contract: row.contract_address,
    decimals: row.decimals,
    receiver: row.address,
    amountBaseUnits: baseUnits(row.amount),
    wallet,
    obstacle: row.obstacle,
  };
}

interface RequestedRow extends PayoutRow {
  readonly waiting_since: Date | null;
  readonly is_reserved: boolean;
  readonly may_be_paid: boolean;
  readonly pays_ourselves: boolean;
  readonly approvals: { approver: string; signature: string }[];
}

async function readRequested(
  db: Db,
  key: WalletKey,
  limit: number,
  after: string | undefined,
): Promise<readonly RequestedPayout[]> {
  const behind =
    after === undefined
      ? sql`true`
      : sql`(p.requested_at, p.order_pk) > (select a.requested_at, a.order_pk from payout a where a.order_pk = ${after}::uuid)`;
  const { rows } = await sql<RequestedRow>`
    select ${PAYOUT_COLUMNS}, p.waiting_since,
      exists (
        select from ledger_transaction t join ledger_posting l using (ledger_tx_id) join ledger_account a using (account_id)
        where t.ref = 'reserve:' || o.order_pk and a.kind = 'HOT_RESERVED' and a.chain = o.chain and a.symbol = o.symbol
          and l.amount = o.amount
      ) as is_reserved,
      exists (
        select from forgotten_payment f
        where f.chain = o.chain and f.to_address = o.address and f.amount = o.amount and f.order_pk is null and f.guards
          and lower(f.contract_address) is not distinct from lower(o.contract_address)
      ) or exists (select from doubtful_payout d where d.order_pk = o.order_pk and d.decision is null) as may_be_paid,
      exists (select from deposit_address d where d.family = o.family and d.address = o.address)
        or exists (select from hot_wallet w where w.family = o.family and w.address = o.address) as pays_ourselves,
      (select coalesce(jsonb_agg(jsonb_build_object('approver', a.approver, 'signature', encode(a.signature, 'hex'))), '[]')
        from payout_approval a where a.order_pk = o.order_pk) as approvals
    from payout p join orders o using (order_pk)
    where p.chain = ${key.chain} and p.wallet = ${key.wallet} and p.state = 'REQUESTED'
      and o.order_type = 'PAYOUT' and o.chain = p.chain and o.source_address = p.wallet
      and (p.waiting_since is not null or p.expires_at > now()) and ${behind}
    order by p.requested_at, p.order_pk limit ${limit}`.execute(db);
  return rows.map((row) => ({
    ...payoutFacts(row, key),
    waitingSince: row.waiting_since,
    isReserved: row.is_reserved,
    mayBePaid: row.may_be_paid,
    paysOurselves: row.pays_ourselves,
    approvals: row.approvals.map(({ approver, signature }) => ({
      approver,
      signature: Buffer.from(signature, 'hex'),
    })),
  }));
}

/** Those that nobody has tried yet, oldest first; then those whose last try was longest ago. */
async function readUnsigned(db: Db, key: WalletKey, limit: number): Promise<readonly UnsignedPayout[]> {
  const { rows } = await sql<PayoutRow & { readonly is_signed_before: boolean }>`
    with taken as materialized (
      select distinct n.order_pk from wallet_nonce n
      where ${ofWallet(key)} and n.state = 'TAKEN' and n.order_pk is not null
    ), unsigned as (
      (select p.order_pk, p.requested_at, p.obstacle, p.obstacle_at, false as is_signed_before from payout p
        where p.chain = ${key.chain} and p.wallet = ${key.wallet} and p.state = 'AUTHORISED' and p.expires_at > now()
        order by p.obstacle_at nulls first, p.requested_at, p.order_pk limit ${limit})
      union all
      (select p.order_pk, p.requested_at, p.obstacle, p.obstacle_at, true
        from taken join payout p using (order_pk) where p.state = 'SIGNED' and ${hasNoOwnNonce})
    )
    select ${PAYOUT_COLUMNS}, p.is_signed_before
    from unsigned p join orders o using (order_pk)
    where o.order_type = 'PAYOUT' and o.chain = ${key.chain} and o.source_address = ${key.wallet}
    order by p.obstacle_at nulls first, p.requested_at, p.order_pk limit ${limit}`.execute(db);
  return rows.map((row) => ({ ...payoutFacts(row, key), isSignedBefore: row.is_signed_before }));
}

interface StateRow {
  readonly now: Date;
  readonly seen_height: number | null;
  readonly seen_hash: string | null;
  readonly verified_height: number | null;
  readonly verified_hash: string | null;
  readonly halted: string | null;
  readonly held: string[];
  readonly highest: number | null;
}

async function readState(
  db: Db,
  key: WalletKey,
): Promise<Pick<WalletView, 'now' | 'cursor' | 'halted' | 'heldSymbols' | 'nextNonce'>> {
  const { rows } = await sql<StateRow>`
    select clock_timestamp() as now, c.seen_height, c.seen_hash, c.verified_height, c.verified_hash,
      (select h.reason ${openHalts(key)} order by h.set_at limit 1) as halted,
      array(select distinct a.symbol from asset_hold a where a.chain = ${key.chain} and a.released_at is null) as held,
      (select max(n.nonce) from wallet_nonce n where ${ofWallet(key)}) as highest
    from (select) one left join chain_cursor c on c.chain = ${key.chain}`.execute(db);
  const row = rows[0];
  if (row === undefined) throw new Error('a query of one row gave none');
  const { seen_height: seen, verified_height: verified } = row;
  return {
    now: row.now,
    cursor:
      seen === null || verified === null
        ? null
        : {
            seen: { height: seen, hash: row.seen_hash as BlockHash },
            verified: { height: verified, hash: row.verified_hash as BlockHash },
          },
    halted: row.halted,
    heldSymbols: new Set(row.held),
    nextNonce: row.highest === null ? null : row.highest + 1,
  };
}

interface NonceRow {
  readonly nonce: number;
  readonly state: 'RESERVED' | 'SIGNED';
  readonly order_pk: string | null;
  readonly purpose: 'PAYOUT' | 'CANCEL';
}

interface OwnRow {
  readonly tx_hash: string;
  readonly nonce: number;
  readonly contract_address: string | null;
  readonly to_address: string;
  readonly amount: bigint;
  readonly fee_terms: { gasLimit: string; maxFeePerGas: string; maxPriorityFeePerGas: string };
  readonly signed_at: Date;
  readonly last_sent_at: Date | null;
  readonly send_outcome: SendOutcome | null;
}

/** Three look-ups by keys and no join: a plan made while the tables were small must not be a trap when they are large. */
async function readNonces(db: Db, key: WalletKey): Promise<readonly OpenNonce[]> {
  const { chain, wallet } = key;
  const nonces = await sql<NonceRow>`
    select n.nonce, n.state, n.order_pk, n.purpose from wallet_nonce n
    where ${ofWallet(key)} and n.state in ('RESERVED', 'SIGNED') order by n.nonce`.execute(db);
  const signed = nonces.rows.flatMap(({ nonce, state }) => (state === 'SIGNED' ? [nonce] : []));
  if (signed.length === 0) return nonces.rows.map((row) => openNonce(row, []));
  const own = await sql<OwnRow>`
    select t.tx_hash, t.nonce, t.contract_address, t.to_address, t.amount, t.fee_terms, t.signed_at, t.last_sent_at,
      t.send_outcome
    from own_transaction t where t.chain = ${chain} and t.wallet = ${wallet} and t.nonce = any(${signed}::int8[])
    order by t.signed_at, t.tx_hash`.execute(db);
  const fates = await sql<{ tx_hash: string; state: 'MINED' | 'VERIFIED' | 'ORPHANED' }>`
    select tx_hash, state from own_transaction_fate
    where chain = ${chain} and tx_hash = any(${own.rows.map((row) => row.tx_hash)}::text[])`.execute(db);
  const fateOf = new Map(fates.rows.map((row) => [row.tx_hash, row.state]));
  const attempts = Map.groupBy(own.rows, (row) => row.nonce);
  return nonces.rows.map((row) =>
    openNonce(
      row,
      (attempts.get(row.nonce) ?? []).map((tx) => attemptOf(tx, fateOf.get(tx.tx_hash))),
    ),
  );
}

function openNonce(row: NonceRow, attempts: readonly OwnAttempt[]): OpenNonce {
  const { nonce, state, order_pk: orderPk, purpose } = row;
  return { nonce, state, orderPk, purpose, attempts };
}

function attemptOf(row: OwnRow, fate: 'MINED' | 'VERIFIED' | 'ORPHANED' | undefined): OwnAttempt {
  const terms = row.fee_terms;
  return {
    txHash: row.tx_hash as TxHash,
    contract: row.contract_address as TokenContract | null,
    to: row.to_address as Address,
    amountBaseUnits: baseUnits(row.amount),
    terms: {
      gasLimit: BigInt(terms.gasLimit),
      maxFeePerGas: BigInt(terms.maxFeePerGas),
      maxPriorityFeePerGas: BigInt(terms.maxPriorityFeePerGas),
    },
    signedAt: row.signed_at,
    lastSentAt: row.last_sent_at,
    outcome: row.send_outcome,
    isMined: fate === 'MINED' || fate === 'VERIFIED',
    isVerified: fate === 'VERIFIED',
  };
}
