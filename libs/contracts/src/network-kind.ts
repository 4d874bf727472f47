import { isTestNetwork, type NetworkKind } from '@opentill/domain/chains';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { NetworkConfig } from './network-config.ts';

export type KindOfNetworksErrorCode =
  /** The network file enables main networks and test networks, whose wallets have different keys. */
  'NETWORKS_MIXED';

/**
 * A gateway has one kind: otherwise an address of a test network would count as ours on the main network.
 * @returns `main` if none is enabled; @throws GatewayError NETWORKS_MIXED
 */
export function networkKindOf(networks: readonly Pick<NetworkConfig, 'chain' | 'enabled'>[]): NetworkKind {
  const chains = networks.filter(({ enabled }) => enabled).map(({ chain }) => chain);
  const test = chains.filter(isTestNetwork);
  const main = chains.filter((chain) => !isTestNetwork(chain));
  if (test.length > 0 && main.length > 0) {
    throw new GatewayError<KindOfNetworksErrorCode>(
      'NETWORKS_MIXED',
      `The network file enables main networks (${main.join(', ')}) and test networks (${test.join(', ')}), whose wallets have ` +
        'different keys. Disable one kind; run the other as a second gateway with a network file and a database of its own.',
      { retryable: false, context: { main, test } },
    );
  }
  return test.length > 0 ? 'test' : 'main';
}
