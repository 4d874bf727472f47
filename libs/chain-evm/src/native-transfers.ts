import type { CandidateTransfer } from '@opentill/chain/transfer';
import { readerError } from '@opentill/chain/reader-error';
import { baseUnits } from '@opentill/domain/money';
import type { EvmHeader, EvmTransaction } from './decode.ts';
import { decodeTransaction } from './decode.ts';

/** Native transfers follow all logs of their block; no block has this many logs. */
const NATIVE_INDEX_BASE = 2 ** 32;

/** The header must include whole transactions. Includes failed ones. Excludes coin that contracts send. */
export function nativeTransfersOf(header: EvmHeader): readonly CandidateTransfer[] {
  return header.transactions.flatMap((raw, place) => {
    if (hasNoValue(raw)) return [];
    const transaction = decodeTransaction(raw);
    if (transaction.blockHash !== header.hash || transaction.index !== place) {
      throw readerError('INCONSISTENT_ANSWER', 'a transaction names another position or block than its own', {
        txHash: transaction.txHash,
        hash: header.hash,
      });
    }
    return nativeTransferOf(transaction) ?? [];
  });
}

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

function hasNoValue(raw: unknown): boolean {
  return typeof raw === 'object' && raw !== null && 'value' in raw && raw.value === '0x0';
}
