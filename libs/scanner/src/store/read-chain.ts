import { sql } from 'kysely';
import type { Address } from '@opentill/chain/address-codec';
import type { BlockHash, BlockHeader } from '@opentill/chain/block';
import type { TokenContract, TransferPosition, TxHash } from '@opentill/chain/transfer';
import { readScannedStatus } from '@opentill/db/chain-status';
import type { Db } from '@opentill/db/database';
import type { Chain, Family } from '@opentill/domain/chains';
import { baseUnits } from '@opentill/domain/money';
import { checkState, type ChainState } from '../chain-state.ts';
import type { LiveTransfer, RescanRequest } from '../scan-change.ts';
import { scanError } from '../scan-error.ts';
import { sortAddresses } from './sort-addresses.ts';

const ADDRESSES_PER_LOOKUP = 20_000;

export function readChain(db: Db) {
  return {
    /** Undefined before the first cursor. Throws STORED_CHAIN_BROKEN. */
    loadState: (chain: Chain) => loadState(db, chain),
    /** Not orphaned; `to` is inclusive. */
    liveTransfers: (chain: Chain, from: number, to?: number) => liveTransfers(db, chain, from, to),
    /** Returns those that are deposit addresses or hot wallets of the family. */
    findRecipients: (family: Family, addresses: readonly Address[]) => findRecipients(db, family, addresses),
    async hotWallets(family: Family): Promise<ReadonlySet<Address>> {
      const { rows } = await sql<{ address: Address }>`
        select address from hot_wallet where family = ${family}`.execute(db);
      return new Set(rows.map(({ address }) => address));
    },
    async isRestored(chain: Chain): Promise<boolean> {
      const { rows } = await sql`
        select from restore_hold where chain = ${chain} and released_at is null limit 1`.execute(db);
      return rows.length > 0;
    },
    async pauseReason(chain: Chain): Promise<string | undefined> {
      const { rows } = await sql<{ reason: string }>`
        select reason from chain_pause where chain = ${chain}`.execute(db);
      return rows[0]?.reason;
    },
    async nextRescan(chain: Chain): Promise<RescanRequest | undefined> {
      const { rows } = await sql<RescanRequest>`
        select request_id::text as "requestId", greatest(coalesce(next_height, from_height), 0) as "fromHeight",
          to_height as "toHeight"
        from rescan_request where chain = ${chain} and done_at is null order by request_id limit 1`.execute(
        db,
      );
      return rows[0];
    },
    /** Orders, payouts, transactions, payments or rescans of the chain are open. */
    async isAwaited(chain: Chain): Promise<boolean> {
      const { rows } = await sql<{ awaited: boolean }>`select is_chain_awaited(${chain}) as awaited`.execute(
        db,
      );
      return rows[0]?.awaited !== false;
    },
    /** Height of the lowest payment above the verified height that is not verified. */
    async lowestUnverified(chain: Chain, verifiedHeight: number): Promise<number | undefined> {
      const { rows } = await sql<{ height: number }>`
        select block_height as height from transfer
        where chain = ${chain} and block_height > ${verifiedHeight} and state = 'DETECTED'
        order by block_height limit 1`.execute(db);
      return rows[0]?.height;
    },
    /**
     * Heights of blocks that must stay stored when the range is verified: of own transactions that wait for it, and those
     * at which the signer read balances (`confirm_balance()`).
     */
    async recordedHeights(chain: Chain, from: number, to: number): Promise<readonly number[]> {
      const { rows } = await sql<{ height: number }>`
        select unnest(balance_heights(${chain}, ${from - 1}, ${to})) as height
        union select block_height from own_transaction_fate
          where chain = ${chain} and block_height between ${from} and ${to} and state <> 'ORPHANED'`.execute(
        db,
      );
      return rows.map(({ height }) => height);
    },
    readStatus: (chain: Chain) => readScannedStatus(db, chain),
  };
}

async function findRecipients(
  db: Db,
  family: Family,
  addresses: readonly Address[],
): Promise<ReadonlySet<Address>> {
  const found = new Set<Address>();
  const sorted = sortAddresses(addresses);
  for (let at = 0; at < sorted.length; at += ADDRESSES_PER_LOOKUP) {
    const asked = sorted.slice(at, at + ADDRESSES_PER_LOOKUP);
    // Sent as one string: the driver takes longer to quote thousands of array elements than the lookup takes. The few
    // hot wallets are compared here, because Postgres would sort the addresses again.
    const { rows } = await sql<{ address: Address; is_hot: boolean }>`
      select address, false as is_hot from deposit_address
      where family = ${family} and address = any((select string_to_array(${asked.join(' ')}, ' '))::text[])
      union all
      select address, true from hot_wallet where family = ${family}`.execute(db);
    for (const { address, is_hot: isHot } of rows) if (!isHot || asked.includes(address)) found.add(address);
  }
  return found;
}

async function loadState(db: Db, chain: Chain): Promise<ChainState | undefined> {
  const { rows } = await sql<{
    head_height: number;
    head_hash: BlockHash;
    head_time: number;
    finalized_height: number | null;
    seen_hash: BlockHash;
    verified_height: number;
    verified_hash: BlockHash;
  }>`
    select head_height, head_hash, extract(epoch from head_time)::int8 as head_time, finalized_height, seen_hash,
      verified_height, verified_hash
    from chain_cursor where chain = ${chain}`.execute(db);
  const cursor = rows[0];
  if (cursor === undefined) return undefined;
  const stored = await sql<{ height: number; hash: BlockHash; parent_hash: BlockHash; block_time: number }>`
    select height, hash, parent_hash, extract(epoch from block_time)::int8 as block_time
    from block where chain = ${chain} order by height`.execute(db);
  const blocks = stored.rows.map((row): BlockHeader => ({
    height: row.height,
    hash: row.hash,
    parentHash: row.parent_hash,
    timeSeconds: row.block_time,
  }));
  const state = checkState({
    head: { height: cursor.head_height, hash: cursor.head_hash, timeSeconds: cursor.head_time },
    finalizedHeight: cursor.finalized_height,
    verifiedHeight: cursor.verified_height,
    blocks,
  });
  const verified = blocks.find((block) => block.height === cursor.verified_height);
  if (blocks.at(-1)?.hash !== cursor.seen_hash || verified?.hash !== cursor.verified_hash) {
    throw scanError('STORED_CHAIN_BROKEN', 'the cursor names blocks that are not stored', { chain });
  }
  return state;
}

async function liveTransfers(
  db: Db,
  chain: Chain,
  from: number,
  to: number | undefined,
): Promise<readonly LiveTransfer[]> {
  const { rows } = await sql<{
    transfer_id: string;
    tx_hash: TxHash;
    position: TransferPosition;
    block_height: number;
    block_hash: BlockHash;
    contract_address: TokenContract | null;
    to_address: Address;
    amount: bigint;
  }>`
    select transfer_id::text, tx_hash, position, block_height, block_hash, contract_address, to_address, amount from transfer
    where chain = ${chain} and block_height >= ${from} and (${to ?? null}::int8 is null or block_height <= ${to ?? null})
      and state <> 'ORPHANED'`.execute(db);
  return rows.map((row) => ({
    transferId: row.transfer_id,
    txHash: row.tx_hash,
    position: row.position,
    blockHeight: row.block_height,
    blockHash: row.block_hash,
    contract: row.contract_address,
    to: row.to_address,
    amountBaseUnits: baseUnits(row.amount),
  }));
}
