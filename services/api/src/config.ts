import type { WalletConnectSettings } from '@opentill/checkout/view/render-document';
import { walletConnectSettings } from '@opentill/checkout/walletconnect-settings';
import { parseSecretsKey } from '@opentill/db/sealed-secret';
import { invalidConfig, readConfig, type ConfigSchema, type Environment } from '@opentill/runtime/config';
import type { ApiSettings } from './app.ts';
import { DEFAULT_STREAM_LIMITS } from './order-streams.ts';
import { LOG_LEVELS } from '@opentill/runtime/logger';
import {
  SERVICE_REQUIRED,
  serviceProperties,
  serviceSettings,
  type ServiceSettings,
  type ServiceVariables,
} from '@opentill/runtime/service-settings';

interface Variables extends ServiceVariables {
  readonly PORT: number;
  readonly HOST: string;
  readonly NETWORKS_FILE: string;
  readonly PUBLIC_KEYS_FILE: string;
  readonly SECRETS_KEY: string;
  readonly CHECKOUT_BASE_URL: string;
  readonly TRUSTED_PROXIES: readonly string[];
  readonly CORS_ORIGINS: readonly string[];
  readonly TIMESTAMP_WINDOW_SECONDS: number;
  readonly RATE_LIMIT_STORE: 'memory' | 'postgres';
  readonly UNNAMED_MERCHANTS_MAX: number;
  readonly UNNAMED_FAILURES_MAX: number;
  readonly PROFILE: 'production' | 'local';
  readonly CHECKOUT_THEME_FILE?: string;
  readonly WALLETCONNECT_PROJECT_ID?: string;
  readonly WALLETCONNECT_RELAY_URL?: string;
  readonly EVENT_STREAMS_MAX: number;
  readonly DEPOSIT_ADDRESSES_READY: number;
}

const port = { type: 'integer', minimum: 0, maximum: 65_535 } as const;
const text = { type: 'string', minLength: 1 } as const;

export const API_CONFIG_SCHEMA: ConfigSchema = {
  required: [...SERVICE_REQUIRED, 'NETWORKS_FILE', 'PUBLIC_KEYS_FILE', 'SECRETS_KEY', 'CHECKOUT_BASE_URL'],
  properties: {
    ...serviceProperties({ healthPort: 3020, databasePoolMax: 10 }),
    LOG_LEVEL: { type: 'string', enum: [...LOG_LEVELS, 'silent'], default: 'info' },
    PORT: { ...port, default: 3010 },
    HOST: { ...text, default: '0.0.0.0' },
    DATABASE_POOL_MAX: { type: 'integer', minimum: 1, maximum: 100, default: 10 },
    NETWORKS_FILE: text,
    PUBLIC_KEYS_FILE: text,
    SECRETS_KEY: text,
    /** Without a query: the gateway appends `?orderId=…&sign=…`. */
    CHECKOUT_BASE_URL: { type: 'string', pattern: '^https?://[^?#\\s]+$' },
    TRUSTED_PROXIES: { type: 'array', items: { type: 'string' }, default: [] },
    CORS_ORIGINS: {
      type: 'array',
      items: { type: 'string', pattern: '^(\\*|https?://[^/\\s]+)$' },
      default: ['*'],
    },
    TIMESTAMP_WINDOW_SECONDS: { type: 'integer', minimum: 1, maximum: 3_600, default: 300 },
    RATE_LIMIT_STORE: { type: 'string', enum: ['memory', 'postgres'], default: 'memory' },
    UNNAMED_MERCHANTS_MAX: { type: 'integer', minimum: 1, maximum: 1_000, default: 16 },
    UNNAMED_FAILURES_MAX: { type: 'integer', minimum: 1, maximum: 1_000_000, default: 10 },
    CHECKOUT_THEME_FILE: text,
    WALLETCONNECT_PROJECT_ID: text,
    WALLETCONNECT_RELAY_URL: text,
    EVENT_STREAMS_MAX: {
      type: 'integer',
      minimum: 0,
      maximum: 100_000,
      default: DEFAULT_STREAM_LIMITS.whole,
    },
    DEPOSIT_ADDRESSES_READY: { type: 'integer', minimum: 64, maximum: 1_000_000, default: 32_768 },
    PROFILE: { type: 'string', enum: ['production', 'local'], default: 'production' },
  },
};

export interface ApiConfig extends ServiceSettings {
  readonly networksFile: string;
  readonly publicKeysFile: string;
  readonly secretsKey: Buffer;
  readonly checkoutThemeFile: string | undefined;
  /** Undefined: off. */
  readonly walletConnect: WalletConnectSettings | undefined;
  readonly app: ApiSettings;
}

/** @throws GatewayError CONFIG_INVALID, SECRETS_KEY_INVALID */
export function readApiConfig(env: Environment): ApiConfig {
  const variables = readConfig<Variables>(API_CONFIG_SCHEMA, env);
  return {
    ...serviceSettings(variables),
    networksFile: variables.NETWORKS_FILE,
    publicKeysFile: variables.PUBLIC_KEYS_FILE,
    secretsKey: parseSecretsKey(variables.SECRETS_KEY),
    checkoutThemeFile: variables.CHECKOUT_THEME_FILE,
    walletConnect: readWalletConnect(variables),
    app: {
      port: variables.PORT,
      host: variables.HOST,
      checkoutBaseUrl: variables.CHECKOUT_BASE_URL,
      trustedProxies: variables.TRUSTED_PROXIES,
      corsOrigins: variables.CORS_ORIGINS,
      timestampWindowSeconds: variables.TIMESTAMP_WINDOW_SECONDS,
      rateLimitStore: variables.RATE_LIMIT_STORE,
      unnamedMerchantsMax: variables.UNNAMED_MERCHANTS_MAX,
      unnamedFailuresMax: variables.UNNAMED_FAILURES_MAX,
      profile: variables.PROFILE,
      streamLimits: { ...DEFAULT_STREAM_LIMITS, whole: variables.EVENT_STREAMS_MAX },
      addressesReady: variables.DEPOSIT_ADDRESSES_READY,
    },
  };
}

function readWalletConnect(variables: Variables): WalletConnectSettings | undefined {
  const { WALLETCONNECT_PROJECT_ID: projectId, WALLETCONNECT_RELAY_URL: relayUrl } = variables;
  const names = { projectId: 'WALLETCONNECT_PROJECT_ID', relayUrl: 'WALLETCONNECT_RELAY_URL' };
  const found = walletConnectSettings({ projectId, relayUrl }, names);
  if ('problems' in found) throw invalidConfig(found.problems);
  return found.settings;
}
