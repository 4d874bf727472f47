import { createState } from '../state/state.ts';
import { queueAgain } from './broadcast.ts';
import { sealBlock, type Block, type ExecutedTransaction } from './block.ts';
import { executionOn, producerOf, type Chain, type PendingTransaction } from './chain.ts';
import { requirePlace } from './check-place.ts';
import { LIMITS } from './parameters.ts';
import { processTransaction } from './process-transaction.ts';
import { isRefusal } from './refusal.ts';

/** Executes transactions again and silently drops invalid ones, like java-tron. The caller holds the turn. */
export async function mineBlock(chain: Chain, timestampMs: number): Promise<Block> {
  const waiting = [...chain.pending.values()];
  resetPool(chain);
  const number = chain.head.number + 1;
  const state = createState(chain.committed);
  const execution = executionOn(chain, state, { number, timestampMs });
  const executed: ExecutedTransaction[] = [];
  const left: PendingTransaction[] = [];
  let bytes = 0;
  for (const entry of waiting) {
    bytes += Number(entry.transaction.raw_data.data?.length ?? 0) + TYPICAL_TRANSACTION_BYTES;
    if (bytes > LIMITS.blockBytes) {
      left.push(entry);
      continue;
    }
    const mark = state.mark();
    try {
      requirePlace(chain, entry.transaction, entry.id, timestampMs);
      const { contractRet, info } = await processTransaction(execution, entry.transaction, entry.txid);
      const transaction = { ...entry.transaction, ret: [{ contractRet }] };
      executed.push({ id: entry.id, transaction, info });
    } catch (error) {
      state.revertTo(mark);
      if (!isRefusal(error)) throw error;
    }
  }
  const producer = producerOf(chain, number);
  const sealed = sealBlock({ number, parentId: chain.head.id, timestampMs, producer, executed });
  const block: Block = { ...sealed, undo: chain.committed.commit(state.changes) };
  append(chain, block);
  resetPool(chain);
  await queueAgain(chain, left);
  return block;
}

/** Keeps a block near its size limit; exact sizes do not matter here. */
const TYPICAL_TRANSACTION_BYTES = 500;

export function resetPool(chain: Chain): void {
  chain.pending = new Map();
  chain.pendingState = createState(chain.committed);
}

function append(chain: Chain, block: Block): void {
  chain.blocks.set(block.number, block);
  chain.numbersById.set(block.id, block.number);
  block.transactions.forEach(({ id }, index) =>
    chain.transactionPlaces.set(id, { block: block.number, index }),
  );
  chain.head = block;
  if (chain.genesisTimeMs === 0) chain.genesisTimeMs = block.timestampMs;
  const solid = Math.max(chain.solidNumber, block.number - chain.solidLagBlocks);
  // Solidified blocks are never undone.
  for (let number = chain.solidNumber; number <= solid; number++) {
    const solidified = chain.blocks.get(number);
    if (solidified) solidified.undo = undefined;
  }
  chain.solidNumber = solid;
  forget(chain, block.number - chain.keepBlocks);
}

function forget(chain: Chain, number: number): void {
  const old = number > 0 && number < chain.solidNumber ? chain.blocks.get(number) : undefined;
  if (old === undefined) return;
  chain.blocks.delete(number);
  chain.numbersById.delete(old.id);
  for (const { id } of old.transactions) chain.transactionPlaces.delete(id);
}
