import { execFileSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { PRESET_CHAINS, PRESETS } from '@opentill/domain/chains';
import { readConfig, type ConfigSchema, type Environment } from '@opentill/runtime/config';
import { API_CONFIG_SCHEMA } from '@opentill/api/config';
import { OPERATOR_CONFIG_SCHEMA, SETUP_CONFIG_SCHEMA } from '@opentill/cli/config';
import { TRACKER_CONFIG_SCHEMA } from '@opentill/confirmation-tracker/config';
import { OPS_CONFIG_SCHEMA } from '@opentill/ops/config';
import { SIGNER_CONFIG_SCHEMA } from '@opentill/payout-signer/config';
import { RATES_CONFIG_SCHEMA } from '@opentill/rates/config';
import { SCANNER_CONFIG_SCHEMA } from '@opentill/scanner-evm/config';
import { SCANNER_CONFIG_SCHEMA as SCANNER_SUI_CONFIG_SCHEMA } from '@opentill/scanner-sui/config';
import { SCANNER_CONFIG_SCHEMA as SCANNER_TRON_CONFIG_SCHEMA } from '@opentill/scanner-tron/config';
import { WEBHOOK_SENDER_CONFIG_SCHEMA } from '@opentill/webhook-sender/config';
import { SHOP_CONFIG_SCHEMA } from '@opentill/demo-shop/config';
import { CHAIN_CONFIG_SCHEMA, FUND_CONFIG_SCHEMA } from './config.ts';

// docker-compose.yml, .env.example and the services' schemas must agree. The test parses the files like an engine,
// without one.

const CHECKOUT = join(import.meta.dirname, '..', '..', '..');
const read = (path: string): string => readFileSync(join(CHECKOUT, path), 'utf8');

interface ComposeService {
  readonly build?: { readonly target: string; readonly args: Readonly<Record<string, string>> };
  readonly image: string;
  readonly environment?: Readonly<Record<string, string | number>>;
  readonly secrets?: readonly string[];
  readonly volumes?: readonly string[];
  readonly networks?: readonly string[];
  readonly network_mode?: string;
  readonly ports?: readonly string[];
  readonly profiles?: readonly string[];
  readonly [key: string]: unknown;
}
interface ComposeFile {
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly networks: Readonly<Record<string, { readonly internal?: boolean }>>;
  readonly secrets: Readonly<Record<string, { readonly file: string }>>;
}

const path = { type: 'string', minLength: 1 } as const;
const ARCHIVE_CONFIG_SCHEMA: ConfigSchema = {
  properties: {
    ...OPERATOR_CONFIG_SCHEMA.properties,
    KEYSTORE_FILE: path,
    POLICY_FILE: path,
    PUBLIC_KEYS_FILE: path,
  },
};
const SCHEMAS: Readonly<Record<string, ConfigSchema>> = {
  setup: SETUP_CONFIG_SCHEMA,
  cli: OPERATOR_CONFIG_SCHEMA,
  archive: ARCHIVE_CONFIG_SCHEMA,
  owner: OPERATOR_CONFIG_SCHEMA,
  api: API_CONFIG_SCHEMA,
  'scanner-evm': SCANNER_CONFIG_SCHEMA,
  'scanner-tron': SCANNER_TRON_CONFIG_SCHEMA,
  'scanner-sui': SCANNER_SUI_CONFIG_SCHEMA,
  'confirmation-tracker': TRACKER_CONFIG_SCHEMA,
  'webhook-sender': WEBHOOK_SENDER_CONFIG_SCHEMA,
  rates: RATES_CONFIG_SCHEMA,
  'payout-signer': SIGNER_CONFIG_SCHEMA,
  ops: OPS_CONFIG_SCHEMA,
  'demo-shop': SHOP_CONFIG_SCHEMA,
  'eth-sepolia': CHAIN_CONFIG_SCHEMA,
  'bsc-test': CHAIN_CONFIG_SCHEMA,
  'tron-test': CHAIN_CONFIG_SCHEMA,
  'sui-test': CHAIN_CONFIG_SCHEMA,
  'devnet-funds': FUND_CONFIG_SCHEMA,
};
/** Their scripts pass options to opentill instead. */
const WITHOUT_SCHEMA = ['wallet', 'keys', 'devnet-keys'];
const SERVERS = ['postgres', 'rabbitmq'];
const OF_COMPOSE = ['COMPOSE_PROFILES'];
const ENDPOINT = new RegExp(`^(${PRESET_CHAINS.join('|')})_(RPC_URLS|SOLIDITY_URLS|WS_URL)$`);
const SECRET_NAME = /PASSWORD|PASSPHRASE|TOKEN|SECRET|_KEY$|^KEY/;

/** Created by commands, not by `prepare`. */
const IN_VOLUMES = ['PUBLIC_KEYS_FILE', 'KEYSTORE_FILE', 'OPS_TOKEN_FILE'];

const text = read('docker-compose.yml');
const scannerFiles = readdirSync(join(CHECKOUT, 'deploy/compose')).filter((name) =>
  /^scanners\..*yml$/.test(name),
);
const compose = parse(text, { merge: true }) as ComposeFile;
const ours = Object.entries(compose.services).filter(([name]) => !SERVERS.includes(name));

function readEnv(path: string): Record<string, string> {
  const lines = read(path)
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  );
}

