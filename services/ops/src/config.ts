import { parseSecretsKey } from '@opentill/db/sealed-secret';
import { readConfig, type ConfigSchema, type Environment } from '@opentill/runtime/config';
import {
  SERVICE_REQUIRED,
  serviceProperties,
  serviceSettings,
  type ServiceSettings,
  type ServiceVariables,
} from '@opentill/runtime/service-settings';

interface Variables extends ServiceVariables {
  readonly OPS_PORT: number;
  readonly OPS_HOST: string;
  readonly NETWORKS_FILE: string;
  readonly SECRETS_KEY: string;
}

export const OPS_CONFIG_SCHEMA: ConfigSchema = {
  required: [...SERVICE_REQUIRED, 'NETWORKS_FILE', 'SECRETS_KEY'],
  properties: {
    ...serviceProperties({ healthPort: 3025, databasePoolMax: 5, databasePrepares: false }),
    OPS_PORT: { type: 'integer', minimum: 0, maximum: 65_535, default: 3012 },
    /** Default: only this machine, because the service has no TLS. */
    OPS_HOST: { type: 'string', minLength: 1, default: '127.0.0.1' },
    NETWORKS_FILE: { type: 'string', minLength: 1 },
    SECRETS_KEY: { type: 'string', minLength: 1 },
  },
};

export interface OpsConfig extends ServiceSettings {
  readonly port: number;
  readonly host: string;
  readonly networksFile: string;
  readonly secretsKey: Buffer;
}

/** @throws GatewayError CONFIG_INVALID, SECRETS_KEY_INVALID */
export function readOpsConfig(env: Environment): OpsConfig {
  const variables = readConfig<Variables>(OPS_CONFIG_SCHEMA, env);
  return {
    ...serviceSettings(variables),
    port: variables.OPS_PORT,
    host: variables.OPS_HOST,
    networksFile: variables.NETWORKS_FILE,
    secretsKey: parseSecretsKey(variables.SECRETS_KEY),
  };
}
