import { sql } from 'kysely';
import type { BlockHash, BlockHeader } from '@opentill/chain/block';
import type { Address } from '@opentill/chain/address-codec';
import type { TokenContract, TransferPosition, TxHash } from '@opentill/chain/transfer';
import { readScannedStatus, writeChainStatus } from '@opentill/db/chain-status';
import type { Db } from '@opentill/db/database';
import { assertLease, type Lease } from '@opentill/db/lease';
import { appendToOutbox } from '@opentill/db/outbox';
import type { ServiceSchema } from '@opentill/db/service-schema';
import type { ChainStatus } from '@opentill/domain/chain-status';
import type { Chain, Family } from '@opentill/domain/chains';
import { baseUnits } from '@opentill/domain/money';
import type { Clock } from '@opentill/runtime/clock';
import type { NewId } from '@opentill/runtime/ids';
import { checkState, takeStep, type ChainState } from '../chain-state.ts';
import { scanError } from '../scan-error.ts';
import type { OpenTransaction } from '../judge-fates.ts';
import {
  mayHaveOpenTransactions,
  readOpenAttemptHashes,
  readOpenTransactions,
  readOwnHashes,
  readTakenTransactions,
  type TakenPage,
} from './read-own.ts';
import { eventsOf } from '../scan-events.ts';
import { sortAddresses } from './sort-addresses.ts';
import type { LiveTransfer, RescanRequest, ScanChange, Written } from '../scan-change.ts';
import type { ScanNetwork } from '../scan-network.ts';
import {
  answerRescan,
  insertCursor,
  markOrphaned,
  moveCursor,
  recordTransfers,
  upsertBlocks,
} from './write-chain.ts';
import { recordFates } from './write-fates.ts';
import { recordEpochEnds, recordForeign, recordLanded } from './write-findings.ts';
import { createCommitteeStore, type CommitteeStore } from './committee-store.ts';

/** What a scanner reads and writes in Postgres. Every write asserts the lease first: a stale holder writes nothing. */
export interface ScanStore {
  /** Where the chain stands, or undefined before its first cursor. Throws STORED_CHAIN_BROKEN. */
  loadState(chain: Chain): Promise<ChainState | undefined>;
  /** Commits the first cursor: from then on the chain takes orders. */
  insertFirstState(lease: Lease, network: ScanNetwork, state: ChainState): Promise<void>;
  /** Commits a change whole, events included, and gives the state after it. Throws LEASE_LOST, CURSOR_MOVED. */
  commit(
    lease: Lease,
    network: ScanNetwork,
    before: ChainState,
    change: ScanChange,
  ): Promise<{ readonly state: ChainState; readonly written: Written }>;
  /** Those of the addresses that are ours: given out as deposit addresses of the family, or its hot wallets. */
  findRecipients(family: Family, addresses: readonly Address[]): Promise<ReadonlySet<Address>>;
  /** The hot wallets of the family. */
  hotWallets(family: Family): Promise<ReadonlySet<Address>>;
  /** Whether a restore holds wallets of the chain. */
  isRestored(chain: Chain): Promise<boolean>;
  /** Those of the hashes that are of transactions which the gateway signed. */
  findOwn(chain: Chain, txHashes: readonly TxHash[]): Promise<ReadonlySet<TxHash>>;
  /** Hashes of attempts that may land yet, where time or epochs end them. */
  openAttempts(chain: Chain): Promise<ReadonlySet<TxHash>>;
  /** Whether there may be any of them. Cheap: it is asked with every commit of a gateway that pays nothing. */
  mayHaveOpenTransactions(chain: Chain): Promise<boolean>;
  /** Own transactions of which the last word is not said, and with them what was VERIFIED above this height. */
  openTransactions(chain: Chain, aboveHeight: number): Promise<readonly OpenTransaction[]>;
  /** A page of own transactions of nonces that another's transaction used. */
  takenTransactions(chain: Chain, page: TakenPage): Promise<readonly OpenTransaction[]>;
  /** Recorded transfers in blocks of these heights that are not orphaned; without `to` up to the highest. */
  liveTransfers(chain: Chain, from: number, to?: number): Promise<readonly LiveTransfer[]>;
  /** Why an operator has paused the chain; undefined when none has. */
  pauseReason(chain: Chain): Promise<string | undefined>;
  /** The state of the chain that a scanner reported last; undefined before the first report. */
  readStatus(chain: Chain): Promise<ChainStatus | undefined>;
  /** Reports the state of the chain. Throws LEASE_LOST. */
  writeStatus(lease: Lease, chain: Chain, status: ChainStatus): Promise<void>;
  /** The oldest rescan that is asked for and not done. */
  nextRescan(chain: Chain): Promise<RescanRequest | undefined>;
  readonly committees: CommitteeStore;
}

export interface ScanStoreDeps {
  readonly db: Db;
  readonly schema: ServiceSchema;
  readonly clock: Clock;
  readonly newId: NewId;
}

/** Most addresses looked up by one statement. */
const ADDRESSES_PER_LOOKUP = 20_000;

