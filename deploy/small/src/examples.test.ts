import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { API_CONFIG_SCHEMA } from '@opentill/api/config';
import { TRACKER_CONFIG_SCHEMA } from '@opentill/confirmation-tracker/config';
import { OPS_CONFIG_SCHEMA } from '@opentill/ops/config';
import { SIGNER_CONFIG_SCHEMA } from '@opentill/payout-signer/config';
import { RATES_CONFIG_SCHEMA } from '@opentill/rates/config';
import { readConfig, type ConfigSchema, type Environment } from '@opentill/runtime/config';
import { SCANNER_CONFIG_SCHEMA } from '@opentill/scanner-evm/config';
import { SCANNER_CONFIG_SCHEMA as SCANNER_SUI_CONFIG_SCHEMA } from '@opentill/scanner-sui/config';
import { SCANNER_CONFIG_SCHEMA as SCANNER_TRON_CONFIG_SCHEMA } from '@opentill/scanner-tron/config';
import { WEBHOOK_SENDER_CONFIG_SCHEMA } from '@opentill/webhook-sender/config';
import { environmentOf, type SmallService } from './environment-of.ts';

// Units, environment file and docker-compose.small.yml must agree with the services' schemas.

const CHECKOUT = join(import.meta.dirname, '..', '..', '..');
const read = (path: string): string => readFileSync(join(CHECKOUT, path), 'utf8');

const IN_GATEWAY: Readonly<Partial<Record<SmallService, ConfigSchema>>> = {
  api: API_CONFIG_SCHEMA,
  'scanner-evm': SCANNER_CONFIG_SCHEMA,
  'scanner-tron': SCANNER_TRON_CONFIG_SCHEMA,
  'scanner-sui': SCANNER_SUI_CONFIG_SCHEMA,
  'confirmation-tracker': TRACKER_CONFIG_SCHEMA,
  'webhook-sender': WEBHOOK_SENDER_CONFIG_SCHEMA,
  rates: RATES_CONFIG_SCHEMA,
  ops: OPS_CONFIG_SCHEMA,
};
const PROCESSES: Readonly<Record<string, typeof IN_GATEWAY>> = {
  gateway: IN_GATEWAY,
  signer: { 'payout-signer': SIGNER_CONFIG_SCHEMA },
};

let secrets: string;
beforeAll(() => {
  secrets = mkdtempSync(join(tmpdir(), 'opentill-small-'));
});
afterAll(() => rmSync(secrets, { recursive: true }));

function folderWith(name: string, names: readonly string[]): string {
  const folder = join(secrets, name);
  mkdirSync(folder, { recursive: true });
  for (const secret of names)
    writeFileSync(join(folder, secret), secret === 'secrets_key' ? `${'A'.repeat(43)}=` : 'hidden');
  return folder;
}

function secretsAsked(services: typeof IN_GATEWAY, env: Environment, folder: string): string[] {
  const asked = Object.keys(services).flatMap((service) =>
    Object.values(environmentOf(service as SmallService, env)).filter((value) =>
      value?.startsWith(`${folder}/`),
    ),
  );
  return [...new Set(asked.map((path) => basename(path ?? '')))].sort();
}

function expectReadable(services: typeof IN_GATEWAY, env: Environment): void {
  for (const [service, schema] of Object.entries(services))
    expect(() => readConfig(schema, environmentOf(service as SmallService, env))).not.toThrow();
}

