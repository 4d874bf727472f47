import type { GasSummary, TransactionRecord } from './transaction.ts';

/** A checkpoint is final as soon as it exists. */
export interface Checkpoint {
  readonly number: number;
  readonly digest: string;
  readonly previousDigest: string | undefined;
  readonly timestampMs: number;
  readonly epoch: bigint;
  readonly endOfEpoch: boolean;
  readonly transactions: readonly TransactionRecord[];
  /** Transactions of the chain up to and including this checkpoint. */
  readonly totalTransactions: number;
  readonly epochGas: GasSummary;
  readonly contentDigest: string;
  readonly contentsBytes: Uint8Array;
  readonly summaryBytes: Uint8Array;
}
