import type { GasSummary, TransactionRecord } from './transaction.ts';

/** A checkpoint: final as soon as it is there. */
export interface Checkpoint {
  readonly number: number;
  /** Base58. */
  readonly digest: string;
  readonly previousDigest: string | undefined;
  readonly timestampMs: number;
  readonly epoch: bigint;
  readonly endOfEpoch: boolean;
  readonly transactions: readonly TransactionRecord[];
  /** Of the chain, this one's included. */
  readonly totalTransactions: number;
  /** Of the epoch so far. */
  readonly epochGas: GasSummary;
  readonly contentDigest: string;
  readonly contentsBytes: Uint8Array;
  readonly summaryBytes: Uint8Array;
}
