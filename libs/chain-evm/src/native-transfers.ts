import type { CandidateTransfer } from '@opentill/chain/transfer';
import { readerError } from '@opentill/chain/reader-error';
import { baseUnits } from '@opentill/domain/money';
import type { EvmHeader, EvmTransaction } from './decode.ts';
import { decodeTransaction } from './decode.ts';

/** Native transfers stand behind all logs of their block: no block has so many. */
const NATIVE_INDEX_BASE = 2 ** 32;

/**
 * The native coin that the transactions of a block carry, of a header that was read with whole transactions. Whether
 * a transaction succeeded is not in it. What contracts send on while they run is in no transaction: a stated limit.
 */
export function nativeTransfersOf(header: EvmHeader): readonly CandidateTransfer[] {
  return header.transactions.flatMap((raw, place) => {
    if (hasNoValue(raw)) return [];
    const transaction = decodeTransaction(raw);
    if (transaction.blockHash !== header.hash || transaction.index !== place) {
      throw readerError('INCONSISTENT_ANSWER', 'a transaction says it stands elsewhere than in its block', {
        txHash: transaction.txHash,
        hash: header.hash,
      });
    }
    return nativeTransferOf(transaction) ?? [];
  });
}

/** What a transaction carries, or undefined when that is nothing, or goes into a contract that it creates. */
export function nativeTransferOf(transaction: EvmTransaction): CandidateTransfer | undefined {
  const { txHash, blockHash, blockHeight, index, from, to, valueWei } = transaction;
  if (to === null || valueWei === 0n) return undefined;
  return {
    txHash,
    blockHash,
    blockHeight,
    indexInBlock: NATIVE_INDEX_BASE + index,
    contract: null,
    from,
    to,
    amountBaseUnits: baseUnits(valueWei),
  };
}

/** Most transactions carry nothing: told without reading the rest of them. */
function hasNoValue(raw: unknown): boolean {
  return typeof raw === 'object' && raw !== null && 'value' in raw && raw.value === '0x0';
}
