import { sql } from 'kysely';
import type { Address } from '@opentill/chain/address-codec';
import type { BlockHash } from '@opentill/chain/block';
import type { TokenContract, TxHash } from '@opentill/chain/transfer';
import type { Db } from '@opentill/db/database';
import type { Chain } from '@opentill/domain/chains';
import { baseUnits } from '@opentill/domain/money';
import type { OpenTransaction, RecordedFate } from '../judge-fates.ts';

/** Above this number, each wallet's lowest nonces are read, which are mined first. */
const UNMINED_MAX = 1_000;
/** Limit of transactions that wait for depth; above it, the lowest are read, which reach depth first. */
const MINED_MAX = 10_000;

/** Pages are in hash order; `after` is empty for the first one. */
export interface TakenPage {
  readonly after: TxHash | '';
  readonly limit: number;
}

export function readOwn(db: Db) {
  return {
    async findOwn(chain: Chain, txHashes: readonly TxHash[]): Promise<ReadonlySet<TxHash>> {
      const { rows } = await sql<{ tx_hash: TxHash }>`
        select tx_hash from own_transaction
        where chain = ${chain} and tx_hash = any(string_to_array(${txHashes.join(' ')}, ' '))`.execute(db);
      return new Set(rows.map((row) => row.tx_hash));
    },
    /** Attempts on chains whose transactions expire by time or epoch. */
    async openAttempts(chain: Chain): Promise<ReadonlySet<TxHash>> {
      const { rows } = await sql<{ tx_hash: TxHash }>`
        select tx_hash from payout_attempt where chain = ${chain} and state = 'OPEN'`.execute(db);
      return new Set(rows.map((row) => row.tx_hash));
    },
    /** Cheaper than openTransactions, for every commit of a gateway without payouts. */
    mayHaveOpenTransactions: (chain: Chain) => mayHaveOpenTransactions(db, chain),
    /**
     * Signed transactions of unused nonces, open attempts that expire by time, and recorded ones that are not VERIFIED.
     * Once one transaction of a nonce is VERIFIED, the others are dead, except MINED ones, which must be orphaned. A
     * reorganisation to `aboveHeight` reopens VERIFIED transactions above it and those with the same nonces.
     */
    async openTransactions(chain: Chain, aboveHeight: number): Promise<readonly OpenTransaction[]> {
      const reads = [readOpenOfNonces(db, chain, aboveHeight), readOpenAttempts(db, chain, aboveHeight)];
      return (await Promise.all(reads)).flat();
    },
    /**
     * Own transactions whose nonce was used by a foreign transaction, according to the signer. They stay listed because
     * that finding may be wrong, and because an operator may have attributed a payment at such a nonce. No longer
     * listed once one of the payout or nonce is VERIFIED.
     */
    takenTransactions: (chain: Chain, page: TakenPage) => readTakenTransactions(db, chain, page),
  };
}

interface OwnRow {
  readonly tx_hash: TxHash;
  readonly wallet: Address;
  readonly contract_address: TokenContract | null;
  readonly to_address: Address;
  readonly amount: bigint;
  readonly signed_at: number;
  readonly state: RecordedFate['state'] | null;
  readonly block_height: number | null;
  readonly block_hash: BlockHash | null;
  readonly succeeded: boolean | null;
  readonly delivered: bigint | null;
  readonly network_fee: bigint | null;
}

/** Expires after at most two epochs of a day. */
const isNewGathering = sql`o.purpose = 'GATHER' and o.signed_at > now() - interval '3 days'`;

async function mayHaveOpenTransactions(db: Db, chain: Chain): Promise<boolean> {
  const { rows } = await sql`
    select from wallet_nonce where chain = ${chain} and state = 'SIGNED'
    union all
    select from payout_attempt where chain = ${chain} and state = 'OPEN'
    union all
    select from own_transaction o where o.chain = ${chain} and ${isNewGathering} and not exists (
      select from own_transaction_fate f where f.chain = o.chain and f.tx_hash = o.tx_hash and f.state = 'VERIFIED')
    union all
    select from own_transaction_fate where chain = ${chain} and state in ('MINED', 'ORPHANED')
    limit 1`.execute(db);
  return rows.length > 0;
}

/**
 * Transactions that expire by time instead of by nonce. A DEAD attempt expired, and no block contained it. A gathering
 * of a wallet's coins pays no one and has no dependent attempt.
 */
async function readOpenAttempts(
  db: Db,
  chain: Chain,
  aboveHeight: number,
): Promise<readonly OpenTransaction[]> {
  const { rows } = await sql<OwnRow>`
    with attempts as (
      select tx_hash from payout_attempt where chain = ${chain} and state = 'OPEN'
      union
      select o.tx_hash from own_transaction o where o.chain = ${chain} and ${isNewGathering}
      union
      select f.tx_hash from own_transaction_fate f join payout_attempt a using (chain, tx_hash)
      where f.chain = ${chain} and (f.state = 'MINED' or f.state = 'ORPHANED' and a.state = 'SETTLED')
      union
      select f.tx_hash from own_transaction_fate f join payout_attempt a using (chain, tx_hash)
      where f.chain = ${chain} and f.state <> 'ORPHANED' and f.block_height > ${aboveHeight}
    ), own as (
      select ${OWN_COLUMNS}, coalesce(f.state in ('MINED', 'VERIFIED'), false) as is_mined
      from attempts a
        join own_transaction o on o.chain = ${chain} and o.tx_hash = a.tx_hash
        left join own_transaction_fate f on f.chain = o.chain and f.tx_hash = o.tx_hash
      where f.state is distinct from 'VERIFIED' or f.block_height > ${aboveHeight}
    )
    (select ${READ_COLUMNS} from own where not is_mined order by signed_at, tx_hash limit ${UNMINED_MAX})
    union all
    (select ${READ_COLUMNS} from own where is_mined
      order by block_height > ${aboveHeight} desc, block_height, tx_hash limit ${MINED_MAX})`.execute(db);
  return rows.map(transactionIn);
}

