import type { ConfigSchema } from '@opentill/runtime/config';
import type { ApiSettings } from './app.ts';
import { DEFAULT_STREAM_LIMITS } from './order-streams.ts';
import { LOG_LEVELS } from '@opentill/runtime/logger';
import {
  defaultInstanceId,
  SERVICE_REQUIRED,
  serviceProperties,
  type ServiceVariables,
} from '@opentill/runtime/service-settings';

/** The api's environment. Secrets have no default. */
export interface ApiConfig extends ServiceVariables {
  readonly INSTANCE_ID: string;
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
  readonly EVENT_STREAMS_MAX: number;
  readonly DEPOSIT_ADDRESSES_READY: number;
}

const port = { type: 'integer', minimum: 0, maximum: 65_535 } as const;
const text = { type: 'string', minLength: 1 } as const;

/** Schema of the environment; every mistake is named at once. */
export const API_CONFIG_SCHEMA: ConfigSchema = {
  required: [...SERVICE_REQUIRED, 'NETWORKS_FILE', 'PUBLIC_KEYS_FILE', 'SECRETS_KEY', 'CHECKOUT_BASE_URL'],
  properties: {
    ...serviceProperties({ healthPort: 3020, databasePoolMax: 10 }),
    LOG_LEVEL: { type: 'string', enum: [...LOG_LEVELS, 'silent'], default: 'info' },
    INSTANCE_ID: { ...text, default: defaultInstanceId() },
    PORT: { ...port, default: 3010 },
    HOST: { ...text, default: '0.0.0.0' },
    DATABASE_POOL_MAX: { type: 'integer', minimum: 1, maximum: 100, default: 10 },
    NETWORKS_FILE: text,
    PUBLIC_KEYS_FILE: text,
    SECRETS_KEY: text,
    /** Without query: `?orderId=…&sign=…` is put behind it. */
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

/** What createApp is told of it. */
export function toSettings(config: ApiConfig): ApiSettings {
  return {
    port: config.PORT,
    host: config.HOST,
    checkoutBaseUrl: config.CHECKOUT_BASE_URL,
    trustedProxies: config.TRUSTED_PROXIES,
    corsOrigins: config.CORS_ORIGINS,
    timestampWindowSeconds: config.TIMESTAMP_WINDOW_SECONDS,
    rateLimitStore: config.RATE_LIMIT_STORE,
    unnamedMerchantsMax: config.UNNAMED_MERCHANTS_MAX,
    unnamedFailuresMax: config.UNNAMED_FAILURES_MAX,
    profile: config.PROFILE,
    streamLimits: { ...DEFAULT_STREAM_LIMITS, whole: config.EVENT_STREAMS_MAX },
    addressesReady: config.DEPOSIT_ADDRESSES_READY,
  };
}
