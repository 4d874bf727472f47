import type { NetworkConfig, TokenConfig } from '@opentill/contracts/network-config';

/** A token payment on a devnet. `to` is unchecked user input. */
export interface TokenPayment {
  readonly network: NetworkConfig;
  readonly rpcUrl: string;
  readonly token: TokenConfig & { readonly contract: string };
  readonly to: string;
  readonly amountBaseUnits: bigint;
}
