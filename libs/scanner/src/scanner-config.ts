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
  /** Undefined: all enabled chains of the family. */
  readonly chains: readonly string[] | undefined;
}

interface Variables extends ServiceVariables {
  readonly NETWORKS_FILE: string;
  readonly CHAINS?: readonly string[];
}

// oxlint-disable-next-line typescript/explicit-module-boundary-types -- The schema's own type is what readers want.
export function scannerConfigSchema(healthPort: number) {
  return {
    required: [...SERVICE_REQUIRED, 'NETWORKS_FILE'],
    properties: {
      ...serviceProperties({ healthPort, databasePoolMax: 10 }),
      NETWORKS_FILE: { type: 'string', minLength: 1 },
      CHAINS: { type: 'array', items: { type: 'string' }, minItems: 1 },
    },
  } as const;
}

export function readScannerConfig(
  schema: ReturnType<typeof scannerConfigSchema>,
  env: Environment,
): ScannerConfig {
  const variables = readConfig<Variables>(schema, env);
  return {
    ...serviceSettings(variables),
    networksFile: variables.NETWORKS_FILE,
    chains: variables.CHAINS,
  };
}
