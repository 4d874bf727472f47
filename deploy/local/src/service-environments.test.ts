import { expect, test } from '@jest/globals';
import { LOCAL_PORTS, SERVICE_NAMES } from './gateway-options.ts';
import { SERVICE_ENVIRONMENTS, setupEnvironment, type EnvironmentSource } from './service-environments.ts';

const source: EnvironmentSource = {
  adminUrl: 'postgres://admin:admin-password@127.0.0.1:5432/opentill',
  amqpUrl: 'amqp://guest:guest@127.0.0.1:5672',
  secrets: {
    secretsKey: 'c2VjcmV0LWtleQ==',
    keystorePassphrase: 'the-passphrase',
    rolePasswords: {
      api: 'pw-api',
      scanner_evm: 'pw-scanner',
      tracker: 'pw-tracker',
      signer: 'pw-signer',
      webhook: 'pw-webhook',
      ops: 'pw-ops',
    },
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
};

/** Which services see a secret. */
function holdersOf(secret: string): string[] {
  return SERVICE_NAMES.filter((service) =>
    JSON.stringify(SERVICE_ENVIRONMENTS[service](source)).includes(secret),
  );
}

test('every service has its own database role and health port, and nobody has the administrator', () => {
  expect(holdersOf('admin-password')).toEqual([]);
  expect(holdersOf('pw-api')).toEqual(['api']);
  expect(holdersOf('pw-scanner')).toEqual(['scanner-evm']);
  expect(holdersOf('pw-tracker')).toEqual(['confirmation-tracker']);
  expect(holdersOf('pw-webhook')).toEqual(['webhook-sender']);
  const ports = SERVICE_NAMES.map((service) => SERVICE_ENVIRONMENTS[service](source)['HEALTH_PORT']);
  expect(ports).toEqual(['3020', '3021', '3022', '3023', '3029']);
});

test('secrets go only where they are needed', () => {
  expect(holdersOf('the-passphrase')).toEqual([]);
  expect(holdersOf('pw-signer')).toEqual([]);
  expect(holdersOf('c2VjcmV0LWtleQ==')).toEqual(['api', 'webhook-sender']);
  expect(holdersOf('the-token')).toEqual(['demo-shop']);
  expect(holdersOf('the-webhook-secret')).toEqual(['demo-shop']);
});

test('setup gets the administrator and a password for every role', () => {
  expect(setupEnvironment(source)).toMatchObject({
    DATABASE_ADMIN_URL: source.adminUrl,
    DATABASE_PASSWORD_SCANNER_EVM: 'pw-scanner',
    MERCHANT_TOKEN: 'the-token',
  });
});
