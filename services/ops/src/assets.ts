import { findToken, type NetworkConfig, type TokenConfig } from '@opentill/contracts/network-config';
import { isChain, type Chain } from '@opentill/domain/chains';
import { formatAmount } from '@opentill/domain/money';
import { opsError } from './ops-error.ts';

export interface Assets {
  readonly networks: readonly NetworkConfig[];
  /** @throws GatewayError UNPROCESSABLE */
  requireNetwork(chain: Chain): NetworkConfig;
  /** @throws GatewayError UNPROCESSABLE */
  requireToken(chain: Chain, symbol: string): TokenConfig;
  /** Signed, in display units; null if the token is not configured. */
  display(chain: string, symbol: string, baseUnits: bigint): string | null;
}

export function createAssets(networks: readonly NetworkConfig[]): Assets {
  const byChain = new Map<Chain, NetworkConfig>(networks.map((network) => [network.chain, network]));
  const requireNetwork = (chain: Chain): NetworkConfig => {
    const network = byChain.get(chain);
    if (network === undefined) throw opsError('UNPROCESSABLE', `${chain} is not in the network file.`);
    return network;
  };
  return {
    networks,
    requireNetwork,
    requireToken(chain, symbol) {
      const token = findToken(requireNetwork(chain), symbol);
      if (token === undefined) throw opsError('UNPROCESSABLE', `${symbol} is not configured on ${chain}.`);
      return token;
    },
    display(chain, symbol, baseUnits) {
      const network = isChain(chain) ? byChain.get(chain) : undefined;
      const token = network && (findToken(network, symbol) ?? nativeOf(network, symbol));
      return token === undefined ? null : signed(baseUnits, token.decimals, token.displayDecimals);
    },
  };
}

function nativeOf(
  network: NetworkConfig,
  symbol: string,
): Pick<TokenConfig, 'decimals' | 'displayDecimals'> | undefined {
  return symbol === network.nativeSymbol
    ? { decimals: network.nativeDecimals, displayDecimals: 0 }
    : undefined;
}

function signed(baseUnits: bigint, decimals: number, displayDecimals: number): string {
  if (baseUnits >= 0n) return formatAmount(baseUnits, decimals, displayDecimals);
  return `-${formatAmount(-baseUnits, decimals, displayDecimals)}`;
}
