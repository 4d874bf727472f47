import type { TxHash } from '@opentill/chain/transfer';

/** A transaction of the gateway's own that a verified block holds, whatever it made of it. */
export interface LandedTransaction {
  readonly txHash: TxHash;
  readonly blockHeight: number;
  readonly blockHash: string;
}
