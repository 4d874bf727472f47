import { readConfig, type Environment } from '@opentill/runtime/config';
import {
  SERVICE_REQUIRED,
  serviceProperties,
  serviceSettings,
  type ServiceSettings,
  type ServiceVariables,
} from '@opentill/runtime/service-settings';

export interface TrackerConfig extends ServiceSettings {
  readonly networksFile: string;
  readonly inboxKeptSeconds: number;
}

interface Variables extends ServiceVariables {
  readonly NETWORKS_FILE: string;
  readonly INBOX_KEPT_HOURS: number;
}

/** JSON Schema of the environment (deploy/guides/configuration.md). */
export const TRACKER_CONFIG_SCHEMA = {
  required: [...SERVICE_REQUIRED, 'NETWORKS_FILE'],
  properties: {
    ...serviceProperties({ healthPort: 3022, databasePoolMax: 16 }),
    NETWORKS_FILE: { type: 'string', minLength: 1 },
    INBOX_KEPT_HOURS: { type: 'integer', minimum: 1, maximum: 8_760, default: 24 },
  },
} as const;

/** @throws GatewayError CONFIG_INVALID listing every mistake */
export function readTrackerConfig(env: Environment): TrackerConfig {
  const variables = readConfig<Variables>(TRACKER_CONFIG_SCHEMA, env);
  return {
    ...serviceSettings(variables),
    networksFile: variables.NETWORKS_FILE,
    inboxKeptSeconds: variables.INBOX_KEPT_HOURS * 3_600,
  };
}
