import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { refuseKeystore } from './refuse-keystore.ts';
import { environmentOf } from './environment-of.ts';

const shared = {
  DATABASE_URL: 'postgres://db.example:5432/opentill?sslmode=require',
  AMQP_URL: 'amqps://broker.example:5671/shop',
  SECRETS_DIR: '/run/secrets',
  NETWORKS_FILE: '/etc/opentill/networks.json',
  LOG_LEVEL: 'warn',
};

describe('environmentOf', () => {
  test('gives a service its own database and broker user, and its secrets as files', () => {
    expect(environmentOf('webhook-sender', shared)).toEqual({
      ...shared,
      DATABASE_URL: 'postgres://opentill_webhook@db.example:5432/opentill?sslmode=require',
      DATABASE_PASSWORD_FILE: '/run/secrets/database_password_webhook',
      DATABASE_POOL_MAX: '4',
      AMQP_URL: 'amqps://opentill-webhook-sender@broker.example:5671/shop',
      AMQP_PASSWORD_FILE: '/run/secrets/broker_password_webhook_sender',
      SECRETS_KEY_FILE: '/run/secrets/secrets_key',
      CALLBACK_CONCURRENCY: '32',
      CALLBACK_CONCURRENCY_PER_ENDPOINT: '16',
    });
  });

  test('gives a service without events no broker user', () => {
    const rates = environmentOf('rates', shared);
    expect(rates).toMatchObject({ DATABASE_PASSWORD_FILE: '/run/secrets/database_password_rates' });
    expect(rates).toMatchObject({ AMQP_URL: shared.AMQP_URL });
    expect(rates).not.toHaveProperty('AMQP_PASSWORD_FILE');
  });

  test('gives a service its own user in lists of hosts', () => {
    const lists = {
      DATABASE_URL: 'postgres://db1:5432,db2:5432/opentill?target_session_attrs=read-write',
      AMQP_URL: 'amqp://mq1,mq2,mq3/shop',
    };
    expect(environmentOf('ops', { ...shared, ...lists })).toMatchObject({
      DATABASE_URL: lists.DATABASE_URL.replace('//', '//opentill_ops@'),
      AMQP_URL: lists.AMQP_URL.replace('//', '//opentill-ops@'),
    });
    const withUser = { ...shared, AMQP_URL: 'amqp://me@mq1,mq2/shop' };
    expect(() => environmentOf('ops', withUser)).toThrow('AMQP_URL names a user');
  });

  test("gives only the signer the passphrase, and not the key of merchants' secrets", () => {
    const signer = environmentOf('payout-signer', shared);
    expect(signer).toMatchObject({ PASSPHRASE_FILE: '/run/secrets/keystore_passphrase' });
    expect(signer).not.toHaveProperty('SECRETS_KEY_FILE');
    expect(environmentOf('api', shared)).not.toHaveProperty('PASSPHRASE_FILE');
    expect(environmentOf('scanner-evm', shared)).not.toHaveProperty('SECRETS_KEY_FILE');
  });

  test("prefers a service's own value to the shared one, and that to the small default", () => {
    const env = { ...shared, DATABASE_POOL_MAX: '7', OPS_DATABASE_POOL_MAX: '3', API_LOG_LEVEL: 'debug' };
    expect(environmentOf('ops', env)).toMatchObject({ DATABASE_POOL_MAX: '3', LOG_LEVEL: 'warn' });
    expect(environmentOf('api', env)).toMatchObject({ DATABASE_POOL_MAX: '7', LOG_LEVEL: 'debug' });
  });

  test("keeps a variable whose name begins with the service's prefix", () => {
    expect(environmentOf('ops', { ...shared, OPS_PORT: '4012' })).toMatchObject({ OPS_PORT: '4012' });
  });

  test("takes a service's own URL unchanged, without another password", () => {
    const env = {
      ...shared,
      API_DATABASE_URL: 'postgres://me:secret@other/db',
      API_AMQP_URL: 'amqp://a:b@c',
    };
    const api = environmentOf('api', env);
    expect(api).toMatchObject({ DATABASE_URL: env.API_DATABASE_URL, AMQP_URL: env.API_AMQP_URL });
    expect(api).not.toHaveProperty('DATABASE_PASSWORD_FILE');
    expect(api).not.toHaveProperty('AMQP_PASSWORD_FILE');
    expect(environmentOf('ops', env)).toMatchObject({
      AMQP_URL: 'amqps://opentill-ops@broker.example:5671/shop',
    });
  });

  test.each([
    { SECRETS_KEY: 'given' },
    { SECRETS_KEY_FILE: '/elsewhere' },
    { API_SECRETS_KEY: 'given' },
    { API_SECRETS_KEY_FILE: '/elsewhere' },
  ])('adds no secret file when %j is given', (given) => {
    const api = environmentOf('api', { ...shared, ...given });
    expect(Object.keys(api).filter((name) => name.startsWith('SECRETS_KEY'))).toHaveLength(1);
    expect(api['SECRETS_KEY'] ?? api['SECRETS_KEY_FILE']).toBe(Object.values(given)[0]);
  });

  test('treats an empty value as missing', () => {
    const env = { ...shared, DATABASE_POOL_MAX: '', API_DATABASE_URL: '', SECRETS_DIR: '' };
    const api = environmentOf('api', env);
    expect(api).toMatchObject({
      DATABASE_POOL_MAX: '4',
      DATABASE_URL: expect.stringContaining('opentill_api@'),
    });
    expect(Object.keys(api).filter((name) => name.endsWith('_FILE'))).toEqual(['NETWORKS_FILE']);
  });

  test.each(['DATABASE_URL', 'AMQP_URL'])(
    'rejects a %s with a user, because one role would have all rights',
    (name) => {
      const env = { ...shared, [name]: 'amqp://root:hidden@server/x' };
      expect(() => environmentOf('api', env)).toThrow(
        expect.objectContaining({
          code: 'CONFIG_INVALID',
          message: expect.stringContaining(`${name} names a user`),
        }),
      );
      expect(() => environmentOf('api', env)).not.toThrow(/hidden/);
    },
  );
});

describe('composeGateway', () => {
  let directory: string;
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'opentill-small-'));
  });
  afterAll(() => rmSync(directory, { recursive: true }));

  test('refuses to start if it can read the passphrase of the keystore', () => {
    expect(() => refuseKeystore({ ...shared, SECRETS_DIR: directory })).not.toThrow();
    writeFileSync(join(directory, 'keystore_passphrase'), 'a passphrase\n');
    expect(() => refuseKeystore({ ...shared, SECRETS_DIR: directory })).toThrow(
      expect.objectContaining({ code: 'KEYSTORE_IN_REACH', retryable: false }),
    );
  });

  test('refuses to start with a secret of the wallet in its environment', () => {
    expect(() => refuseKeystore({ ...shared, KEYSTORE_PASSWORD: 'x' })).toThrow(
      expect.objectContaining({ code: 'SECRET_IN_ENVIRONMENT' }),
    );
  });
});