describe('systemd units', () => {
  const lines = (text: string): string[] =>
    text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  const pairs = (texts: readonly string[]): Record<string, string> =>
    Object.fromEntries(texts.map((text) => text.split(/=(.*)/s, 2) as [string, string]));
  const example = pairs(lines(read('deploy/small/opentill.env.example')));

  test.each(Object.entries(PROCESSES))(
    'the %s accepts the example environment and gets only its own secrets',
    (name, services) => {
      const unit = lines(read(`deploy/small/opentill-${name}.service`));
      const valuesOf = (key: string): string[] =>
        unit.flatMap((line) => (line.startsWith(`${key}=`) ? [line.slice(key.length + 1)] : []));
      const credentials = valuesOf('LoadCredential').map((value) => value.split(':', 1)[0] ?? '');
      const folder = folderWith(name, credentials);
      const environment = valuesOf('Environment').flatMap((value) =>
        value.startsWith('"') ? [value.slice(1, -1)] : value.split(' '),
      );
      const env = { ...example, ...pairs(environment.map((pair) => pair.replaceAll('%d', folder))) };
      expectReadable(services, env);
      expect(secretsAsked(services, env, folder)).toEqual(credentials.sort());
      expect(valuesOf('ExecStart')[0]).toMatch(new RegExp(`/build/small/dist/${name}\\.js$`));
      expect(read(`deploy/small/src/${name}.ts`)).toContain('runProcess(');
    },
  );

  test('units give only the signer the secrets that open the keystore', () => {
    const holders = Object.keys(PROCESSES).filter((name) =>
      /keystore/i.test(read(`deploy/small/opentill-${name}.service`)),
    );
    expect(holders).toEqual(['signer']);
  });
});

describe('docker-compose.small.yml', () => {
  interface Container {
    readonly environment?: Readonly<Record<string, string | number>>;
    readonly secrets?: readonly string[];
    readonly volumes?: readonly string[];
    readonly networks?: readonly string[] | Readonly<Record<string, unknown>>;
    readonly scale?: number;
  }
  const load = (path: string) =>
    (parse(read(path), { merge: true }) as { services: Readonly<Record<string, Container>> }).services;
  const [base, small] = [load('docker-compose.yml'), load('docker-compose.small.yml')];
  /** Merges the second file into the first like compose, with default values of all variables. */
  const environment = (name: string): Record<string, string> =>
    Object.fromEntries(
      Object.entries({ ...base[name]?.environment, ...small[name]?.environment }).map(([variable, value]) => [
        variable,
        `${value}`.replaceAll(/\$\{[A-Z_]+(?::?[-?]([^}]*))?\}/g, (_, rest = '') =>
          variable === 'CHECKOUT_BASE_URL' ? 'https://pay.example.com/checkout' : `${rest}`,
        ),
      ]),
    );
  const given = [...(base['api']?.secrets ?? []), ...(small['api']?.secrets ?? [])];

  test("gives the public container each service's own secrets and no others", () => {
    const folder = folderWith('compose', given);
    const env = Object.fromEntries(
      Object.entries(environment('api')).map(([name, value]) => [
        name,
        value.replace('/run/secrets', folder),
      ]),
    );
    expectReadable(IN_GATEWAY, env);
    expect(secretsAsked(IN_GATEWAY, env, folder)).toEqual(given.sort());
    expect(given).not.toContain('keystore_passphrase');
  });

  test('replaces all other containers by one and keeps their settings', () => {
    const inside = [
      'scanner-evm',
      'scanner-tron',
      'scanner-sui',
      'confirmation-tracker',
      'webhook-sender',
      'rates',
      'ops',
    ];
    for (const name of inside) expect(small[name]).toEqual({ scale: 0 });
    const networksOf = (container: Container | undefined): string[] => {
      const { networks = [] } = container ?? {};
      return Array.isArray(networks) ? [...(networks as readonly string[])] : Object.keys(networks);
    };
    const needed = ['api', ...inside].flatMap((name) => networksOf(base[name]));
    expect(networksOf(small['api']).sort()).toEqual([...new Set(needed)].sort());
    const endpoints = Object.keys(base['scanner-evm']?.environment ?? {}).filter((name) =>
      /_(RPC_URLS|SOLIDITY_URLS|WS_URL)$/.test(name),
    );
    expect(Object.keys(small['api']?.environment ?? {})).toEqual(expect.arrayContaining(endpoints));
    for (const service of ['webhook-sender', 'rates']) {
      const settings = Object.entries(base[service]?.environment ?? {}).filter(([, value]) =>
        `${value}`.startsWith('${'),
      );
      for (const [name, value] of settings)
        expect([name, environment('api')[name]]).toEqual([name, environment(service)[name] ?? value]);
    }
  });

  test('uses only variables that .env.example explains', () => {
    const used = [...read('docker-compose.small.yml').matchAll(/\$\{([A-Z_]+)/g)].map(([, name]) => name);
    const explained = read('.env.example');
    expect(used.filter((name) => !new RegExp(`^${name}=`, 'm').test(explained))).toEqual([]);
  });
});
