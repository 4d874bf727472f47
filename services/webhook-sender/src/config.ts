import { parseSecretsKey } from '@opentill/db/sealed-secret';
import { readConfig, type Environment } from '@opentill/runtime/config';
import {
  SERVICE_REQUIRED,
  serviceProperties,
  serviceSettings,
  type ServiceSettings,
  type ServiceVariables,
} from '@opentill/runtime/service-settings';
import { DEFAULT_ENDPOINT_RULES, type EndpointRules } from './endpoint-health.ts';
import type { Retention } from './housekeeping.ts';

export interface WebhookSenderConfig extends ServiceSettings {
  readonly secretsKey: Buffer;
  readonly allowedCallbackAddresses: readonly string[];
  readonly allowHttpCallbacks: boolean;
  readonly retryScheduleSeconds: readonly number[];
  readonly concurrency: number;
  readonly concurrencyPerEndpoint: number;
  readonly endpointRules: EndpointRules;
  readonly retention: Retention;
}

interface Variables extends ServiceVariables {
  readonly SECRETS_KEY: string;
  readonly ALLOWED_CALLBACK_ADDRESSES: readonly string[];
  readonly ALLOW_HTTP_CALLBACKS: boolean;
  readonly RETRY_SCHEDULE_SECONDS: readonly string[];
  readonly CALLBACK_CONCURRENCY: number;
  readonly CALLBACK_CONCURRENCY_PER_ENDPOINT: number;
  readonly CALLBACK_FAILURES_UNTIL_REST: number;
  readonly CALLBACK_RESTS_SECONDS: readonly string[];
  readonly INBOX_KEPT_HOURS: number;
  readonly ATTEMPTS_KEPT_DAYS: number;
  readonly CALLBACKS_KEPT_DAYS: number;
}

/** docs/api.md section 6: about 1 s, 5 s, 30 s, 5 min, 30 min, 2 h, 6 h, 12 h, 24 h. */
const RETRY_SCHEDULE_SECONDS = [1, 5, 30, 300, 1800, 7200, 21600, 43200, 86400].map(String);

export const WEBHOOK_SENDER_CONFIG_SCHEMA = {
  required: [...SERVICE_REQUIRED, 'SECRETS_KEY'],
  properties: {
    ...serviceProperties({ healthPort: 3023, databasePoolMax: 8, databasePoolMaxLimit: 100 }),
    SECRETS_KEY: { type: 'string', minLength: 44, maxLength: 44 },
    ALLOWED_CALLBACK_ADDRESSES: { type: 'array', items: { type: 'string' }, default: [] },
    ALLOW_HTTP_CALLBACKS: { type: 'boolean', default: false },
    RETRY_SCHEDULE_SECONDS: {
      type: 'array',
      items: { type: 'string', pattern: '^[0-9]+(\\.[0-9]+)?$' },
      default: RETRY_SCHEDULE_SECONDS,
    },
    CALLBACK_CONCURRENCY: { type: 'integer', minimum: 1, maximum: 1000, default: 128 },
    CALLBACK_CONCURRENCY_PER_ENDPOINT: { type: 'integer', minimum: 1, maximum: 1000, default: 64 },
    INBOX_KEPT_HOURS: { type: 'integer', minimum: 1, maximum: 8760, default: 24 },
    ATTEMPTS_KEPT_DAYS: { type: 'integer', minimum: 1, maximum: 3650, default: 30 },
    CALLBACKS_KEPT_DAYS: { type: 'integer', minimum: 7, maximum: 36500, default: 90 },
    CALLBACK_FAILURES_UNTIL_REST: {
      type: 'integer',
      minimum: 1,
      maximum: 1_000_000,
      default: DEFAULT_ENDPOINT_RULES.openAfterFailures,
    },
    CALLBACK_RESTS_SECONDS: {
      type: 'array',
      minItems: 1,
      items: { type: 'string', pattern: '^[0-9]+(\\.[0-9]+)?$' },
      default: DEFAULT_ENDPOINT_RULES.probePausesMs.map((pauseMs) => String(pauseMs / 1_000)),
    },
  },
} as const;

export function readWebhookSenderConfig(env: Environment): WebhookSenderConfig {
  const variables = readConfig<Variables>(WEBHOOK_SENDER_CONFIG_SCHEMA, env);
  return {
    ...serviceSettings(variables),
    secretsKey: parseSecretsKey(variables.SECRETS_KEY),
    allowedCallbackAddresses: variables.ALLOWED_CALLBACK_ADDRESSES,
    allowHttpCallbacks: variables.ALLOW_HTTP_CALLBACKS,
    retryScheduleSeconds: variables.RETRY_SCHEDULE_SECONDS.map(Number),
    concurrency: variables.CALLBACK_CONCURRENCY,
    concurrencyPerEndpoint: variables.CALLBACK_CONCURRENCY_PER_ENDPOINT,
    endpointRules: {
      ...DEFAULT_ENDPOINT_RULES,
      openAfterFailures: variables.CALLBACK_FAILURES_UNTIL_REST,
      probePausesMs: variables.CALLBACK_RESTS_SECONDS.map((seconds) => Number(seconds) * 1_000),
    },
    retention: {
      inboxSeconds: variables.INBOX_KEPT_HOURS * 3_600,
      attemptsSeconds: variables.ATTEMPTS_KEPT_DAYS * 86_400,
      callbacksSeconds: variables.CALLBACKS_KEPT_DAYS * 86_400,
    },
  };
}
