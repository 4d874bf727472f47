import { sql } from 'kysely';
import type { Address } from '@opentill/chain/address-codec';
import type { BlockHash } from '@opentill/chain/block';
import type { TokenContract, TxHash } from '@opentill/chain/transfer';
import type { Db } from '@opentill/db/database';
import type { Chain } from '@opentill/domain/chains';
import { baseUnits } from '@opentill/domain/money';
import type { OpenTransaction, RecordedFate } from './own-fate.ts';

/** Far more than a wallet may have open; of more the first by nonce, which are mined first. */
const OPEN_MAX = 1_000;

interface OpenRow {
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

/** Whether there may be own transactions of which the last word is not said: a fraction of the time of reading them. */
export async function mayHaveOpenTransactions(db: Db, chain: Chain): Promise<boolean> {
  const { rows } = await sql`
    select from wallet_nonce where chain = ${chain} and state = 'SIGNED'
    union all
    select from own_transaction_fate where chain = ${chain} and state in ('MINED', 'ORPHANED')
    limit 1`.execute(db);
  return rows.length > 0;
}

/**
 * The own transactions of a chain of which the last word is not said: those of nonces that are signed and not used up,
 * or whose fate is not VERIFIED. Of several for one nonce only one can land: once one is VERIFIED the others are dead,
 * but for such as are recorded as MINED, which is to be taken back. With `aboveHeight` also what is VERIFIED in a block
 * above it, and what shares its nonce: a reorganisation opens them again.
 */
export async function readOpenTransactions(
  db: Db,
  chain: Chain,
  aboveHeight: number,
): Promise<readonly OpenTransaction[]> {
  const { rows } = await sql<OpenRow>`
    with nonces as (
      select wallet, nonce from wallet_nonce where chain = ${chain} and state = 'SIGNED'
      union
      select o.wallet, o.nonce from own_transaction_fate f join own_transaction o using (chain, tx_hash)
      where f.chain = ${chain} and f.state in ('MINED', 'ORPHANED')
      union
      select o.wallet, o.nonce from own_transaction_fate f join own_transaction o using (chain, tx_hash)
      where f.chain = ${chain} and f.state <> 'ORPHANED' and f.block_height > ${aboveHeight}
    )
    select o.tx_hash, o.wallet, o.contract_address, o.to_address, o.amount,
      extract(epoch from o.signed_at)::int8 as signed_at,
      f.state, f.block_height, f.block_hash, f.succeeded, f.delivered, f.network_fee
    from nonces n
      join own_transaction o on o.chain = ${chain} and o.wallet = n.wallet and o.nonce = n.nonce
      left join own_transaction_fate f on f.chain = o.chain and f.tx_hash = o.tx_hash
    where case f.state
      when 'VERIFIED' then f.block_height > ${aboveHeight}
      when 'MINED' then true
      else not exists (
          select from own_transaction s join own_transaction_fate v using (chain, tx_hash)
          where s.chain = ${chain} and s.wallet = n.wallet and s.nonce = n.nonce
            and v.state = 'VERIFIED' and v.block_height <= ${aboveHeight})
        and not exists (
          select from wallet_nonce t
          where t.chain = ${chain} and t.wallet = n.wallet and t.nonce = n.nonce and t.state = 'TAKEN')
      end
    order by o.nonce, o.signed_at, o.tx_hash limit ${OPEN_MAX}`.execute(db);
  return rows.map((row) => ({
    txHash: row.tx_hash,
    from: row.wallet,
    contract: row.contract_address,
    to: row.to_address,
    amountBaseUnits: baseUnits(row.amount),
    signedAtSeconds: row.signed_at,
    fate: fateIn(row),
  }));
}

function fateIn(row: OpenRow): RecordedFate | undefined {
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

/** Those of the hashes that are of own transactions. */
export async function readOwnHashes(
  db: Db,
  chain: Chain,
  txHashes: readonly TxHash[],
): Promise<ReadonlySet<TxHash>> {
  const { rows } = await sql<{ tx_hash: TxHash }>`
    select tx_hash from own_transaction
    where chain = ${chain} and tx_hash = any(string_to_array(${txHashes.join(' ')}, ' '))`.execute(db);
  return new Set(rows.map((row) => row.tx_hash));
}
