import { sql, type RawBuilder } from 'kysely';
import type { BlockHeader } from '@opentill/chain/block';
import type { Tx } from '@opentill/db/database';
import type { Chain } from '@opentill/domain/chains';
import { seenBlock, verifiedBlock, type ChainState } from '../chain-state.ts';
import { scanError } from '../scan-error.ts';
import type { LiveTransfer, MatchedTransfer, RescanProgress, ScanChange, Written } from '../scan-change.ts';
import type { ScanNetwork } from '../scan-network.ts';

function blockRows(blocks: readonly BlockHeader[]): RawBuilder<unknown> {
  return sql`unnest(${blocks.map((b) => b.height)}::int8[], ${blocks.map((b) => b.hash)}::text[],
    ${blocks.map((b) => b.parentHash)}::text[], ${blocks.map((b) => b.timeSeconds)}::int8[])
    as b (height, hash, parent_hash, block_time)`;
}

export async function upsertBlocks(tx: Tx, chain: Chain, blocks: readonly BlockHeader[]): Promise<void> {
  await sql`
    insert into block (chain, height, hash, parent_hash, block_time)
    select ${chain}, b.height, b.hash, b.parent_hash, to_timestamp(b.block_time) from ${blockRows(blocks)}
    on conflict (chain, height) do update
      set hash = excluded.hash, parent_hash = excluded.parent_hash, block_time = excluded.block_time`.execute(
    tx,
  );
}

export async function insertCursor(
  tx: Tx,
  { chain, family }: ScanNetwork,
  state: ChainState,
  fencingToken: number,
): Promise<void> {
  const seen = seenBlock(state);
  const verified = verifiedBlock(state);
  await sql`
    insert into chain_cursor (chain, family, head_height, head_hash, head_time, finalized_height, seen_height, seen_hash,
      verified_height, verified_hash, verified_time, verified_epoch, fencing_token)
    values (${chain}, ${family}, ${state.head.height}, ${state.head.hash}, to_timestamp(${state.head.timeSeconds}),
      ${state.finalizedHeight}, ${seen.height}, ${seen.hash}, ${verified.height}, ${verified.hash},
      to_timestamp(${verified.timeSeconds}), ${verified.epoch ?? null}, ${fencingToken})
    on conflict (chain) do nothing`.execute(tx);
}

/**
 * Deletes blocks that left the chain or the window. The epoch of blocks loaded after a restart is unknown; the stored
 * one stays valid, because only chains without reorganisations have epochs. Throws CURSOR_MOVED if the row differs from
 * `before`.
 */
export async function moveCursor(
  tx: Tx,
  chain: Chain,
  before: ChainState,
  to: {
    readonly state: ChainState;
    readonly newBlocks: readonly BlockHeader[];
    readonly ancestorHeight: number;
    readonly dropped: readonly number[];
    readonly token: number;
    readonly isProven: boolean;
  },
): Promise<void> {
  const { head, finalizedHeight, blocks } = to.state;
  const seen = seenBlock(to.state);
  const verified = verifiedBlock(to.state);
  const { verifiedHeight: from } = before;
  const hasMoved = verified.height !== from;
  const { rows } = await sql`
    with stored as (
      insert into block (chain, height, hash, parent_hash, block_time)
      select ${chain}, b.height, b.hash, b.parent_hash, to_timestamp(b.block_time) from ${blockRows(to.newBlocks)}
      on conflict (chain, height) do update
        set hash = excluded.hash, parent_hash = excluded.parent_hash, block_time = excluded.block_time
    ), dropped as (
      delete from block where chain = ${chain} and (height < ${blocks[0]?.height ?? 0}
        or (height > ${to.ancestorHeight} or height = any(${to.dropped}::int8[]))
          and height <> all(${to.newBlocks.map(({ height }) => height)}::int8[]))
    )
    update chain_cursor set head_height = ${head.height}, head_hash = ${head.hash},
      head_time = to_timestamp(${head.timeSeconds}), finalized_height = ${finalizedHeight},
      seen_height = ${seen.height}, seen_hash = ${seen.hash}, verified_height = ${verified.height},
      verified_hash = ${verified.hash}, verified_time = to_timestamp(${verified.timeSeconds}),
      verified_epoch = coalesce(${verified.epoch ?? null}::int8, verified_epoch),
      proven_after_height = case when not ${hasMoved}::boolean then proven_after_height when ${to.isProven}::boolean
        then case when proven_height = ${from} then proven_after_height else ${from} end end,
      proven_height = case when not ${hasMoved}::boolean then proven_height when ${to.isProven}::boolean then ${verified.height}::int8 end,
      fencing_token = ${to.token}, updated_at = now()
    where chain = ${chain} and seen_hash = ${seenBlock(before).hash} and verified_hash = ${verifiedBlock(before).hash}
      and fencing_token <= ${to.token}
    returning chain`.execute(tx);
  if (rows.length === 0)
    throw scanError(
      'CURSOR_MOVED',
      "the stored cursor differs from this replica's; the state is loaded again",
      { chain },
    );
}

