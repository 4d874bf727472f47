import { expect, test } from 'vitest';
import { readTrackerConfig } from './config.ts';

const given = {
  DATABASE_URL: 'postgres://opentill_tracker@127.0.0.1/opentill',
  AMQP_URL: 'amqp://127.0.0.1',
  NETWORKS_FILE: 'networks.json',
};

test('reads the configuration from three required settings', () => {
  expect(readTrackerConfig(given)).toEqual({
    logLevel: 'info',
    healthPort: 3022,
    inboxKeptSeconds: 86_400,
    healthHost: '127.0.0.1',
    databaseUrl: given.DATABASE_URL,
    databasePoolMax: 16,
    databasePrepare: true,
    amqpUrl: given.AMQP_URL,
    instanceId: expect.stringMatching(/^.+-\d+-[0-9a-f]{8}$/),
    networksFile: 'networks.json',
  });
});

test('names every configuration mistake at once', () => {
  const wrong = { DATABASE_URL: 'mysql://x', HEALTH_PORT: 'high', LOG_LEVEL: 'loud' };
  expect(() => readTrackerConfig(wrong)).toThrow(
    expect.objectContaining({
      code: 'CONFIG_INVALID',
      message: expect.stringMatching(
        /(?=.*DATABASE_URL)(?=.*HEALTH_PORT)(?=.*LOG_LEVEL)(?=.*AMQP_URL)(?=.*NETWORKS_FILE)/,
      ),
    }),
  );
});
