import type { ConfigSchema } from '@opentill/runtime/config';

export interface ChainVariables {
  readonly CHAIN: string;
  readonly NETWORKS_FILE: string;
  readonly STATE_DIR: string;
  readonly RPC_PORT: number;
  readonly BLOCK_TIME_SECONDS: number;
  readonly HEALTH_PORT: number;
  readonly HEALTH_HOST: string;
}

export const CHAIN_CONFIG_SCHEMA: ConfigSchema = {
  required: ['CHAIN', 'NETWORKS_FILE', 'STATE_DIR'],
  properties: {
    CHAIN: { type: 'string', minLength: 1 },
    NETWORKS_FILE: { type: 'string', minLength: 1 },
    STATE_DIR: { type: 'string', minLength: 1 },
    RPC_PORT: { type: 'integer', minimum: 1, maximum: 65_535, default: 8545 },
    BLOCK_TIME_SECONDS: { type: 'integer', minimum: 1, maximum: 60, default: 1 },
    HEALTH_PORT: { type: 'integer', minimum: 1, maximum: 65_535, default: 3020 },
    HEALTH_HOST: { type: 'string', minLength: 1, default: '127.0.0.1' },
  },
};

export interface FundVariables {
  readonly DATABASE_URL: string;
  readonly NETWORKS_FILE: string;
  readonly PUBLIC_KEYS_FILE: string;
}

export const FUND_CONFIG_SCHEMA: ConfigSchema = {
  required: ['DATABASE_URL', 'NETWORKS_FILE', 'PUBLIC_KEYS_FILE'],
  properties: {
    DATABASE_URL: { type: 'string', pattern: '^postgres(ql)?://' },
    NETWORKS_FILE: { type: 'string', minLength: 1 },
    PUBLIC_KEYS_FILE: { type: 'string', minLength: 1 },
  },
};