/** `offset 0` keeps lookups by key: joins that outdated statistics made nested loops took a minute for 1,100 nonces. */
async function readOpenOfNonces(
  db: Db,
  chain: Chain,
  aboveHeight: number,
): Promise<readonly OpenTransaction[]> {
  const { rows } = await sql<OwnRow>`
    with nonces as (
      select wallet, nonce from wallet_nonce where chain = ${chain} and state = 'SIGNED'
      union
      select o.wallet, o.nonce from own_transaction_fate f join own_transaction o using (chain, tx_hash)
      where f.chain = ${chain} and f.state in ('MINED', 'ORPHANED')
      union
      select o.wallet, o.nonce from own_transaction_fate f join own_transaction o using (chain, tx_hash)
      where f.chain = ${chain} and f.state <> 'ORPHANED' and f.block_height > ${aboveHeight}
    ), attempts as (
      select ${OWN_COLUMNS}, o.nonce, coalesce(f.state in ('MINED', 'VERIFIED'), false) as is_mined,
        bool_or(f.state = 'VERIFIED' and f.block_height <= ${aboveHeight})
          over (partition by o.wallet, o.nonce) as is_decided,
        (select w.state from wallet_nonce w
          where w.chain = ${chain} and w.wallet = o.wallet and w.nonce = o.nonce) = 'TAKEN' as is_taken
      from nonces n
        cross join lateral (
          select o.chain, o.tx_hash, o.wallet, o.nonce, o.contract_address, o.to_address, o.amount, o.signed_at
          from own_transaction o
          where o.chain = ${chain} and o.wallet = n.wallet and o.nonce = n.nonce offset 0) o
        left join lateral (
          select * from own_transaction_fate f where f.chain = o.chain and f.tx_hash = o.tx_hash offset 0) f on true
    ), own as (
      select * from attempts
      where case state
        when 'VERIFIED' then block_height > ${aboveHeight}
        when 'MINED' then true
        else is_decided is not true and is_taken is not true
        end
    ), unmined as (
      select *, dense_rank() over (partition by wallet order by nonce) as turn from own where not is_mined
    )
    (select ${READ_COLUMNS} from unmined order by turn, signed_at, tx_hash limit ${UNMINED_MAX})
    union all
    (select ${READ_COLUMNS} from own where is_mined
      order by block_height > ${aboveHeight} desc, block_height, tx_hash limit ${MINED_MAX})`.execute(db);
  return rows.map(transactionIn);
}

async function readTakenTransactions(
  db: Db,
  chain: Chain,
  { after, limit }: TakenPage,
): Promise<readonly OpenTransaction[]> {
  const { rows } = await sql<OwnRow>`
    select ${OWN_COLUMNS}
    from wallet_nonce n
      join own_transaction o on o.chain = n.chain and o.wallet = n.wallet and o.nonce = n.nonce
      left join own_transaction_fate f on f.chain = o.chain and f.tx_hash = o.tx_hash
    where n.chain = ${chain} and n.state = 'TAKEN' and o.tx_hash > ${after} and (f.state is null or f.state = 'ORPHANED')
      and not exists (
        select from own_transaction s join own_transaction_fate v using (chain, tx_hash)
        where s.chain = o.chain and s.wallet = o.wallet and s.nonce = o.nonce and v.state = 'VERIFIED')
      and not exists (
        select from own_transaction s join own_transaction_fate v using (chain, tx_hash)
        where s.order_pk = o.order_pk and v.state = 'VERIFIED')
    order by o.tx_hash limit ${limit}`.execute(db);
  return rows.map((row) => ({ ...transactionIn(row), isTaken: true }));
}

const OWN_COLUMNS = sql.raw(`o.tx_hash, o.wallet, o.contract_address, o.to_address, o.amount,
  extract(epoch from o.signed_at)::int8 as signed_at,
  f.state, f.block_height, f.block_hash, f.succeeded, f.delivered, f.network_fee`);
const READ_COLUMNS =
  sql.raw(`tx_hash, wallet, contract_address, to_address, amount, signed_at, state, block_height,
  block_hash, succeeded, delivered, network_fee`);

function transactionIn(row: OwnRow): OpenTransaction {
  return {
    txHash: row.tx_hash,
    from: row.wallet,
    contract: row.contract_address,
    to: row.to_address,
    amountBaseUnits: baseUnits(row.amount),
    signedAtSeconds: row.signed_at,
    fate: fateIn(row),
  };
}

function fateIn(row: OwnRow): RecordedFate | undefined {
  const { state, block_height, block_hash, succeeded, delivered, network_fee } = row;
  if (state === null || block_height === null || block_hash === null) return undefined;
  return {
    state,
    blockHeight: block_height,
    blockHash: block_hash,
    succeeded: succeeded === true,
    deliveredBaseUnits: delivered ?? 0n,
    feeBaseUnits: network_fee ?? 0n,
  };
}
