import { hostname } from 'node:os';
import { expect, test } from 'vitest';
import { readConfig, type Environment } from './config.ts';
import {
  SERVICE_REQUIRED,
  serviceProperties,
  serviceSettings,
  type ServiceVariables,
} from './service-settings.ts';

const schema = {
  required: SERVICE_REQUIRED,
  properties: serviceProperties({ healthPort: 3021, databasePoolMax: 8, databasePoolMaxLimit: 100 }),
};
const read = (env: Environment) => serviceSettings(readConfig<ServiceVariables>(schema, env));
const servers = { DATABASE_URL: 'postgresql://x@y/z', AMQP_URL: 'amqps://x@y' };

test('uses the defaults of every service', () => {
  expect(read(servers)).toEqual({
    logLevel: 'info',
    healthPort: 3021,
    healthHost: '127.0.0.1',
    databaseUrl: servers.DATABASE_URL,
    databasePoolMax: 8,
    databasePrepare: true,
    amqpUrl: servers.AMQP_URL,
    instanceId: expect.stringMatching(new RegExp(`^${hostname()}-${process.pid}-[0-9a-f]{8}$`)),
  });
  expect(
    read({ ...servers, INSTANCE_ID: 'a-1', DATABASE_POOL_MAX: '100', DATABASE_PREPARE: 'false' }),
  ).toMatchObject({
    instanceId: 'a-1',
    databasePrepare: false,
    databasePoolMax: 100,
  });
});

test('names all mistakes at once', () => {
  const env = {
    DATABASE_URL: 'mysql://x',
    LOG_LEVEL: 'loud',
    DATABASE_POOL_MAX: '101',
    HEALTH_PORT: '65536',
    INSTANCE_ID: 'a b',
  };
  for (const name of [...Object.keys(env), 'AMQP_URL']) expect(() => read(env)).toThrow(name);
});
