import type { ServiceName } from '@opentill/contracts/event-catalog';
import { SERVICE_ROLES, type RoleName } from '@opentill/db/service-schema';
import { BROKER_SERVICES } from '@opentill/messaging/write-broker-users';
import { readConfig, type VariableSchema } from '@opentill/runtime/config';
import type { CliContext } from './context.ts';

/** See deploy/guides/configuration.md. */
export interface SetupEnvironment {
  readonly DATABASE_ADMIN_URL: string;
  readonly AMQP_URL?: string;
  readonly SECRETS_KEY?: string;
  readonly MERCHANT_TOKEN?: string;
  readonly MERCHANT_NAME?: string;
  readonly MERCHANT_VERSION?: 'V2' | 'V3';
  readonly WEBHOOK_SECRET?: string;
  readonly CALLBACK_URL?: string;
  readonly RETURN_ORIGINS?: readonly string[];
  readonly PUBLIC_KEYS_FILE?: string;
  readonly NETWORKS_FILE?: string;
  readonly AMQP_MANAGEMENT_URL?: string;
  readonly [password: `${'DATABASE' | 'AMQP'}_PASSWORD_${string}`]: string;
}

const secret = { type: 'string', minLength: 1 } as const;

export function passwordVariable(role: RoleName): `DATABASE_PASSWORD_${string}` {
  return `DATABASE_PASSWORD_${role.toUpperCase()}`;
}

export function brokerPasswordVariable(service: ServiceName): `AMQP_PASSWORD_${string}` {
  return `AMQP_PASSWORD_${service.toUpperCase().replaceAll('-', '_')}`;
}

const PASSWORDS: Readonly<Record<string, VariableSchema>> = Object.fromEntries(
  [...SERVICE_ROLES.map(passwordVariable), ...BROKER_SERVICES.map(brokerPasswordVariable)].map((name) => [
    name,
    secret,
  ]),
);

export const SETUP_CONFIG_SCHEMA = {
  required: ['DATABASE_ADMIN_URL'],
  properties: {
    DATABASE_ADMIN_URL: { type: 'string', pattern: '^postgres(ql)?://' },
    AMQP_URL: { type: 'string', pattern: '^amqps?://' },
    SECRETS_KEY: secret,
    MERCHANT_TOKEN: secret,
    MERCHANT_NAME: { type: 'string', minLength: 1 },
    MERCHANT_VERSION: { type: 'string', enum: ['V2', 'V3'] },
    WEBHOOK_SECRET: secret,
    CALLBACK_URL: { type: 'string', pattern: '^https?://' },
    RETURN_ORIGINS: { type: 'array', items: { type: 'string' } },
    PUBLIC_KEYS_FILE: { type: 'string', minLength: 1 },
    NETWORKS_FILE: { type: 'string', minLength: 1 },
    AMQP_MANAGEMENT_URL: { type: 'string', pattern: '^https?://' },
    ...PASSWORDS,
  },
} as const;

/** Each command needs only some of it. */
export const OPERATOR_CONFIG_SCHEMA = {
  properties: {
    OPS_URL: { type: 'string', pattern: '^https?://[^/?#@\\s]+/?$' },
    OPS_TOKEN_FILE: { type: 'string', minLength: 1 },
    ALLOW_HTTP_OPS: { type: 'boolean', default: false },
    OPS_DATABASE_URL: { type: 'string', pattern: '^postgres(ql)?://' },
    DATABASE_ADMIN_URL: { type: 'string', pattern: '^postgres(ql)?://' },
    AMQP_URL: { type: 'string', pattern: '^amqps?://' },
    NETWORKS_FILE: { type: 'string', minLength: 1 },
  },
} as const;

export function requiredVariable(
  context: Pick<CliContext, 'env'>,
  name: Exclude<keyof typeof OPERATOR_CONFIG_SCHEMA.properties, 'ALLOW_HTTP_OPS'>,
): string {
  const properties = { [name]: OPERATOR_CONFIG_SCHEMA.properties[name] };
  const values = readConfig<Record<string, string>>({ required: [name], properties }, context.env);
  return values[name] ?? '';
}
