import { changeServerUrl } from '@opentill/contracts/server-url';
import { roleUrl } from '@opentill/db/roles';
import type { RoleName } from '@opentill/db/service-schema';
import { brokerUser } from '@opentill/messaging/write-broker-users';
import type { BrokerService, GatewayPorts, MerchantSettings, ServiceName } from './gateway-options.ts';
import type { LocalSecrets } from './state-directory.ts';

export interface EnvironmentSource {
  readonly adminUrl: string;
  readonly amqpUrl: string;
  readonly secrets: LocalSecrets;
  readonly ports: GatewayPorts;
  readonly merchant: MerchantSettings;
  readonly networksFile: string;
  readonly publicKeysFile: string;
  readonly keystoreFile: string;
  readonly passphraseFile: string;
  readonly policyFile: string;
  readonly operatorTokenFile: string;
  /** True if the broker has users per service. An external one may not. */
  readonly hasBrokerUsers: boolean;
}

export type Environment = Readonly<Record<string, string>>;

export function setupEnvironment(source: EnvironmentSource): Environment {
  const passwords = Object.entries(source.secrets.rolePasswords).map(
    ([schema, password]) => [`DATABASE_PASSWORD_${schema.toUpperCase()}`, password] as const,
  );
  return {
    DATABASE_ADMIN_URL: source.adminUrl,
    AMQP_URL: source.amqpUrl,
    SECRETS_KEY: source.secrets.secretsKey,
    MERCHANT_TOKEN: source.merchant.token,
    MERCHANT_NAME: 'Pebble & Pine',
    MERCHANT_VERSION: source.merchant.version,
    WEBHOOK_SECRET: source.merchant.webhookSecret,
    CALLBACK_URL: source.merchant.callbackUrl,
    RETURN_ORIGINS: `http://localhost:${source.ports.shop}`,
    PUBLIC_KEYS_FILE: source.publicKeysFile,
    NETWORKS_FILE: source.networksFile,
    ...Object.fromEntries(passwords),
  };
}

export function operatorEnvironment(source: EnvironmentSource): Environment {
  return {
    OPS_DATABASE_URL: databaseUrl(source, 'ops'),
    DATABASE_ADMIN_URL: source.adminUrl,
    KEYSTORE_FILE: source.keystoreFile,
    POLICY_FILE: source.policyFile,
    PUBLIC_KEYS_FILE: source.publicKeysFile,
    AMQP_URL: source.amqpUrl,
    SECRETS_KEY: source.secrets.secretsKey,
    NETWORKS_FILE: source.networksFile,
    OPS_URL: `http://127.0.0.1:${source.ports.ops}`,
    OPS_TOKEN_FILE: source.operatorTokenFile,
  };
}

function apiEnvironment(source: EnvironmentSource): Environment {
  return {
    ...common(source, 'api', 'api'),
    NETWORKS_FILE: source.networksFile,
    PORT: `${source.ports.api}`,
    PUBLIC_KEYS_FILE: source.publicKeysFile,
    SECRETS_KEY: source.secrets.secretsKey,
    CHECKOUT_BASE_URL: `http://localhost:${source.ports.api}/checkout`,
    PROFILE: 'local',
    // Deriving more addresses in advance would load a developer's machine.
    DEPOSIT_ADDRESSES_READY: '1024',
  };
}

function scannerEvmEnvironment(source: EnvironmentSource): Environment {
  return { ...common(source, 'scanner-evm', 'scanner_evm'), NETWORKS_FILE: source.networksFile };
}

function scannerTronEnvironment(source: EnvironmentSource): Environment {
  return { ...common(source, 'scanner-tron', 'scanner_tron'), NETWORKS_FILE: source.networksFile };
}

function scannerSuiEnvironment(source: EnvironmentSource): Environment {
  return { ...common(source, 'scanner-sui', 'scanner_sui'), NETWORKS_FILE: source.networksFile };
}

function trackerEnvironment(source: EnvironmentSource): Environment {
  return { ...common(source, 'confirmation-tracker', 'tracker'), NETWORKS_FILE: source.networksFile };
}

function webhookSenderEnvironment(source: EnvironmentSource): Environment {
  return {
    ...common(source, 'webhook-sender', 'webhook'),
    SECRETS_KEY: source.secrets.secretsKey,
    ALLOW_HTTP_CALLBACKS: 'true',
    ALLOWED_CALLBACK_ADDRESSES: '127.0.0.1/32,::1/128',
  };
}

/** The only environment with the keystore. The passphrase is in a file: other processes can read environments. */
function signerEnvironment(source: EnvironmentSource): Environment {
  return {
    ...common(source, 'payout-signer', 'signer'),
    NETWORKS_FILE: source.networksFile,
    KEYSTORE_FILE: source.keystoreFile,
    PASSPHRASE_FILE: source.passphraseFile,
    PUBLIC_KEYS_FILE: source.publicKeysFile,
    POLICY_FILE: source.policyFile,
    PROFILE: 'local',
  };
}

/** Fixed rates, so that a run needs no internet. */
function ratesEnvironment(source: EnvironmentSource): Environment {
  return {
    DATABASE_URL: databaseUrl(source, 'rates'),
    HEALTH_PORT: `${source.ports.health.rates}`,
    MANUAL_RATES: 'USDT/USD=1,USDC/USD=1,USDT/EUR=0.92,USDC/EUR=0.92',
  };
}

function opsEnvironment(source: EnvironmentSource): Environment {
  return {
    ...common(source, 'ops', 'ops'),
    NETWORKS_FILE: source.networksFile,
    OPS_PORT: `${source.ports.ops}`,
    SECRETS_KEY: source.secrets.secretsKey,
  };
}

function shopEnvironment(source: EnvironmentSource): Environment {
  return {
    HEALTH_PORT: `${source.ports.health['demo-shop']}`,
    PORT: `${source.ports.shop}`,
    GATEWAY_URL: `http://127.0.0.1:${source.ports.api}`,
    MERCHANT_TOKEN: source.merchant.token,
    WEBHOOK_SECRET: source.merchant.webhookSecret,
    NETWORKS_FILE: source.networksFile,
  };
}

export const SERVICE_ENVIRONMENTS: Readonly<Record<ServiceName, (source: EnvironmentSource) => Environment>> =
  {
    api: apiEnvironment,
    'scanner-evm': scannerEvmEnvironment,
    'scanner-tron': scannerTronEnvironment,
    'scanner-sui': scannerSuiEnvironment,
    'confirmation-tracker': trackerEnvironment,
    'webhook-sender': webhookSenderEnvironment,
    'payout-signer': signerEnvironment,
    rates: ratesEnvironment,
    ops: opsEnvironment,
    'demo-shop': shopEnvironment,
  };

function common(source: EnvironmentSource, service: BrokerService, role: RoleName): Environment {
  return {
    DATABASE_URL: databaseUrl(source, role),
    AMQP_URL: source.hasBrokerUsers ? brokerUserUrl(source, service) : source.amqpUrl,
    HEALTH_PORT: `${source.ports.health[service]}`,
  };
}

function databaseUrl(source: EnvironmentSource, role: RoleName): string {
  return roleUrl(source.adminUrl, role, source.secrets.rolePasswords[role]);
}

function brokerUserUrl(source: EnvironmentSource, service: BrokerService): string {
  return changeServerUrl(source.amqpUrl, (url) => {
    url.username = brokerUser(service);
    url.password = source.secrets.brokerPasswords[service];
  });
}
