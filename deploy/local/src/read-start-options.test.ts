import { expect, test } from 'vitest';
import { chooseStateDirectory, readStartOptions } from './read-start-options.ts';

const request = { args: [], env: {}, isRoot: false, checkout: '/home/dev/opentill' };

test('returns the local profile without settings', () => {
  expect(readStartOptions(request)).toMatchObject({
    stateDir: '/home/dev/opentill/.local',
    keep: false,
    merchant: {
      token: 'dev-merchant-token-of-this-machine',
      webhookSecret: 'dev-webhook-secret',
      callbackUrl: 'http://localhost:3011/callbacks',
      version: 'V3',
    },
    ports: { api: 3010, chains: { ETH_SEPOLIA: 8545, BSC_TEST: 8546, TRON_TEST: 9090 } },
  });
});

test('accepts each setting and treats an empty one as missing', () => {
  const env = {
    MERCHANT_TOKEN: 'my-merchant-token-0123456789-0123456789',
    WEBHOOK_SECRET: '',
    CALLBACK_URL: 'http://localhost:9/x',
    MERCHANT_VERSION: 'V2',
    DATABASE_URL: 'postgres://somewhere/db',
  };
  const options = readStartOptions({ ...request, args: ['--keep'], env });
  expect(options.merchant).toEqual({
    token: 'my-merchant-token-0123456789-0123456789',
    webhookSecret: 'dev-webhook-secret',
    callbackUrl: 'http://localhost:9/x',
    version: 'V2',
  });
  expect(options).toMatchObject({ keep: true, given: { databaseUrl: 'postgres://somewhere/db' } });
});

test('takes a network file from the checkout, and reports a missing file name', () => {
  const options = readStartOptions({ ...request, args: ['--networks', 'my-networks.json'] });
  expect(options.ownNodes?.networksFile).toBe('/home/dev/opentill/my-networks.json');
  expect(() => readStartOptions({ ...request, args: ['--networks'] })).toThrow(/--networks FILE/);
});

test('rejects unknown arguments and settings by name', () => {
  expect(() => readStartOptions({ ...request, args: ['--kep'] })).toThrow(/--kep/);
  expect(() => readStartOptions({ ...request, env: { MERCHANT_VERSION: 'V4' } })).toThrow(/V4/);
});

test("keeps root's state where other users can enter, one directory per checkout", () => {
  const [one, other] = ['/root/a', '/root/b'].map((checkout) =>
    chooseStateDirectory({ ...request, isRoot: true, checkout }),
  );
  expect(one).toMatch(/^\/var\/tmp\/opentill-[0-9a-f]{12}$/);
  expect(other).not.toBe(one);
  const env = { OPENTILL_STATE_DIR: 'state' };
  expect(chooseStateDirectory({ isRoot: true, env, checkout: '/root/a' })).toBe('/root/a/state');
});
