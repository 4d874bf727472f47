import type { BlockHeader } from '@opentill/chain/block';
import type { CandidateTransfer, TxHash } from '@opentill/chain/transfer';
import type { TronInfo } from '../decode-info.ts';
import type { TronSource } from '../tron-sources.ts';

/**
 * Receipts that each source returned in the seen pass, so that it need not return them again: another source must
 * return the same now. Only of transfers whose block was read by its logs.
 */
export interface SeenReceipts {
  note(source: TronSource, evidences: ReadonlyMap<TxHash, { readonly info: TronInfo }>): void;
  /** Returned receipts before. */
  has(source: TronSource): boolean;
  /** Undefined unless the receipt is of this block. */
  of(source: TronSource, candidate: CandidateTransfer, header: BlockHeader | undefined): TronInfo | undefined;
  /** Two sources differ, so each is asked again. */
  clear(): void;
}

const KEPT = 4_096;

export function createSeenReceipts(): SeenReceipts {
  const kept = new Map<TronSource, Map<TxHash, TronInfo>>();
  return {
    note(source, evidences) {
      const own = kept.get(source) ?? new Map<TxHash, TronInfo>();
      kept.set(source, own);
      for (const [txHash, { info }] of evidences) own.set(txHash, info);
      for (const txHash of own.keys()) if (own.size > KEPT) own.delete(txHash);
    },
    has: (source) => kept.has(source),
    of(source, { txHash, blockHeight }, header) {
      const info = kept.get(source)?.get(txHash);
      const isOfBlock =
        info?.height === blockHeight && Math.floor(info.blockTimeMs / 1_000) === header?.timeSeconds;
      return isOfBlock ? info : undefined;
    },
    clear: () => kept.clear(),
  };
}
