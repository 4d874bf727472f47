import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { GatewayError } from '@opentill/domain/gateway-error';
import { readConfig, type ConfigSchema, type Environment } from './config.ts';

const schema: ConfigSchema = {
  required: ['DATABASE_URL', 'SECRETS_KEY'],
  properties: {
    DATABASE_URL: { type: 'string', format: 'uri' },
    SECRETS_KEY: { type: 'string', minLength: 8 },
    PORT: { type: 'integer', minimum: 1, maximum: 65_535, default: 3010 },
    RATIO: { type: 'number', default: 0.5 },
    ALLOW_HTTP: { type: 'boolean', default: false },
    CHAINS: { type: 'array', items: { type: 'string' } },
    SCHEDULE: { type: 'array', items: { type: 'integer', minimum: 1 }, default: [1, 5] },
    LOG_LEVEL: { type: 'string', enum: ['info', 'debug'], default: 'info' },
    NETWORKS_FILE: { type: 'string', default: 'networks.json' },
  },
};
const good: Environment = { DATABASE_URL: 'postgres://a@b/c', SECRETS_KEY: 'very-secret-key' };

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'opentill-config-'));
});
afterAll(() => rmSync(dir, { recursive: true }));
function file(name: string, text: string): string {
  const path = join(dir, name);
  writeFileSync(path, text);
  return path;
}
function problemsOf(env: Environment): string[] {
  try {
    readConfig(schema, env);
  } catch (error) {
    expect(error).toBeInstanceOf(GatewayError);
    expect(error).toMatchObject({ code: 'CONFIG_INVALID', retryable: false });
    return (error as GatewayError).context['problems'] as string[];
  }
  throw new Error('accepted');
}

