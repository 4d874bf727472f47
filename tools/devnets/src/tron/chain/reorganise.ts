import type { Transaction } from '../protobuf/messages.ts';
import { decodeMessage } from '../protobuf/wire.ts';
import { hex } from '../tron-address.ts';
import { transactionId } from '../protobuf/transaction-json.ts';
import { queueAgain } from './broadcast.ts';
import type { Chain, PendingTransaction } from './chain.ts';
import { resetPool } from './mine-block.ts';

/** Returns transactions to the front of the pool, unless `drop`. Throws below the solidified block. Needs the turn. */
export async function popBlocks(chain: Chain, depth: number, drop: boolean): Promise<void> {
  const lowest = chain.head.number - depth;
  if (!(depth > 0) || lowest < chain.solidNumber) {
    throw new Error(
      `only the ${chain.head.number - chain.solidNumber} blocks above the solidified one can be removed`,
    );
  }
  const waiting = [...chain.pending.values()];
  const popped: PendingTransaction[] = [];
  while (chain.head.number > lowest) {
    const { head } = chain;
    const parent = chain.blocks.get(head.number - 1);
    if (head.undo === undefined || parent === undefined)
      throw new Error(`block ${head.number} cannot be undone`);
    chain.committed.undo(head.undo);
    chain.blocks.delete(head.number);
    chain.numbersById.delete(head.id);
    for (const { id } of head.transactions) chain.transactionPlaces.delete(id);
    popped.unshift(...head.transactions.map(({ transaction }) => waitingAgain(transaction, chain.now())));
    chain.head = parent;
  }
  chain.reorganisations += 1;
  resetPool(chain);
  await queueAgain(chain, drop ? waiting : [...popped, ...waiting]);
}

function waitingAgain(bytes: Uint8Array, nowMs: number): PendingTransaction {
  const { ret: _ret, ...transaction } = decodeMessage<Transaction>('Transaction', bytes);
  const txid = transactionId(transaction);
  return { id: hex(txid), txid, transaction, sinceMs: nowMs };
}
