import { join } from 'node:path';
import { changeServerUrl, urlPerHost } from '@opentill/contracts/server-url';
import { serviceRole, type RoleName } from '@opentill/db/service-schema';
import { GatewayError } from '@opentill/domain/gateway-error';
import { brokerUser } from '@opentill/messaging/write-broker-users';
import type { ConfigErrorCode, Environment } from '@opentill/runtime/config';

interface SmallServiceTraits {
  readonly role: RoleName;
  /** Variables with a file in SECRETS_DIR, in addition to the passwords. */
  readonly secrets: Readonly<Record<string, string>>;
  /** Defaults for 2 cores and 2 GB. The environment overrides them. */
  readonly defaults: Environment;
}

const SECRETS_KEY = { SECRETS_KEY_FILE: 'secrets_key' };

/** Services with smaller defaults. A connection costs Postgres several MB; these pools use at most 38 in total. */
const SERVICES = {
  api: { role: 'api', secrets: SECRETS_KEY, defaults: { DATABASE_POOL_MAX: '4' } },
  'scanner-evm': { role: 'scanner_evm', secrets: {}, defaults: { DATABASE_POOL_MAX: '4' } },
  'scanner-tron': { role: 'scanner_tron', secrets: {}, defaults: { DATABASE_POOL_MAX: '4' } },
  'scanner-sui': { role: 'scanner_sui', secrets: {}, defaults: { DATABASE_POOL_MAX: '4' } },
  'confirmation-tracker': { role: 'tracker', secrets: {}, defaults: { DATABASE_POOL_MAX: '6' } },
  'webhook-sender': {
    role: 'webhook',
    secrets: SECRETS_KEY,
    defaults: {
      DATABASE_POOL_MAX: '4',
      CALLBACK_CONCURRENCY: '32',
      CALLBACK_CONCURRENCY_PER_ENDPOINT: '16',
    },
  },
  rates: { role: 'rates', secrets: {}, defaults: { DATABASE_POOL_MAX: '2' } },
  ops: { role: 'ops', secrets: SECRETS_KEY, defaults: { DATABASE_POOL_MAX: '2' } },
  'payout-signer': {
    role: 'signer',
    secrets: { PASSPHRASE_FILE: 'keystore_passphrase' },
    defaults: { DATABASE_POOL_MAX: '4' },
  },
} as const satisfies Readonly<Record<string, SmallServiceTraits>>;

export type SmallService = keyof typeof SERVICES;

/**
 * A service's environment from the shared one (opentill.env.example):
 *
 * - `X` applies to every service; `API_X`, `SCANNER_EVM_X` and so on to a single one, with precedence.
 * - DATABASE_URL and AMQP_URL have no user: each service gets its own.
 * - Passwords and keys default to files of SECRETS_DIR, named as by `deploy/compose/prepare`.
 *
 * @throws GatewayError CONFIG_INVALID when a shared URL contains a user
 */
export function environmentOf(service: SmallService, env: Environment): Environment {
  const { role, secrets, defaults }: SmallServiceTraits = SERVICES[service];
  const user = service === 'rates' ? undefined : brokerUser(service); // it has no events
  const prefix = `${service.toUpperCase().replaceAll('-', '_')}_`;
  const given = Object.entries(env).filter(([, value]) => value !== undefined && value !== '');
  const own = Object.fromEntries(
    given.flatMap(([name, value]) =>
      name.startsWith(prefix) ? [[name.slice(prefix.length), value] as const] : [],
    ),
  );
  const shared = Object.fromEntries(given);
  const variables = { ...defaults, ...shared, ...own };
  const url = (name: string, user: string): Environment =>
    own[name] === undefined ? withUser(name, shared[name], user) : {};
  const isOwnUrl = (name: string): boolean => own[`${name}_URL`] !== undefined;
  const isGiven = (file: string): boolean =>
    variables[file] !== undefined || variables[file.slice(0, -'_FILE'.length)] !== undefined;
  const files = {
    ...(isOwnUrl('DATABASE') ? {} : { DATABASE_PASSWORD_FILE: `database_password_${role}` }),
    ...(user !== undefined && !isOwnUrl('AMQP')
      ? { AMQP_PASSWORD_FILE: `broker_password_${service.replaceAll('-', '_')}` }
      : {}),
    ...secrets,
  };
  const directory = variables['SECRETS_DIR'];
  const fromDirectory =
    directory === undefined
      ? []
      : Object.entries(files).flatMap(([name, file]) =>
          isGiven(name) ? [] : [[name, join(directory, file)] as const],
        );
  return {
    ...variables,
    ...url('DATABASE_URL', serviceRole(role)),
    ...(user === undefined ? {} : url('AMQP_URL', user)),
    ...Object.fromEntries(fromDirectory),
  };
}

/** The service's schema rejects missing and invalid URLs. */
function withUser(name: string, text: string | undefined, user: string): Environment {
  if (text === undefined || !urlPerHost(text).every((url) => URL.canParse(url))) return {};
  const change = (url: URL): void => {
    if (url.username !== '' || url.password !== '') {
      throw new GatewayError<ConfigErrorCode>(
        'CONFIG_INVALID',
        `configuration: ${name} names a user, but each service has its own. Remove the user, or set a URL per service`,
        { retryable: false, context: { problems: [`${name} names a user`] } },
      );
    }
    url.username = user;
  };
  return { [name]: changeServerUrl(text, change) };
}
