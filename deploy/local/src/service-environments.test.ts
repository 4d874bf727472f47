import { expect, test } from 'vitest';
import { LOCAL_PORTS, SERVICE_NAMES } from './gateway-options.ts';
import {
  operatorEnvironment,
  SERVICE_ENVIRONMENTS,
  setupEnvironment,
  type EnvironmentSource,
} from './service-environments.ts';

const source: EnvironmentSource = {
  adminUrl: 'postgres://admin:admin-password@127.0.0.1:5432/opentill',
  amqpUrl: 'amqp://guest:guest@127.0.0.1:5672',
  secrets: {
    secretsKey: 'c2VjcmV0LWtleQ==',
    keystorePassphrase: 'the-passphrase',
    rolePasswords: {
      api: 'pw-api',
      scanner_evm: 'pw-scanner',
      scanner_tron: 'pw-tron',
      scanner_sui: 'pw-sui',
      tracker: 'pw-tracker',
      signer: 'pw-signer',
      webhook: 'pw-webhook',
      ops: 'pw-ops',
      rates: 'pw-rates',
    },
    brokerPasswords: {
      api: 'mq-api',
      'scanner-evm': 'mq-scanner',
      'scanner-tron': 'mq-tron',
      'scanner-sui': 'mq-sui',
      'confirmation-tracker': 'mq-tracker',
      'webhook-sender': 'mq-webhook',
      'payout-signer': 'mq-signer',
      ops: 'mq-ops',
    },
    approverPassphrase: 'the-approver-passphrase',
  },
  ports: LOCAL_PORTS,
  merchant: {
    token: 'the-token',
    webhookSecret: 'the-webhook-secret',
    callbackUrl: 'http://localhost:3011/callbacks',
    version: 'V3',
  },
  networksFile: '/state/networks.json',
  publicKeysFile: '/state/public-keys.json',
  keystoreFile: '/state/keystore.json',
  passphraseFile: '/state/passphrase',
  policyFile: '/state/policy.sealed.json',
  operatorTokenFile: '/state/operator-token',
  hasBrokerUsers: true,
};

function holdersOf(secret: string): string[] {
  return SERVICE_NAMES.filter((service) =>
    JSON.stringify(SERVICE_ENVIRONMENTS[service](source)).includes(secret),
  );
}

test('gives each service its own role, broker user and health port, not admin access', () => {
  expect(holdersOf('admin-password')).toEqual([]);
  expect(holdersOf('pw-api')).toEqual(['api']);
  expect(holdersOf('pw-scanner')).toEqual(['scanner-evm']);
  expect(holdersOf('pw-tron')).toEqual(['scanner-tron']);
  expect(holdersOf('pw-sui')).toEqual(['scanner-sui']);
  expect(holdersOf('pw-tracker')).toEqual(['confirmation-tracker']);
  expect(holdersOf('pw-webhook')).toEqual(['webhook-sender']);
  expect(holdersOf('pw-signer')).toEqual(['payout-signer']);
  expect(holdersOf('pw-ops')).toEqual(['ops']);
  expect(holdersOf('pw-rates')).toEqual(['rates']);
  expect(holdersOf('guest:guest')).toEqual([]);
  expect(SERVICE_ENVIRONMENTS.ops(source)['AMQP_URL']).toBe('amqp://opentill-ops:mq-ops@127.0.0.1:5672');
  for (const name of Object.keys(source.secrets.brokerPasswords))
    expect(holdersOf(source.secrets.brokerPasswords[name as 'ops'])).toEqual([name]);
  const ports = SERVICE_NAMES.map((service) => SERVICE_ENVIRONMENTS[service](source)['HEALTH_PORT']);
  expect(ports).toEqual(['3020', '3021', '3027', '3028', '3022', '3023', '3024', '3026', '3025', '3029']);
});

test('gives secrets only to the services that need them', () => {
  expect(holdersOf('the-passphrase')).toEqual([]);
  expect(holdersOf('the-approver-passphrase')).toEqual([]);
  // Paths of files that only these services may open.
  for (const path of ['/state/keystore.json', '/state/passphrase', '/state/policy.sealed.json'])
    expect(holdersOf(path)).toEqual(['payout-signer']);
  expect(holdersOf('/state/operator-token')).toEqual([]);
  // The api derives addresses from the file; the signer checks it against the seed.
  expect(holdersOf('/state/public-keys.json')).toEqual(['api', 'payout-signer']);
  expect(holdersOf('c2VjcmV0LWtleQ==')).toEqual(['api', 'webhook-sender', 'ops']);
  expect(holdersOf('the-token')).toEqual(['demo-shop']);
  expect(holdersOf('the-webhook-secret')).toEqual(['demo-shop']);
});

test('gives setup the administrator and a password for every role', () => {
  expect(setupEnvironment(source)).toMatchObject({
    DATABASE_ADMIN_URL: source.adminUrl,
    DATABASE_PASSWORD_SCANNER_EVM: 'pw-scanner',
    DATABASE_PASSWORD_SCANNER_TRON: 'pw-tron',
    MERCHANT_TOKEN: 'the-token',
  });
});

test("gives an operator everything that the guides' commands need, except a passphrase", () => {
  expect(operatorEnvironment(source)).toMatchObject({
    DATABASE_ADMIN_URL: source.adminUrl,
    KEYSTORE_FILE: '/state/keystore.json',
    POLICY_FILE: '/state/policy.sealed.json',
    PUBLIC_KEYS_FILE: '/state/public-keys.json',
    OPS_TOKEN_FILE: '/state/operator-token',
  });
  expect(Object.values(operatorEnvironment(source))).not.toContain(source.passphraseFile);
});

test('uses the URL of an external broker unchanged', () => {
  expect(SERVICE_ENVIRONMENTS.ops({ ...source, hasBrokerUsers: false })['AMQP_URL']).toBe(source.amqpUrl);
});
