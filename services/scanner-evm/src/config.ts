import type { NetworkConfig } from '@opentill/contracts/network-config';
import { GatewayError } from '@opentill/domain/gateway-error';
import { readConfig, type Environment } from '@opentill/runtime/config';
import {
  SERVICE_REQUIRED,
  serviceProperties,
  serviceSettings,
  type ServiceSettings,
  type ServiceVariables,
} from '@opentill/runtime/service-settings';

export interface ScannerConfig extends ServiceSettings {
  readonly networksFile: string;
  /** The chains to scan; undefined: all that are enabled. */
  readonly chains: readonly string[] | undefined;
}

interface Variables extends ServiceVariables {
  readonly NETWORKS_FILE: string;
  readonly CHAINS?: readonly string[];
}

/** JSON Schema of the environment (README.md, "Configuration"). */
export const SCANNER_CONFIG_SCHEMA = {
  required: [...SERVICE_REQUIRED, 'NETWORKS_FILE'],
  properties: {
    ...serviceProperties({ healthPort: 3021, databasePoolMax: 10, databasePrepares: false }),
    NETWORKS_FILE: { type: 'string', minLength: 1 },
    CHAINS: { type: 'array', items: { type: 'string' }, minItems: 1 },
  },
} as const;

/**
 * Reads the scanner's settings from the environment.
 * @throws GatewayError CONFIG_INVALID that names every mistake
 */
export function readScannerConfig(env: Environment): ScannerConfig {
  const variables = readConfig<Variables>(SCANNER_CONFIG_SCHEMA, env);
  return {
    ...serviceSettings(variables),
    networksFile: variables.NETWORKS_FILE,
    chains: variables.CHAINS,
  };
}

export type SelectNetworksErrorCode =
  /** CHAINS names what is no enabled EVM network of the file, or nothing is left to scan. */
  'CHAINS_INVALID';

/** The networks this process scans: the enabled ones of the EVM family, of these the ones named. */
export function selectNetworks(
  networks: readonly NetworkConfig[],
  chains: readonly string[] | undefined,
): readonly NetworkConfig[] {
  const enabled = networks.filter((network) => network.family === 'EVM' && network.enabled);
  const unknown = (chains ?? []).filter((chain) => !enabled.some((network) => network.chain === chain));
  const selected = enabled.filter((network) => chains?.includes(network.chain) ?? true);
  if (unknown.length === 0 && selected.length > 0) return selected;
  const message =
    unknown.length > 0
      ? `CHAINS: not an enabled EVM network of the network file: ${unknown.join(', ')}`
      : 'the network file has no enabled EVM network';
  throw new GatewayError<SelectNetworksErrorCode>('CHAINS_INVALID', message, { retryable: false });
}