/** Substitutes `${NAME-default}`, `${NAME:?message}` and `${NAME}` like compose. */
function interpolate(value: string, env: Readonly<Record<string, string>>): string {
  return value.replace(
    /\$\{([A-Z_]+)(?:(:?[-?])([^}]*))?\}/g,
    (_, name: string, operator?: string, rest = '') => {
      const given = env[name];
      if (operator === '-') return given ?? rest;
      if (operator === ':?' && (given === undefined || given === '')) throw new Error(`${name}: ${rest}`);
      return given ?? '';
    },
  );
}

function variablesOf(source: string): Set<string> {
  return new Set([...source.matchAll(/(?<!\$)\$\{([A-Z_]+)/g)].map(([, name = '']) => name));
}

const example = readEnv('.env.example');
const devnet = readEnv('deploy/compose/devnet.env');

describe('.env.example', () => {
  test('.env.example has exactly the variables of docker-compose.yml', () => {
    const used = variablesOf(
      [text, ...scannerFiles.map((name) => read(`deploy/compose/${name}`))].join('\n'),
    );
    expect(Object.keys(example).sort()).toEqual([...used, ...OF_COMPOSE].sort());
    expect(Object.keys(devnet).filter((name) => !(name in example))).toEqual([]);
  });

  test('.env.example contains no secret and points to the secret files', () => {
    const suspicious = [example, devnet].flatMap((env) =>
      Object.keys(env).filter((name) => SECRET_NAME.test(name) && !/^SECRETS_(DIR|GID)$/.test(name)),
    );
    expect(suspicious).toEqual([]);
    for (const [name, { file }] of Object.entries(compose.secrets))
      expect(interpolate(file, example)).toBe(`${example['SECRETS_DIR']}/${name}`);
  });

  test('.env.example has endpoints for every chain with a scanner', () => {
    const chainsOf = (family: string) => PRESET_CHAINS.filter((chain) => PRESETS[chain].family === family);
    const expected = [
      ...chainsOf('EVM').flatMap((chain) => [`${chain}_RPC_URLS`, `${chain}_WS_URL`]),
      ...chainsOf('TRON').map((chain) => `${chain}_SOLIDITY_URLS`),
      // TRON and SUI nodes have no WebSocket.
      ...[...chainsOf('TRON'), ...chainsOf('SUI')].map((chain) => `${chain}_RPC_URLS`),
    ];
    expect(
      Object.keys(example)
        .filter((name) => ENDPOINT.test(name))
        .sort(),
    ).toEqual(expected.sort());
  });
});

describe('environment of a container', () => {
  let directory: string;
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'opentill-compose-'));
    mkdirSync(join(directory, 'deploy'));
    cpSync(join(CHECKOUT, 'deploy/compose'), join(directory, 'deploy/compose'), {
      recursive: true,
      filter: (path) => !/node_modules|dist|secrets$/.test(basename(path)),
    });
    cpSync(join(CHECKOUT, '.env.example'), join(directory, '.env.example'));
    prepare();
  });
  afterAll(() => rmSync(directory, { recursive: true }));

  function prepare(...args: string[]): string {
    return prepareWith({ PATH: '/usr/bin:/bin' }, ...args);
  }

  function prepareWith(env: Readonly<Record<string, string>>, ...args: string[]): string {
    const script = join(directory, 'deploy/compose/prepare');
    return execFileSync('sh', [script, ...args], { encoding: 'utf8', env, stdio: 'pipe' });
  }
  const secretsDirectory = (): string => join(directory, 'deploy/compose/secrets');

  /** Environment of the container, with secrets at their path in this test. */
  function environmentOf(service: ComposeService, env: Readonly<Record<string, string>>): Environment {
    const entries = Object.entries(service.environment ?? {}).map(
      ([name, value]) =>
        [name, interpolate(`${value}`, env).replace(/^\/run\/secrets\//, `${secretsDirectory()}/`)] as const,
    );
    return Object.fromEntries(entries);
  }

  test('prepare creates missing secrets, readable by their group, and replaces none', () => {
    expect(readdirSync(secretsDirectory()).sort()).toEqual(Object.keys(compose.secrets).sort());
    const contents = () =>
      Object.keys(compose.secrets).map((name) => readFileSync(join(secretsDirectory(), name), 'utf8'));
    const before = contents();
    expect(new Set(before).size).toBe(before.length);
    for (const name of Object.keys(compose.secrets))
      expect(statSync(join(secretsDirectory(), name)).mode & 0o777).toBe(0o440);
    rmSync(join(secretsDirectory(), 'merchant_token'));
    expect(prepare('devnet')).toMatch(/\.env exists and stays unchanged\n1 secrets made/);
    const after = contents();
    const place = Object.keys(compose.secrets).indexOf('merchant_token');
    expect(after[place]).not.toBe(before[place]);
    expect(after.toSpliced(place, 1)).toEqual(before.toSpliced(place, 1));
  });

  test('prepare replaces image tags by digests that the engine has', () => {
    const docker = join(directory, 'docker');
    writeFileSync(
      docker,
      `#!/bin/sh\ncase "$*" in pull*|*rabbitmq*) exit 1;; *format*postgres*) echo postgres@sha256:abc;; *) exit 0;; esac\n`,
      { mode: 0o755 },
    );
    prepareWith({ PATH: `${directory}:${process.env['PATH']}` });
    const env = readFileSync(join(directory, '.env'), 'utf8');
    expect(env).toContain('\nPOSTGRES_IMAGE=postgres@sha256:abc\n');
    expect(env).toContain('\nRABBITMQ_IMAGE=rabbitmq:4-management\n');
  });

  test('prepare creates a secret in place of a directory that an engine left', () => {
    const file = join(secretsDirectory(), 'webhook_secret');
    rmSync(file);
    mkdirSync(file);
    expect(prepare()).toMatch(/\n1 secrets made/);
    expect(readFileSync(file, 'utf8')).toHaveLength(40);
  });

  test.each(Object.keys(SCHEMAS))('%s accepts its environment and uses every variable', (name) => {
    const service = compose.services[name];
    const schema = SCHEMAS[name];
    if (service === undefined || schema === undefined) throw new Error(`no ${name}`);
    for (const env of [example, devnet])
      expect(() => readConfig(schema, environmentOf(service, env))).not.toThrow();
    const readsNetworks = 'NETWORKS_FILE' in schema.properties;
    const unknown = Object.keys(service.environment ?? {}).filter((variable) => {
      const plain = variable in schema.properties ? variable : variable.replace(/_FILE$/, '');
      const ofUrl = plain.replace(/_PASSWORD$/, '_URL');
      const isEndpoint = readsNetworks && ENDPOINT.test(plain);
      return !(
        plain in schema.properties ||
        ofUrl in schema.properties ||
        isEndpoint ||
        plain === 'LOG_LEVEL'
      );
    });
    expect(unknown).toEqual([]);
  });

  test('covers every service of docker-compose.yml', () => {
    expect([...Object.keys(SCHEMAS), ...WITHOUT_SCHEMA].sort()).toEqual(ours.map(([name]) => name).sort());
  });

  test.each(ours)('%s gets only the secrets it needs, as files', (_, service) => {
    const files: string[] = [];
    for (const [name, value] of Object.entries(service.environment ?? {})) {
      if (!SECRET_NAME.test(name) || IN_VOLUMES.includes(name)) continue;
      expect([name, `${value}`]).toEqual([
        expect.stringMatching(/_FILE$/),
        expect.stringMatching(/^\/run\/secrets\/[a-z_]+$/),
      ]);
      files.push(basename(`${value}`));
    }
    const given = service.secrets ?? [];
    expect([...new Set(files)].filter((file) => !given.includes(file))).toEqual([]);
    const unexplained = given.filter((secret) => !files.includes(secret) && secret !== 'keystore_passphrase');
    expect(unexplained).toEqual([]);
  });
});

