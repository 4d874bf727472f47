import { hostname } from 'node:os';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { GatewayError } from '@opentill/domain/gateway-error';
import { readConfig, type Environment } from '@opentill/runtime/config';
import type { LogLevel } from '@opentill/runtime/logger';

export interface ScannerConfig {
  readonly logLevel: LogLevel;
  readonly healthPort: number;
  readonly healthHost: string;
  readonly databaseUrl: string;
  readonly databasePoolMax: number;
  readonly amqpUrl: string;
  readonly instanceId: string;
  readonly networksFile: string;
  /** The chains to scan; undefined: all that are enabled. */
  readonly chains: readonly string[] | undefined;
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
  readonly CHAINS?: readonly string[];
}

/** JSON Schema of the environment (README.md, "Configuration"). */
export const SCANNER_CONFIG_SCHEMA = {
  required: ['DATABASE_URL', 'AMQP_URL', 'NETWORKS_FILE'],
  properties: {
    LOG_LEVEL: { type: 'string', enum: ['error', 'warn', 'info', 'debug'], default: 'info' },
    HEALTH_PORT: { type: 'integer', minimum: 0, maximum: 65_535, default: 3021 },
    HEALTH_HOST: { type: 'string', minLength: 1, default: '127.0.0.1' },
    DATABASE_URL: { type: 'string', pattern: '^postgres(ql)?://' },
    DATABASE_POOL_MAX: { type: 'integer', minimum: 2, maximum: 200, default: 10 },
    AMQP_URL: { type: 'string', pattern: '^amqps?://' },
    INSTANCE_ID: { type: 'string', pattern: '^[A-Za-z0-9_.:-]{1,64}$' },
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
    logLevel: variables.LOG_LEVEL,
    healthPort: variables.HEALTH_PORT,
    healthHost: variables.HEALTH_HOST,
    databaseUrl: variables.DATABASE_URL,
    databasePoolMax: variables.DATABASE_POOL_MAX,
    amqpUrl: variables.AMQP_URL,
    instanceId: variables.INSTANCE_ID ?? `${hostname()}-${process.pid}`,
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
