/** The environment of webhook-sender (README.md, "Configuration"). */
export interface WebhookSenderEnvironment {
  readonly DATABASE_URL: string;
  readonly DATABASE_POOL_MAX: number;
  readonly AMQP_URL: string;
  readonly SECRETS_KEY: string;
  readonly ALLOWED_CALLBACK_ADDRESSES: readonly string[];
  readonly ALLOW_HTTP_CALLBACKS: boolean;
  readonly RETRY_SCHEDULE_SECONDS: readonly string[];
  readonly CALLBACK_CONCURRENCY: number;
  readonly CALLBACK_CONCURRENCY_PER_ENDPOINT: number;
  readonly LOG_LEVEL: 'error' | 'warn' | 'info' | 'debug';
  readonly HEALTH_PORT: number;
  readonly HEALTH_HOST: string;
  readonly INSTANCE_ID?: string;
}

/** The contract's schedule (api.md section 6): about 1 s, 5 s, 30 s, 5 min, 30 min, 2 h, 6 h, 12 h, 24 h. */
const RETRY_SCHEDULE_SECONDS = [1, 5, 30, 300, 1800, 7200, 21600, 43200, 86400].map(String);

/** JSON Schema of the environment, read by readConfig. */
export const WEBHOOK_SENDER_CONFIG_SCHEMA = {
  required: ['DATABASE_URL', 'AMQP_URL', 'SECRETS_KEY'],
  properties: {
    DATABASE_URL: { type: 'string', pattern: '^postgres(ql)?://' },
    DATABASE_POOL_MAX: { type: 'integer', minimum: 2, maximum: 100, default: 8 },
    AMQP_URL: { type: 'string', pattern: '^amqps?://' },
    SECRETS_KEY: { type: 'string', minLength: 44, maxLength: 44 },
    ALLOWED_CALLBACK_ADDRESSES: { type: 'array', items: { type: 'string' }, default: [] },
    ALLOW_HTTP_CALLBACKS: { type: 'boolean', default: false },
    RETRY_SCHEDULE_SECONDS: {
      type: 'array',
      items: { type: 'string', pattern: '^[0-9]+(\\.[0-9]+)?$' },
      default: RETRY_SCHEDULE_SECONDS,
    },
    CALLBACK_CONCURRENCY: { type: 'integer', minimum: 1, maximum: 1000, default: 64 },
    CALLBACK_CONCURRENCY_PER_ENDPOINT: { type: 'integer', minimum: 1, maximum: 1000, default: 16 },
    LOG_LEVEL: { enum: ['error', 'warn', 'info', 'debug'], type: 'string', default: 'info' },
    HEALTH_PORT: { type: 'integer', minimum: 0, maximum: 65535, default: 3023 },
    HEALTH_HOST: { type: 'string', default: '127.0.0.1' },
    INSTANCE_ID: { type: 'string', minLength: 1 },
  },
} as const;
