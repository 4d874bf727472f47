import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import type { LogLevel } from './logger.ts';

/** Of every service, also of one without broker and traces. */
export interface BasicVariables {
  readonly LOG_LEVEL: LogLevel;
  readonly HEALTH_PORT: number;
  readonly HEALTH_HOST: string;
  readonly DATABASE_URL: string;
  readonly DATABASE_POOL_MAX: number;
  readonly INSTANCE_ID?: string;
}

export interface ServiceVariables extends BasicVariables {
  readonly DATABASE_PREPARE?: boolean;
  readonly AMQP_URL: string;
  readonly OTEL_EXPORTER_OTLP_ENDPOINT?: string;
  readonly OTEL_EXPORTER_OTLP_HEADERS?: string;
  readonly OTEL_TRACES_SAMPLER_ARG: number;
}

export interface TracingSettings {
  /** URL of an OTLP collector, without `/v1/traces`. */
  readonly endpoint: string;
  /** `name=value`, comma-separated. */
  readonly headers: string | undefined;
  /** Share of new traces that are recorded, 0 to 1. */
  readonly sampleRatio: number;
}

export interface BasicSettings {
  readonly logLevel: LogLevel;
  readonly healthPort: number;
  readonly healthHost: string;
  readonly databaseUrl: string;
  readonly databasePoolMax: number;
  /** Names this replica in leases and logs; unique among all processes. */
  readonly instanceId: string;
}

export interface ServiceSettings extends BasicSettings {
  /** Prepares statements once per connection. Set false behind a pooler in transaction mode. */
  readonly databasePrepare: boolean;
  readonly amqpUrl: string;
  /** Undefined: off. */
  readonly tracing: TracingSettings | undefined;
}

export interface ServiceDefaults {
  readonly healthPort: number;
  readonly databasePoolMax: number;
  readonly databasePoolMaxLimit?: number;
  /** The service prepares statements, and so has DATABASE_PREPARE. @default true */
  readonly databasePrepares?: boolean;
}

export const SERVICE_REQUIRED = ['DATABASE_URL', 'AMQP_URL'] as const;

/** JSON Schema of the variables that every service reads (see readConfig). */
export function basicProperties({
  healthPort,
  databasePoolMax,
  databasePoolMaxLimit = 200,
}: Omit<ServiceDefaults, 'databasePrepares'>) {
  return {
    LOG_LEVEL: { type: 'string', enum: ['error', 'warn', 'info', 'debug'], default: 'info' },
    HEALTH_PORT: { type: 'integer', minimum: 0, maximum: 65_535, default: healthPort },
    HEALTH_HOST: { type: 'string', minLength: 1, default: '127.0.0.1' },
    DATABASE_URL: { type: 'string', pattern: '^postgres(ql)?://' },
    DATABASE_POOL_MAX: {
      type: 'integer',
      minimum: 2,
      maximum: databasePoolMaxLimit,
      default: databasePoolMax,
    },
    INSTANCE_ID: { type: 'string', pattern: '^[A-Za-z0-9_.:-]{1,64}$' },
  } as const;
}

/** The same with broker and traces. */
export function serviceProperties({ databasePrepares = true, ...defaults }: ServiceDefaults) {
  return {
    ...basicProperties(defaults),
    ...(databasePrepares && { DATABASE_PREPARE: { type: 'boolean', default: true } as const }),
    AMQP_URL: { type: 'string', pattern: '^amqps?://' },
    OTEL_EXPORTER_OTLP_ENDPOINT: { type: 'string', pattern: '^https?://[^?#\\s]+$' },
    OTEL_EXPORTER_OTLP_HEADERS: { type: 'string', pattern: '^[^=,\\s]+=[^,]*(,[^=,\\s]+=[^,]*)*$' },
    OTEL_TRACES_SAMPLER_ARG: { type: 'number', minimum: 0, maximum: 1, default: 1 },
  } as const;
}

export function basicSettings(variables: BasicVariables): BasicSettings {
  return {
    logLevel: variables.LOG_LEVEL,
    healthPort: variables.HEALTH_PORT,
    healthHost: variables.HEALTH_HOST,
    databaseUrl: variables.DATABASE_URL,
    databasePoolMax: variables.DATABASE_POOL_MAX,
    instanceId: variables.INSTANCE_ID ?? defaultInstanceId(),
  };
}

export function serviceSettings(variables: ServiceVariables): ServiceSettings {
  return {
    ...basicSettings(variables),
    databasePrepare: variables.DATABASE_PREPARE ?? false,
    amqpUrl: variables.AMQP_URL,
    tracing: tracingSettings(variables),
  };
}

function tracingSettings(variables: ServiceVariables): TracingSettings | undefined {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint } = variables;
  if (endpoint === undefined) return undefined;
  const { OTEL_EXPORTER_OTLP_HEADERS: headers, OTEL_TRACES_SAMPLER_ARG: sampleRatio } = variables;
  return { endpoint, headers, sampleRatio };
}

/** Host and pid repeat when a container restarts. */
function defaultInstanceId(): string {
  return `${hostname()}-${process.pid}-${randomBytes(4).toString('hex')}`;
}
