import type { Transaction } from '../protobuf/messages.ts';
import { encodeMessage } from '../protobuf/wire.ts';
import { hex } from '../tron-address.ts';
import type { Chain } from './chain.ts';
import { LIMITS } from './parameters.ts';
import { refuse } from './refusal.ts';

/** Checks in the order of java-tron's Manager.processTransaction. `blockTimeMs` is the time of the block. */
export function requirePlace(
  chain: Chain,
  transaction: Transaction,
  id: string,
  blockTimeMs: number | undefined,
): void {
  requireReferenceBlock(chain, transaction);
  if (encodeMessage('Transaction', transaction).length > LIMITS.transactionBytes) {
    refuse('TOO_BIG_TRANSACTION_ERROR', 'Transaction size is too big.');
  }
  const expiration = Number(transaction.raw_data.expiration ?? 0n);
  const headTime = chain.head.timestampMs;
  const isExpired = expiration <= headTime || expiration > headTime + LIMITS.maxExpirationMs;
  if (isExpired || (blockTimeMs !== undefined && expiration < blockTimeMs)) {
    refuse('TRANSACTION_EXPIRATION_ERROR', 'Transaction expired');
  }
  if ((transaction.raw_data.contract?.length ?? 0) !== 1) {
    refuse('OTHER_ERROR', 'Error: act size should be exactly 1, this is extend feature');
  }
  if (chain.transactionPlaces.has(id) || chain.pending.has(id)) {
    refuse('DUP_TRANSACTION_ERROR', 'Dup transaction.');
  }
}

/** TAPOS: the reference is the low two bytes of one of the last 65,536 heights, and eight bytes of that block's id. */
function requireReferenceBlock(chain: Chain, { raw_data: raw }: Transaction): void {
  const low = Buffer.from(raw.ref_block_bytes ?? new Uint8Array());
  const fail = (): never => refuse('TAPOS_ERROR', 'Tapos check error.');
  if (low.length !== 2) return fail();
  const headLow = chain.head.number % LIMITS.taposBlocks;
  const back = (headLow - low.readUInt16BE() + LIMITS.taposBlocks) % LIMITS.taposBlocks;
  const block = chain.blocks.get(chain.head.number - back);
  if (block?.id.slice(16, 32) !== hex(raw.ref_block_hash ?? new Uint8Array())) fail();
}