describe('payout-signer container', () => {
  const signer = compose.services['payout-signer'];

  test('connects the signer only to database, broker and chains, without a port', () => {
    expect(signer?.ports).toBeUndefined();
    expect(signer?.environment?.['HEALTH_HOST']).toBe('127.0.0.1');
    expect(signer?.networks).toEqual(['signer', 'signer-rpc']);
    expect(compose.networks['signer']).toEqual({ internal: true });
    const neighbours = Object.entries(compose.services)
      .filter(([, { networks = [] }]) => networks.some((network) => signer?.networks?.includes(network)))
      .map(([name]) => name);
    expect(neighbours.sort()).toEqual([
      'bsc-test',
      'eth-sepolia',
      'payout-signer',
      'postgres',
      'rabbitmq',
      'sui-test',
      'tron-test',
    ]);
  });

  const holders = (holds: (service: ComposeService) => boolean) =>
    Object.entries(compose.services)
      .flatMap(([name, service]) => (holds(service) ? [name] : []))
      .sort();

  test('gives no other running container the keystore and its passphrase', () => {
    const keys = holders(({ volumes = [] }) => volumes.some((volume) => volume.startsWith('keys:')));
    expect(keys).toEqual(['archive', 'devnet-keys', 'keys', 'payout-signer']);
    const passphrase = holders(({ secrets = [] }) => secrets.includes('keystore_passphrase'));
    expect(passphrase).toEqual(['devnet-keys', 'keys', 'payout-signer']);
    expect(signer?.volumes).toContain('keys:/var/lib/opentill/keys:ro');
    for (const step of ['keys', 'devnet-keys']) {
      expect(compose.services[step]).toMatchObject({ network_mode: 'none', restart: 'no' });
      expect(compose.services[step]?.profiles).toHaveLength(1);
    }
  });

  test('copies the sealed keystore into a backup in a step without internet access', () => {
    expect(compose.services['archive']).toMatchObject({
      profiles: ['tools'],
      restart: 'no',
      networks: ['data'],
    });
    expect(compose.networks['data']).toEqual({ internal: true });
  });

  test('disables debugger signals, `__proto__` and core dumps of the signer', () => {
    expect(signer?.['entrypoint']).toEqual(
      expect.arrayContaining(['node', '--disable-sigusr1', '--disable-proto=throw', '/app/dist/main.js']),
    );
    expect(signer?.['ulimits']).toEqual({ core: 0 });
    const unit = read('deploy/small/opentill-signer.service');
    expect(unit).toMatch(/^ExecStart=\S+\/node --disable-sigusr1 --disable-proto=throw /m);
    expect(unit).toMatch(/^LimitCORE=0$/m);
  });

  test("keeps only the signer's state on a volume that outlives its container", () => {
    const state = holders(({ volumes = [] }) => volumes.some((volume) => volume.startsWith('signer-state:')));
    expect(state).toEqual(['payout-signer']);
    const { SIGNER_STATE_DIR } = signer?.environment ?? {};
    expect(signer?.volumes).toContain(`signer-state:${SIGNER_STATE_DIR}`);
  });

  test('gives only one-off steps the owner of the database', () => {
    const owners = holders(({ secrets = [] }) => secrets.includes('database_admin_password'));
    expect(owners).toEqual(['archive', 'owner', 'postgres', 'setup']);
  });
});

