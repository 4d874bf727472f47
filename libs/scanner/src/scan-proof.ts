import { sql } from 'kysely';
import type { BlockHeader } from '@opentill/chain/block';
import type { EpochEnd, RangeProof } from '@opentill/chain/epoch-committee';
import type { Tx } from '@opentill/db/database';
import type { Chain } from '@opentill/domain/chains';
import { verifiedBlock, type ChainState } from './chain-state.ts';

/**
 * The proof of what the verified cursor passes. Undefined unless every part of it is proven, and each block names the one before it,
 * the first one the block at which the cursor was.
 */
export function proofOf(
  before: ChainState,
  headers: readonly BlockHeader[],
  parts: readonly (RangeProof | undefined)[],
): RangeProof | undefined {
  let below = verifiedBlock(before).hash;
  for (const { hash, parentHash } of headers) {
    if (parentHash !== below) return undefined;
    below = hash;
  }
  const proofs = parts.filter((part) => part !== undefined);
  if (proofs.length < parts.length || proofs.length === 0) return undefined;
  return { epochEnds: proofs.flatMap(({ epochEnds }) => epochEnds) };
}

/** Writes down which epochs ended in what was proven; call it when the cursor has moved. */
export async function recordEpochEnds(tx: Tx, chain: Chain, ends: readonly EpochEnd[]): Promise<void> {
  if (ends.length === 0) return;
  await sql`
    insert into epoch_end (chain, epoch, after_height, height, hash)
    select c.chain, e.epoch, c.proven_after_height, e.height, e.hash
    from jsonb_to_recordset(${JSON.stringify(ends)}::jsonb) as e (epoch int8, height int8, hash text)
      join chain_cursor c on c.chain = ${chain} and c.proven_after_height < e.height
    on conflict do nothing`.execute(tx);
}
