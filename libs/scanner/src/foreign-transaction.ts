import type { Address } from '@opentill/chain/address-codec';
import type { TokenContract, TxHash } from '@opentill/chain/transfer';

/** A transaction of a hot wallet, or by which money left it, that the gateway did not sign. */
export interface ForeignTransaction {
  readonly txHash: TxHash;
  readonly wallet: Address;
  readonly blockHeight: number;
  readonly blockHash: string;
  /** Of its block, in whole seconds since 1970. */
  readonly blockTimeSeconds: number;
  /**
   * All that it moved to others than the wallet, whoever gave it: what the wallet gave first, each in the order of the chain. Empty:
   * nothing that is configured.
   */
  readonly moved: readonly ForeignTransfer[];
}

/** What somebody got by a foreign transaction. */
export interface ForeignTransfer {
  readonly contract: TokenContract | null;
  readonly to: Address;
  /** More than nothing. */
  readonly amountBaseUnits: bigint;
}