/** The SQL of a scanner; the statements that write stand in write-chain.ts. */
export function createScanStore(deps: ScanStoreDeps): ScanStore {
  const { db, schema } = deps;
  return {
    loadState: (chain) => loadState(db, chain),

    insertFirstState: (lease, network, state) =>
      db.transaction().execute(async (tx) => {
        await assertLease(tx, schema, lease);
        await upsertBlocks(tx, network.chain, state.blocks);
        await insertCursor(tx, network, state, lease.fencingToken);
      }),

    async commit(lease, network, before, change) {
      const state = takeStep(before, change.step, network.reorgWindow);
      const written = await db.transaction().execute(async (tx) => {
        await assertLease(tx, schema, lease);
        await moveCursor(tx, network.chain, before, {
          state,
          newBlocks: [
            ...(change.step.corrected ?? []),
            ...state.blocks.filter((block) => block.height > change.step.ancestorHeight),
          ],
          token: lease.fencingToken,
          isProven: change.proof !== undefined,
        });
        const transfers = {
          ...(await recordTransfers(tx, network, change.matched, change.matchedState)),
          orphanedIds: await markOrphaned(tx, network.chain, change.orphaned),
          changedFates: await recordFates(tx, network, change.fates ?? []),
        };
        await recordForeign(tx, network.chain, change.foreign ?? []);
        await recordLanded(tx, network.chain, change.landed ?? []);
        await recordEpochEnds(tx, network.chain, change.proof?.epochEnds ?? []);
        await appendToOutbox(tx, schema, eventsOf(network, before, state, transfers, deps));
        if (change.rescan !== undefined) await answerRescan(tx, change.rescan, transfers.verifiedIds.length);
        return transfers;
      });
      return { state, written };
    },

    async findRecipients(family, addresses) {
      const found = new Set<Address>();
      const sorted = sortAddresses(addresses);
      for (let at = 0; at < sorted.length; at += ADDRESSES_PER_LOOKUP) {
        const asked = sorted.slice(at, at + ADDRESSES_PER_LOOKUP);
        // As one string: the driver takes longer to quote thousands of array elements than the look-up itself. The hot
        // wallets, of which there are a few, are compared here: Postgres would sort all that are asked for once more.
        const { rows } = await sql<{ address: Address; is_hot: boolean }>`
          select address, false as is_hot from deposit_address
          where family = ${family} and address = any((select string_to_array(${asked.join(' ')}, ' '))::text[])
          union all
          select address, true from hot_wallet where family = ${family}`.execute(db);
        for (const { address, is_hot: isHot } of rows)
          if (!isHot || asked.includes(address)) found.add(address);
      }
      return found;
    },

    hotWallets: (family) => readHotWallets(db, family),

    isRestored: (chain) => readIsRestored(db, chain),

    findOwn: (chain, txHashes) => readOwnHashes(db, chain, txHashes),

    openAttempts: (chain) => readOpenAttemptHashes(db, chain),

    mayHaveOpenTransactions: (chain) => mayHaveOpenTransactions(db, chain),

    openTransactions: (chain, aboveHeight) => readOpenTransactions(db, chain, aboveHeight),

    takenTransactions: (chain, page) => readTakenTransactions(db, chain, page),

    liveTransfers: (chain, from, to) => liveTransfers(db, chain, from, to),

    pauseReason: (chain) => readPauseReason(db, chain),

    nextRescan: (chain) => readNextRescan(db, chain),

    committees: createCommitteeStore(deps),
    readStatus: (chain) => readScannedStatus(db, chain),

    writeStatus: (lease, chain, status) => writeStatus(deps, lease, chain, status),
  };
}

function writeStatus(
  { db, schema }: ScanStoreDeps,
  lease: Lease,
  chain: Chain,
  status: ChainStatus,
): Promise<void> {
  return db.transaction().execute(async (tx) => {
    await assertLease(tx, schema, lease);
    await writeChainStatus(tx, 'SCANNER', chain, status);
  });
}

async function readIsRestored(db: Db, chain: Chain): Promise<boolean> {
  const { rows } = await sql<{ held: boolean }>`
    select exists (select from restore_hold where chain = ${chain} and released_at is null) as held`.execute(
    db,
  );
  return rows[0]?.held === true;
}

async function readNextRescan(db: Db, chain: Chain): Promise<RescanRequest | undefined> {
  const { rows } = await sql<{ request_id: string; from_height: number; to_height: number }>`
    select request_id::text, greatest(coalesce(next_height, from_height), 0) as from_height, to_height from rescan_request
    where chain = ${chain} and done_at is null order by request_id limit 1`.execute(db);
  const row = rows[0];
  return row && { requestId: row.request_id, fromHeight: row.from_height, toHeight: row.to_height };
}

async function readHotWallets(db: Db, family: Family): Promise<ReadonlySet<Address>> {
  const { rows } = await sql<{ address: Address }>`
    select address from hot_wallet where family = ${family}`.execute(db);
  return new Set(rows.map(({ address }) => address));
}

interface CursorRow {
  readonly head_height: number;
  readonly head_hash: BlockHash;
  readonly head_time: number;
  readonly finalized_height: number | null;
  readonly seen_hash: BlockHash;
  readonly verified_height: number;
  readonly verified_hash: BlockHash;
}

async function loadState(db: Db, chain: Chain): Promise<ChainState | undefined> {
  const { rows } = await sql<CursorRow>`
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
    throw scanError('STORED_CHAIN_BROKEN', 'the cursor names other blocks than are stored', { chain });
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
    block_hash: BlockHash;
    contract_address: TokenContract | null;
    to_address: Address;
    amount: bigint;
  }>`
    select transfer_id::text, tx_hash, position, block_hash, contract_address, to_address, amount from transfer
    where chain = ${chain} and block_height >= ${from} and (${to ?? null}::int8 is null or block_height <= ${to ?? null})
      and state <> 'ORPHANED'`.execute(db);
  return rows.map((row) => ({
    transferId: row.transfer_id,
    txHash: row.tx_hash,
    position: row.position,
    blockHash: row.block_hash,
    contract: row.contract_address,
    to: row.to_address,
    amountBaseUnits: baseUnits(row.amount),
  }));
}

async function readPauseReason(db: Db, chain: Chain): Promise<string | undefined> {
  const { rows } = await sql<{ reason: string }>`
    select reason from chain_pause where chain = ${chain}`.execute(db);
  return rows[0]?.reason;
}
