import { sql } from 'kysely';
import type { Address } from '@opentill/chain/address-codec';
import type { BlockHash } from '@opentill/chain/block';
import type { TokenContract, TxHash } from '@opentill/chain/transfer';
import type { SendOutcome } from '@opentill/chain/wallet-sender';
import type { Db } from '@opentill/db/database';
import { baseUnits } from '@opentill/domain/money';
import type { ViewOptions, WalletKey } from '../../payouts/payout-facts.ts';
import { readPaidBy, readRequested, readUnsigned } from '../../store/read-payouts.ts';
import { ofWallet, openHalts } from '../../store/rows.ts';
import type { KnownNonces, WalletView } from './payout-store.ts';
import type { OpenNonce, OwnAttempt } from './nonce-facts.ts';

/** Each one needs requests to nodes; the rest waits for the next pass. */
const PAID_BY_MAX = 8;

/** Several statements, each bounded by an index, without locks. */
export async function readView(db: Db, key: WalletKey, options: ViewOptions): Promise<WalletView> {
  // Reads payouts before nonces. So a payout seen as unsigned has its nonce in the later read.
  const [page, unsigned, paidBy] = await Promise.all([
    readRequested(db, key, options),
    readUnsigned(db, key, options),
    readPaidBy(db, key, PAID_BY_MAX),
  ]);
  const [state, nonces] = await Promise.all([readState(db, key), readNonces(db, key)]);
  return { ...state, ...page, unsigned, paidBy, nonces };
}

interface StateRow {
  readonly now: Date;
  readonly seen_height: number | null;
  readonly seen_hash: string | null;
  readonly verified_height: number | null;
  readonly verified_hash: string | null;
  readonly halted: string | null;
  readonly is_uncertain: boolean;
  readonly held: string[];
  readonly highest: number | null;
  readonly highest_used: number | null;
  readonly released_mark: number | null;
}

async function readState(
  db: Db,
  key: WalletKey,
): Promise<Omit<WalletView, 'requested' | 'pageEnd' | 'unsigned' | 'paidBy' | 'nonces'>> {
  const { rows } = await sql<StateRow>`
    select clock_timestamp() as now, c.seen_height, c.seen_hash, c.verified_height, c.verified_hash,
      (select h.reason ${openHalts(key)} order by h.set_at limit 1) as halted,
      exists (select ${openHalts(key)} and h.kind in ('FOREIGN_NONCE', 'RESTORED')) as is_uncertain,
      array(select distinct a.symbol from asset_hold a where a.chain = ${key.chain} and a.released_at is null) as held,
      (select max(n.nonce) from wallet_nonce n where ${ofWallet(key)}) as highest,
      (select n.nonce from wallet_nonce n where ${ofWallet(key)} and n.state <> 'RESERVED' order by n.nonce desc limit 1)
        as highest_used,
      (select max(h.mark) from wallet_halt h where h.chain = ${key.chain} and h.wallet = ${key.wallet}
        and h.mark is not null and h.released_at is not null) as released_mark
    from (select) one left join chain_cursor c on c.chain = ${key.chain}`.execute(db);
  const row = rows[0];
  if (row === undefined) throw new Error('the wallet state query returned no row');
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
    isUncertain: row.is_uncertain,
    heldSymbols: new Set(row.held),
    nextNonce: row.highest === null ? null : row.highest + 1,
    highestUsed: row.highest_used,
    releasedMark: row.released_mark,
  };
}

export async function readKnownNonces(db: Db, key: WalletKey): Promise<KnownNonces> {
  const { rows } = await sql<
    Pick<StateRow, 'highest' | 'highest_used' | 'released_mark'> & { is_open: boolean }
  >`
    select known.*, exists (
      select from wallet_nonce n where ${ofWallet(key)} and n.nonce <= known.released_mark
        and (n.state = 'RESERVED' or (n.state = 'SIGNED' and n.purpose = 'CANCEL'))) as is_open
    from (select (select max(n.nonce) from wallet_nonce n where ${ofWallet(key)}) as highest,
      (select n.nonce from wallet_nonce n where ${ofWallet(key)} and n.state <> 'RESERVED' order by n.nonce desc limit 1)
        as highest_used,
      (select max(h.mark) from wallet_halt h where h.chain = ${key.chain} and h.wallet = ${key.wallet}
        and h.released_at is not null) as released_mark) known`.execute(db);
  const row = rows[0];
  if (row === undefined) throw new Error('the known nonces query returned no row');
  return {
    highestUsed: row.highest_used,
    nextNonce: row.highest === null ? null : row.highest + 1,
    releasedMark: row.released_mark,
    isReleasedOpen: row.is_open,
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
  readonly fee_terms: {
    gasLimit: string;
    maxFeePerGas: string;
    maxPriorityFeePerGas: string;
    dataFee?: string;
  };
  readonly signed_at: Date;
  readonly last_sent_at: Date | null;
  readonly send_outcome: SendOutcome | null;
}

/** Three look-ups by key and no join: a plan made for small tables must not be used for large ones. */
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
      ...(terms.dataFee !== undefined && { dataFeeBaseUnits: BigInt(terms.dataFee) }),
    },
    signedAt: row.signed_at,
    lastSentAt: row.last_sent_at,
    outcome: row.send_outcome,
    isMined: fate === 'MINED' || fate === 'VERIFIED',
    isVerified: fate === 'VERIFIED',
  };
}
