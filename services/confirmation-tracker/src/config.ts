import { hostname } from 'node:os';
import { readConfig, type Environment } from '@opentill/runtime/config';
import type { LogLevel } from '@opentill/runtime/logger';

export interface TrackerConfig {
  readonly logLevel: LogLevel;
  readonly healthPort: number;
  readonly healthHost: string;
  readonly databaseUrl: string;
  readonly databasePoolMax: number;
  readonly amqpUrl: string;
  readonly instanceId: string;
  readonly networksFile: string;
  readonly inboxKeptSeconds: number;
}

interface Variables {
  readonly LOG_LEVEL: LogLevel;
  readonly HEALTH_PORT: number;
  readonly HEALTH_HOST: string;
  readonly DATABASE_URL: string;
  readonly DATABASE_POOL_MAX: number;
  readonly AMQP_URL: string;
  readonly INSTANCE_ID?: string;
  readonly NETWORKS_FILE: string;
  readonly INBOX_KEPT_HOURS: number;
}

/** JSON Schema of the environment (README.md, "Configuration"). */
export const TRACKER_CONFIG_SCHEMA = {
  required: ['DATABASE_URL', 'AMQP_URL', 'NETWORKS_FILE'],
  properties: {
    LOG_LEVEL: { type: 'string', enum: ['error', 'warn', 'info', 'debug'], default: 'info' },
    HEALTH_PORT: { type: 'integer', minimum: 0, maximum: 65_535, default: 3022 },
    HEALTH_HOST: { type: 'string', minLength: 1, default: '127.0.0.1' },
    DATABASE_URL: { type: 'string', pattern: '^postgres(ql)?://' },
    DATABASE_POOL_MAX: { type: 'integer', minimum: 2, maximum: 200, default: 16 },
    AMQP_URL: { type: 'string', pattern: '^amqps?://' },
    INSTANCE_ID: { type: 'string', pattern: '^[A-Za-z0-9_.:-]{1,64}$' },
    NETWORKS_FILE: { type: 'string', minLength: 1 },
    INBOX_KEPT_HOURS: { type: 'integer', minimum: 1, maximum: 8_760, default: 24 },
  },
} as const;

/**
 * Reads the tracker's settings from the environment.
 * @throws GatewayError CONFIG_INVALID that names every mistake
 */
export function readTrackerConfig(env: Environment): TrackerConfig {
  const variables = readConfig<Variables>(TRACKER_CONFIG_SCHEMA, env);
  return {
    logLevel: variables.LOG_LEVEL,
    healthPort: variables.HEALTH_PORT,
    healthHost: variables.HEALTH_HOST,
    databaseUrl: variables.DATABASE_URL,
    databasePoolMax: variables.DATABASE_POOL_MAX,
    amqpUrl: variables.AMQP_URL,
    instanceId: variables.INSTANCE_ID ?? `${hostname()}-${process.pid}`,
    networksFile: variables.NETWORKS_FILE,
    inboxKeptSeconds: variables.INBOX_KEPT_HOURS * 3_600,
  };
}
