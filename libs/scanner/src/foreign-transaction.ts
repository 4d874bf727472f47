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
  /** What it moved out of the wallet, the first of it; undefined: nothing that is configured. */
  readonly moved:
    | { readonly contract: TokenContract | null; readonly to: Address; readonly amountBaseUnits: bigint }
    | undefined;
}
