import type { NetworkConfig } from '@opentill/contracts/network-config';
import { readNetworkFile } from '@opentill/contracts/read-network-file';
import { requiredVariable } from './config.ts';
import { usage, type CliContext } from './context.ts';

export async function readNetworks(
  context: Pick<CliContext, 'env'>,
  file = requiredVariable(context, 'NETWORKS_FILE'),
): Promise<readonly NetworkConfig[]> {
  return readNetworkFile(file, context.env);
}

/** Named networks may be disabled; without names it returns the enabled ones. */
export async function chooseNetworks(
  context: Pick<CliContext, 'env'>,
  chains: readonly string[] | undefined,
  file = requiredVariable(context, 'NETWORKS_FILE'),
): Promise<readonly NetworkConfig[]> {
  const networks = await readNetworks(context, file);
  const unknown = chains?.find((chain) => !networks.some((network) => network.chain === chain));
  if (unknown !== undefined) throw usage(`${unknown} is not configured in ${file}.`);
  return networks.filter(({ chain, enabled }) => chains?.includes(chain) ?? enabled);
}