describe('running containers', () => {
  test("exposes only the api publicly and the operators' API to this machine", () => {
    const published = Object.fromEntries(
      Object.entries(compose.services).flatMap(([name, { ports }]) =>
        ports === undefined ? [] : [[name, ports]],
      ),
    );
    const { api, ops, ...others } = published;
    expect(api).toEqual(['${API_ADDRESS-127.0.0.1}:${API_PORT-3010}:3010']);
    expect(ops).toEqual(['127.0.0.1:${OPS_PORT-3012}:3012']);
    for (const [name, ports] of Object.entries(others)) {
      expect(compose.services[name]?.profiles).toEqual(['devnet']);
      for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
    }
  });

  test.each(ours)('%s has no privileges, no writable disk, and limits', (_, service) => {
    expect(service).toMatchObject({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
      stop_grace_period: '15s',
      pids_limit: expect.any(Number),
      mem_limit: expect.stringMatching(/^\d+[mg]$/),
      logging: { driver: 'json-file', options: { 'max-size': '10m', 'max-file': '5' } },
    });
    expect(service['user']).toBeUndefined(); // the unprivileged user of the image
    const isStep = service.build?.target === 'command' || service.image.includes('/devnet:');
    expect(service['restart']).toBe(
      isStep && service['command']?.toString() !== 'chain' ? 'no' : 'unless-stopped',
    );
  });

  test.each(Object.entries(compose.services))(
    '%s has sorted lists, so that a second file does not change them',
    (_, service) => {
      // docker-compose 1.29 sorts lists when it merges files, and recreates containers whose order changed.
      const targets = (service.volumes ?? []).map((volume) => interpolate(volume, example).split(':')[1]);
      expect(targets).toEqual(targets.toSorted());
      expect(service.secrets ?? []).toEqual((service.secrets ?? []).toSorted());
    },
  );

  test.each(SERVERS)('%s is reachable only from our networks', (name) => {
    const server = compose.services[name];
    expect(server).toMatchObject({
      networks: ['data', 'signer'],
      cap_drop: ['ALL'],
      restart: 'unless-stopped',
    });
    expect(server?.ports).toBeUndefined();
    expect(compose.networks['data']).toEqual({ internal: true });
  });
});

describe('one scanner container per EVM chain', () => {
  test.each(scannerFiles)('%s names every enabled chain once', (file) => {
    const { services } = parse(read(`deploy/compose/${file}`), { merge: true }) as ComposeFile;
    const { 'scanner-evm': whole, ...single } = services;
    expect(whole).toEqual({ scale: 0 });
    const networks = file.includes('devnet') ? 'local' : file.split('.')[1];
    const configured = (
      JSON.parse(read(`deploy/networks/${networks}.json`)) as {
        networks: { chain: string; family: string; enabled: boolean }[];
      }
    ).networks.filter(({ family, enabled }) => family === 'EVM' && enabled);
    expect(Object.values(single).map(({ environment }) => environment?.['CHAINS'])).toEqual(
      configured.map(({ chain }) => chain),
    );
    for (const { environment, ...scanner } of Object.values(single)) {
      const { environment: original, ...base } = compose.services['scanner-evm'] as ComposeService;
      expect(scanner).toEqual(base);
      expect({ ...environment, CHAINS: original?.['CHAINS'] }).toEqual(original);
    }
  });
});
