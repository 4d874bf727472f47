import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Chain } from '@opentill/domain/chains';

/** Fees and top-ups share the account of the native coin. An unconfigured chain uses its own name. */
export function nativeSymbols(networks: readonly NetworkConfig[]): (chain: Chain) => string {
  const symbols = new Map(networks.map((network) => [network.chain, network.nativeSymbol]));
  return (chain) => symbols.get(chain) ?? chain;
}

/** Orders may use this native coin. */
export interface PayableCoin {
  readonly chain: Chain;
  readonly symbol: string;
}

export function payableCoins(networks: readonly NetworkConfig[]): readonly PayableCoin[] {
  return networks.flatMap(({ chain, tokens }) =>
    tokens.filter(({ contract }) => contract === null).map(({ symbol }) => ({ chain, symbol })),
  );
}