describe('readConfig', () => {
  test('reads only the variables of the schema, with defaults', () => {
    expect(readConfig(schema, { ...good, HOME: '/root', PATH: '/bin' })).toEqual({
      ...good,
      PORT: 3010,
      RATIO: 0.5,
      ALLOW_HTTP: false,
      SCHEDULE: [1, 5],
      LOG_LEVEL: 'info',
      NETWORKS_FILE: 'networks.json',
    });
  });

  test('converts text to integers, numbers, booleans and lists', () => {
    const env = { ...good, PORT: '80', RATIO: '0.25', ALLOW_HTTP: '1', CHAINS: 'A, B,,', SCHEDULE: '1,300' };
    expect(readConfig(schema, env)).toMatchObject({
      PORT: 80,
      RATIO: 0.25,
      ALLOW_HTTP: true,
      CHAINS: ['A', 'B'],
      SCHEDULE: [1, 300],
    });
  });

  test('treats an empty variable as absent', () => {
    expect(readConfig(schema, { ...good, PORT: '' })).toMatchObject({ PORT: 3010 });
    expect(problemsOf({ ...good, SECRETS_KEY: '' })).toEqual(['SECRETS_KEY is missing']);
  });

  test('names every mistake at once', () => {
    const problems = problemsOf({
      DATABASE_URL: 'nonsense',
      PORT: '8o',
      ALLOW_HTTP: 'yes',
      SCHEDULE: '5,x,0',
      LOG_LEVEL: 'loud',
    });
    expect(problems.sort()).toEqual([
      'ALLOW_HTTP must be boolean',
      'DATABASE_URL must match format "uri"',
      'LOG_LEVEL must be equal to one of the allowed values: info, debug',
      'PORT must be integer',
      'SCHEDULE (item 2) must be integer',
      'SCHEDULE (item 3) must be >= 1',
      'SECRETS_KEY is missing',
    ]);
  });

  test.each(['1.5', '0', '65536', '1e3', '-1', ' '])('rejects the port %j', (PORT) => {
    expect(problemsOf({ ...good, PORT })).toHaveLength(1);
  });

  test('never puts a value into an error', () => {
    const value = 'hunter2';
    const problems = problemsOf(
      Object.fromEntries(Object.keys(schema.properties).map((name) => [name, value])) as Environment,
    );
    expect(problems.length).toBeGreaterThan(5);
    expect(problems.join()).not.toContain(value);
  });

  test('reads a variable from a file without its trailing line break', () => {
    const SECRETS_KEY_FILE = file('key', 'from the file \n');
    const env = { DATABASE_URL: good['DATABASE_URL'], SECRETS_KEY_FILE };
    expect(readConfig(schema, env)).toMatchObject({ SECRETS_KEY: 'from the file ' });
  });

  test('rejects a variable set directly and by file, and a missing or empty file', () => {
    const both = { ...good, SECRETS_KEY_FILE: file('key2', 'long enough') };
    expect(problemsOf(both)).toEqual([
      'SECRETS_KEY is set directly and by SECRETS_KEY_FILE: remove one of them',
    ]);
    const missing = { DATABASE_URL: good['DATABASE_URL'], SECRETS_KEY_FILE: join(dir, 'absent') };
    expect(problemsOf(missing)).toEqual([
      'SECRETS_KEY cannot be read from the file in SECRETS_KEY_FILE (ENOENT)',
    ]);
    const empty = { DATABASE_URL: good['DATABASE_URL'], SECRETS_KEY_FILE: file('key3', '\n') };
    expect(problemsOf(empty)).toEqual(['SECRETS_KEY is empty: the file in SECRETS_KEY_FILE has no content']);
  });

  test('adds a separately set password to the URL, also from a file', () => {
    const DATABASE_URL = 'postgres://opentill_api@db:5432/opentill';
    const whole = (password: string) => ({
      DATABASE_URL: `postgres://opentill_api:${password}@db:5432/opentill`,
    });
    const env = { ...good, DATABASE_URL };
    expect(readConfig(schema, { ...env, DATABASE_PASSWORD: 'p@ss/w:rd%' })).toMatchObject(
      whole('p%40ss%2Fw%3Ard%25'),
    );
    const DATABASE_PASSWORD_FILE = file('password', 'from-a-file\n');
    expect(readConfig(schema, { ...env, DATABASE_PASSWORD_FILE })).toMatchObject(whole('from-a-file'));
    const DATABASE_URL_FILE = file('url', `${DATABASE_URL}\n`);
    const files = { SECRETS_KEY: good['SECRETS_KEY'], DATABASE_URL_FILE, DATABASE_PASSWORD_FILE };
    expect(readConfig(schema, files)).toMatchObject(whole('from-a-file'));
    expect(readConfig(schema, { ...env, DATABASE_PASSWORD: '' })).toMatchObject({ DATABASE_URL });
  });

  test('accepts a list of hosts and adds the password to it', () => {
    const hosts = { type: 'string', pattern: '^postgres://' } as const;
    const list: ConfigSchema = { properties: { DATABASE_URL: hosts } };
    const DATABASE_URL = 'postgres://me@one:5432,two:5433/db?target_session_attrs=read-write';
    expect(readConfig(list, { DATABASE_URL, DATABASE_PASSWORD: 'p@ss' })).toEqual({
      DATABASE_URL: DATABASE_URL.replace('me@', 'me:p%40ss@'),
    });
    expect(problemsOf({ ...good, DATABASE_URL: 'postgres://me:hunter2@one,,two/db' })).toEqual([
      'DATABASE_URL has no host at place 2 of its list',
    ]);
  });

  test('rejects a password without a user, a second one, and an unreadable one', () => {
    const DATABASE_PASSWORD = 'hunter2';
    expect(problemsOf({ ...good, DATABASE_URL: 'postgres://a:b@db/c', DATABASE_PASSWORD })).toEqual([
      'DATABASE_URL contains a password and DATABASE_PASSWORD sets another: remove one of them',
    ]);
    expect(problemsOf({ ...good, DATABASE_URL: 'postgres://db/c', DATABASE_PASSWORD })).toEqual([
      'DATABASE_URL needs a user name for the password in DATABASE_PASSWORD',
    ]);
    expect(problemsOf({ ...good, DATABASE_PASSWORD_FILE: join(dir, 'absent') })).toEqual([
      'DATABASE_URL has a password variable DATABASE_PASSWORD that cannot be read from the file in DATABASE_PASSWORD_FILE (ENOENT)',
    ]);
    expect(problemsOf({ ...good, DATABASE_URL: 'nonsense', DATABASE_PASSWORD })).toEqual([
      'DATABASE_URL must match format "uri"',
    ]);
  });

  test('treats a variable whose own name ends in _FILE as a path', () => {
    expect(readConfig(schema, { ...good, NETWORKS_FILE: '/absent' })).toMatchObject({
      NETWORKS_FILE: '/absent',
    });
  });
});
