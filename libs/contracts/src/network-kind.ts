import { presetOf, type NetworkKind } from '@opentill/domain/chains';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { NetworkConfig } from './network-config.ts';

export type KindOfNetworksErrorCode =
  /** The network file enables main networks and test networks, whose wallets have different keys. */
  'NETWORKS_MIXED';

type Kinded = Pick<NetworkConfig, 'chain' | 'kind'>;

/** Presets know theirs; the networks file gives that of other chains. */
export function kindOf({ chain, kind }: Kinded): NetworkKind {
  // Absent only in a file that was not parsed. Then the stricter rules apply.
  return presetOf(chain)?.kind ?? kind ?? 'main';
}

export function isTestNetwork(network: Kinded): boolean {
  return kindOf(network) === 'test';
}

/**
 * A gateway has one kind: otherwise an address of a test network would count as ours on the main network.
 * @returns `main` if none is enabled; @throws GatewayError NETWORKS_MIXED
 */
export function networkKindOf(networks: readonly (Kinded & Pick<NetworkConfig, 'enabled'>)[]): NetworkKind {
  const enabled = networks.filter((network) => network.enabled);
  const chainsOf = (kind: NetworkKind) =>
    enabled.filter((network) => kindOf(network) === kind).map(({ chain }) => chain);
  const [main, test] = [chainsOf('main'), chainsOf('test')];
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