/**
 * A known transfer changes only if its block, contents or state differ; then its version grows. One source moves no
 * transfer that two verified at or below `verifiedHeight`. The time of its first block stays, except that a corrected
 * time of the same block replaces it. Returns the ids of new and changed rows.
 */
export async function recordTransfers(
  tx: Tx,
  { chain, family }: ScanNetwork,
  transfers: readonly MatchedTransfer[],
  state: ScanChange['matchedState'],
  verifiedHeight: number,
): Promise<Pick<Written, 'detectedIds' | 'verifiedIds'>> {
  if (transfers.length === 0) return { detectedIds: [], verifiedIds: [] };
  const rows = transfers.map((transfer, place) => ({
    place,
    tx_hash: transfer.txHash,
    position: transfer.position,
    contract_address: transfer.contract,
    symbol: transfer.symbol,
    from_address: transfer.from,
    to_address: transfer.to,
    amount: transfer.amountBaseUnits.toString(),
    network_fee: transfer.feeBaseUnits.toString(),
    block_height: transfer.blockHeight,
    block_hash: transfer.blockHash,
    block_time: transfer.blockTimeSeconds,
  }));
  const written = await sql<{ transfer_id: string; state: ScanChange['matchedState'] }>`
    insert into transfer as t (chain, family, tx_hash, position, contract_address, symbol, from_address, to_address, amount,
      network_fee, block_height, block_hash, block_time, first_block_time, state, verified_at)
    select ${chain}, ${family}, f.tx_hash, f.position, f.contract_address, f.symbol, f.from_address, f.to_address, f.amount,
      f.network_fee, f.block_height, f.block_hash, to_timestamp(f.block_time), to_timestamp(f.block_time), ${state}::text,
      case when ${state}::text = 'VERIFIED' then now() end
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as f (place int, tx_hash text, position text,
      contract_address text, symbol text, from_address text, to_address text, amount numeric, network_fee numeric,
      block_height int8, block_hash text, block_time int8)
    order by f.place
    on conflict (chain, tx_hash, position) do update
      set contract_address = excluded.contract_address, symbol = excluded.symbol, from_address = excluded.from_address,
        to_address = excluded.to_address, amount = excluded.amount, network_fee = excluded.network_fee,
        block_height = excluded.block_height, block_hash = excluded.block_hash, block_time = excluded.block_time,
        first_block_time = case when t.block_hash = excluded.block_hash and t.first_block_time = t.block_time
          then excluded.block_time else least(t.first_block_time, excluded.first_block_time) end,
        state = excluded.state, verified_at = excluded.verified_at, version = t.version + 1, updated_at = now()
      where not (t.state = 'VERIFIED' and excluded.state = 'DETECTED' and t.block_height <= ${verifiedHeight})
        and ((t.block_hash, t.contract_address, t.from_address, t.to_address, t.amount)
          is distinct from (excluded.block_hash, excluded.contract_address, excluded.from_address, excluded.to_address,
            excluded.amount)
        or t.state = 'ORPHANED' or t.state = 'DETECTED' and excluded.state = 'VERIFIED')
    returning transfer_id::text, state`.execute(tx);
  const idsOf = (wanted: ScanChange['matchedState']): readonly string[] =>
    written.rows.flatMap((row) => (row.state === wanted ? row.transfer_id : []));
  return { detectedIds: idsOf('DETECTED'), verifiedIds: idsOf('VERIFIED') };
}

/**
 * Orphaned transfers are never deleted. A row that has moved to another block since it was read stays: an earlier commit
 * of the same catching up may have verified it there. The height decides as well as the hash: one source may show the
 * hash of one block at the height of another. Returns the ids that were live.
 */
export async function markOrphaned(
  tx: Tx,
  chain: Chain,
  orphaned: readonly LiveTransfer[],
): Promise<readonly string[]> {
  if (orphaned.length === 0) return [];
  const { rows } = await sql<{ transfer_id: string }>`
    update transfer t set state = 'ORPHANED', verified_at = null, version = version + 1, updated_at = now()
    from unnest(${orphaned.map(({ transferId }) => transferId)}::int8[],
      ${orphaned.map(({ blockHeight }) => blockHeight)}::int8[],
      ${orphaned.map(({ blockHash }) => blockHash)}::text[]) as o (transfer_id, block_height, block_hash)
    where t.chain = ${chain} and t.transfer_id = o.transfer_id
      and t.block_height = o.block_height and t.block_hash = o.block_hash and t.state <> 'ORPHANED'
    returning t.transfer_id::text`.execute(tx);
  return rows.map((row) => row.transfer_id);
}

export async function answerRescan(
  tx: Tx,
  { requestId, nextHeight, isDone }: RescanProgress,
  found: number,
): Promise<void> {
  await sql`
    update rescan_request set found = coalesce(found, 0) + ${found}, next_height = ${nextHeight},
      done_at = case when ${isDone} then now() end
    where request_id = ${requestId} and done_at is null`.execute(tx);
}
