import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Chain } from '@opentill/domain/chains';

/**
 * Under which symbol the fees of a chain stand in the ledger: that of its coin, so that they meet what was brought of it. A
 * chain that is not configured (any more) has them under its own name.
 */
export function nativeSymbols(networks: readonly NetworkConfig[]): (chain: Chain) => string {
  const symbols = new Map(networks.map((network) => [network.chain, network.nativeSymbol]));
  return (chain) => symbols.get(chain) ?? chain;
}

/** A native coin that orders can be in. */
export interface PayableCoin {
  readonly chain: Chain;
  readonly symbol: string;
}

/** Native coins that the networks file configures as tokens. */
export function payableCoins(networks: readonly NetworkConfig[]): readonly PayableCoin[] {
  return networks.flatMap(({ chain, tokens }) =>
    tokens.filter(({ contract }) => contract === null).map(({ symbol }) => ({ chain, symbol })),
  );
}
