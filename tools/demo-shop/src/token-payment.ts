import type { NetworkConfig, TokenConfig } from '@opentill/contracts/network-config';

/** A payment of a token of the devnet, in base units; `to` as it was typed. */
export interface TokenPayment {
  readonly network: NetworkConfig;
  readonly rpcUrl: string;
  readonly token: TokenConfig & { readonly contract: string };
  readonly to: string;
  readonly amountBaseUnits: bigint;
}
