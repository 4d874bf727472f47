import type { Transaction } from '../protobuf/messages.ts';
import { transactionId } from '../protobuf/transaction-json.ts';
import { hex } from '../tron-address.ts';
import { executionOn, type Chain, type PendingTransaction } from './chain.ts';
import { requirePlace } from './check-place.ts';
import { LIMITS } from './parameters.ts';
import { onlyContract, ownerOf, processTransaction } from './process-transaction.ts';
import { isRefusal, refuse, type RefusalCode } from './refusal.ts';
import { requireSignature } from './signature.ts';

export interface BroadcastAnswer {
  readonly code: 'SUCCESS' | RefusalCode;
  readonly txid: string;
  readonly message: string;
}

/** Checks in the order of java-tron's Wallet.broadcastTransaction, then executes on the head and the pool. */
export async function broadcast(chain: Chain, sent: Transaction): Promise<BroadcastAnswer> {
  return chain.turns.take(async () => {
    const { ret: _ret, ...transaction } = sent;
    const txid = transactionId(transaction);
    const id = hex(txid);
    try {
      if (chain.pending.size > LIMITS.pendingTransactions) refuse('SERVER_BUSY', 'Server busy.');
      const expiration = Number(transaction.raw_data.expiration ?? 0n);
      if (expiration < chain.head.timestampMs + LIMITS.slotMs) {
        refuse('TRANSACTION_EXPIRATION_ERROR', 'Transaction expired');
      }
      requireSignature(transaction, txid, ownerOf(onlyContract(transaction)));
      await queue(chain, { id, txid, transaction, sinceMs: chain.now() });
      return { code: 'SUCCESS', txid: id, message: '' };
    } catch (error) {
      if (!isRefusal(error)) throw error;
      return { code: error.code, txid: id, message: error.message };
    }
  });
}

async function queue(chain: Chain, entry: PendingTransaction): Promise<void> {
  requirePlace(chain, entry.transaction, entry.id, undefined);
  const state = chain.pendingState;
  const mark = state.mark();
  try {
    await processTransaction(executionOn(chain, state, undefined), entry.transaction, entry.txid);
  } catch (error) {
    state.revertTo(mark);
    throw error;
  }
  chain.pending.set(entry.id, entry);
}

/** Adds those entries that are still valid, as a node does after each block. The caller holds the turn. */
export async function queueAgain(chain: Chain, entries: Iterable<PendingTransaction>): Promise<void> {
  for (const entry of entries) {
    if (chain.now() - entry.sinceMs > LIMITS.pendingTimeoutMs) continue;
    try {
      await queue(chain, entry);
    } catch (error) {
      if (!isRefusal(error)) throw error;
    }
  }
}
