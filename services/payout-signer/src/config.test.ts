import { expect, test } from 'vitest';
import { readSignerConfig, selectNetworks } from './config.ts';

const given = {
  DATABASE_URL: 'postgres://opentill_signer@127.0.0.1/opentill',
  AMQP_URL: 'amqp://127.0.0.1',
  NETWORKS_FILE: 'networks.json',
  KEYSTORE_FILE: 'keystore.json',
  PASSPHRASE_FILE: 'passphrase',
};

test('reads the settings from the five required variables', () => {
  expect(readSignerConfig(given)).toEqual({
    logLevel: 'info',
    healthPort: 3024,
    healthHost: '127.0.0.1',
    databaseUrl: given.DATABASE_URL,
    databasePoolMax: 8,
    databasePrepare: true,
    amqpUrl: given.AMQP_URL,
    instanceId: expect.stringMatching(/^.+-\d+-[0-9a-f]{8}$/),
    networksFile: 'networks.json',
    keystoreFile: 'keystore.json',
    passphraseFile: 'passphrase',
    policyFile: undefined,
    profile: 'production',
    sourceRisksAccepted: [],
    stateDirectory: '.',
    chains: undefined,
    inboxKeptSeconds: 86_400,
  });
});

test('keeps send marks next to the keystore unless SIGNER_STATE_DIR is set', () => {
  const at = (more: object) => readSignerConfig({ ...given, ...more }).stateDirectory;
  expect(at({ KEYSTORE_FILE: '/keys/keystore.json' })).toBe('/keys');
  expect(at({ SIGNER_STATE_DIR: '/state' })).toBe('/state');
});

test('names every invalid setting in one error', () => {
  const wrong = { DATABASE_URL: 'mysql://x', HEALTH_PORT: 'high', LOG_LEVEL: 'loud' };
  expect(() => readSignerConfig(wrong)).toThrow(
    expect.objectContaining({
      code: 'CONFIG_INVALID',
      message: expect.stringMatching(
        /(?=.*DATABASE_URL)(?=.*HEALTH_PORT)(?=.*AMQP_URL)(?=.*NETWORKS_FILE)(?=.*KEYSTORE_FILE)(?=.*PASSPHRASE_FILE)/,
      ),
    }),
  );
});

test('rejects CHAINS that the networks file does not contain', () => {
  expect(() => selectNetworks([], ['ETH'])).toThrow(expect.objectContaining({ code: 'CHAINS_INVALID' }));
  expect(selectNetworks([], undefined)).toEqual([]);
});
