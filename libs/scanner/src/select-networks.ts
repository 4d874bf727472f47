import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Family } from '@opentill/domain/chains';
import { GatewayError } from '@opentill/domain/gateway-error';

export type SelectNetworksErrorCode =
  /** CHAINS names what is no enabled network of the family in the file. */
  'CHAINS_INVALID';

/**
 * The networks that a process scans: the enabled ones of its family, of these the ones named. None where the file enables none:
 * who takes no money on a family's chains runs its scanner all the same, for nothing.
 */
export function selectNetworks(
  networks: readonly NetworkConfig[],
  family: Family,
  chains: readonly string[] | undefined,
): readonly NetworkConfig[] {
  const enabled = networks.filter((network) => network.family === family && network.enabled);
  const unknown = (chains ?? []).filter((chain) => !enabled.some((network) => network.chain === chain));
  const selected = enabled.filter((network) => chains?.includes(network.chain) ?? true);
  if (unknown.length === 0) return selected;
  const message = `CHAINS: not an enabled ${family} network of the network file: ${unknown.join(', ')}`;
  throw new GatewayError<SelectNetworksErrorCode>('CHAINS_INVALID', message, { retryable: false });
}
