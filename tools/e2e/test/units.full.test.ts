import { spawn, type ChildProcess } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { sql } from 'kysely';
import { openDatabase } from '@opentill/db/database';
import { startAnvil, type Anvil } from '@opentill/devnets/evm/anvil';
import { deployDevTokens } from '@opentill/devnets/evm/start-evm-devnet';
import { findFreePort } from '@opentill/test-servers/free-port';
import { startPostgres, type PostgresServer } from '@opentill/test-servers/postgres';
import { startRabbitMq, type RabbitMqServer } from '@opentill/test-servers/rabbitmq';
import { entryPoint } from '@opentill/local/checkout';
import { openGuideBook } from '../src/guide-book.ts';
import { CHECKOUT } from '../src/read-markdown.ts';

// Runs the commands of going-to-mainnet.md without Docker, on empty servers and in temporary folders. In place of
// systemd, the test starts the processes with the environment and credentials of their units.

const MAINNET = 'deploy/guides/going-to-mainnet.md';
const CHAIN = 'ETH_SEPOLIA';
/** Query of the endpoint's URL, with characters that a shell would expand. */
const KEY = '?key=a&b=$c';
const POLICY = {
  version: 1,
  chains: { [CHAIN]: { enabled: true, assets: { USDT: bounds('100') } } },
};

const book = openGuideBook('units');
const block = (mark: string): string => book.take(MAINNET, mark)[0];
let folder: string;
let postgres: PostgresServer;
let rabbitMq: RabbitMqServer;
let chain: Anvil;
let ports: Readonly<Record<'api' | 'ops' | 'gateway' | 'signer', number>>;
const units: ChildProcess[] = [];
let journal = '';

function bounds(amount: string) {
  return { maxPerPayout: amount, maxPerHour: amount, maxPerDay: amount, maxPerMerchantPerDay: amount };
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'opentill-units-'));
  chmodSync(folder, 0o711); // lets the servers' users reach their subdirectories
  const managementPort = await findFreePort();
  [postgres, rabbitMq, chain] = await Promise.all([
    startPostgres({ dir: join(folder, 'postgres'), port: await findFreePort(), durable: false }),
    startRabbitMq({ dir: join(folder, 'rabbitmq'), port: await findFreePort(), managementPort }),
    startAnvil({
      dir: join(folder, 'chain'),
      port: await findFreePort(),
      chainId: 11_155_111,
      blockTimeSeconds: 1,
      keepState: false,
    }),
  ]);
  await deployDevTokens({ rpcUrl: chain.rpcUrl, usdtDecimals: 6, usdcDecimals: 6 });
  const [api, ops, gateway, signer] = [
    await findFreePort(),
    await findFreePort(),
    await findFreePort(),
    await findFreePort(),
  ];
  ports = { api, ops, gateway, signer };
  for (const name of ['bin', 'before', 'systemd', 'opt/deploy/small', 'opt/deploy/compose', 'here'])
    mkdirSync(join(folder, name), { recursive: true });
  prepareCheckout(join(folder, 'opt'));
  const { command, env } = rabbitMq.ctl;
  const settings = Object.entries(env).map(([name, value]) => `export ${name}='${value}'\n`);
  program('rabbitmqctl', `${settings.join('')}exec '${command}' "$@"`);
  program('systemctl', `[ "$1" != enable ] || { shift 2; printf '%s\\n' "$@" >'${folder}/enabled'; }`);
  program('opentill', `exec '${process.execPath}' '${entryPoint('cli')}' "$@"`);
});
afterAll(async () => {
  for (const unit of units) if (unit.exitCode === null) unit.kill('SIGKILL');
  await chain?.stop('kill');
  await rabbitMq?.stop('kill');
  await postgres?.stop('immediate');
  rmSync(folder, { recursive: true, force: true });
});

/** Copies the files that the guide's commands need, because `prepare` would write .env into this checkout. */
function prepareCheckout(opt: string): void {
  for (const file of ['.env.example', 'deploy/compose/prepare'])
    cpSync(join(CHECKOUT, file), join(opt, file));
  const small = join(CHECKOUT, 'deploy', 'small');
  const isOfUnits = (path: string): boolean => path === small || basename(path).startsWith('opentill');
  cpSync(small, join(opt, 'deploy', 'small'), { recursive: true, filter: isOfUnits });
  symlinkSync(join(CHECKOUT, 'build'), join(opt, 'build'));
}

/** Writes a program that exists before the guide's commands install others in bin. */
function program(name: string, script: string): void {
  writeFileSync(join(folder, 'before', name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
}

/** Replaces the guide's folders and ports by those of this test. */
function here(text: string): string {
  return text
    .replaceAll('/etc/systemd/system', join(folder, 'systemd'))
    .replaceAll('/etc/opentill', join(folder, 'etc'))
    .replaceAll('/opt/opentill', join(folder, 'opt'))
    .replaceAll('/usr/local/bin', join(folder, 'bin'))
    .replaceAll('127.0.0.1:3020', `127.0.0.1:${ports.gateway}`)
    .replaceAll('127.0.0.1:3024', `127.0.0.1:${ports.signer}`);
}

async function run(commands: string): Promise<string> {
  const env = {
    HOME: process.env['HOME'] ?? '',
    PATH: [join(folder, 'bin'), join(folder, 'before'), process.env['PATH'] ?? ''].join(':'),
    OPENTILL_ETC: join(folder, 'etc'),
  };
  const shell = spawn('bash', ['-euo', 'pipefail', '-c', here(commands)], { cwd: join(folder, 'here'), env });
  let [out, errors] = ['', ''];
  shell.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  shell.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  shell.stdin.end();
  const code = await new Promise((resolve) => void shell.once('close', resolve));
  expect({ commands, code, errors: code === 0 ? '' : errors + out + journal }).toEqual({
    commands,
    code: 0,
    errors: '',
  });
  return out;
}

const etc = (...path: readonly string[]): string => join(folder, 'etc', ...path);

function configure(settings: Readonly<Record<string, string>>): void {
  const isOther = (line: string): boolean =>
    !Object.keys(settings).some((name) => line.startsWith(`${name}=`));
  const kept = readFileSync(etc('opentill.env'), 'utf8').split('\n').filter(isOther);
  const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
  writeFileSync(etc('opentill.env'), [...kept, ...lines, ''].join('\n'));
}

/** Executes statements as superuser, after removing the role and database `opentill` of the test server. */
async function asSuperuser(statements: readonly string[]): Promise<void> {
  const url = new URL(postgres.url);
  const execute = async (texts: readonly string[]): Promise<void> => {
    const database = openDatabase({ url: url.href, applicationName: 'e2e', poolMax: 1 });
    for (const text of texts) await sql.raw(text).execute(database.kysely);
    await database.close();
  };
  await execute(['create role postgres superuser login']);
  [url.username, url.pathname] = ['postgres', '/postgres'];
  await execute(['drop database opentill', 'alter role opentill rename to installer', ...statements]);
}

const pairs = (lines: readonly string[]): [string, string][] =>
  lines.map((line) => line.split(/=(.*)/s, 2) as [string, string]);

/** Starts a unit like systemd, for the directives that our units use. */
function startUnit(name: string): void {
  const lines = readFileSync(join(folder, 'systemd', `${name}.service`), 'utf8').split('\n');
  const valuesOf = (key: string): string[] =>
    lines.flatMap((line) => (line.startsWith(`${key}=`) ? [line.slice(key.length + 1)] : []));
  const [credentials, state] = [join(folder, `${name}.credentials`), join(folder, `${name}.state`)];
  mkdirSync(credentials, { mode: 0o700 });
  for (const directory of valuesOf('StateDirectory')) mkdirSync(join(state, directory), { recursive: true });
  for (const credential of valuesOf('LoadCredential')) {
    const [file = '', path = ''] = credential.split(':');
    copyFileSync(here(path), join(credentials, file));
    chmodSync(join(credentials, file), 0o400);
  }
  const settings = valuesOf('Environment').flatMap((text) =>
    text.startsWith('"') ? [text.slice(1, -1)] : text.split(' '),
  );
  const places = (text: string): string => text.replaceAll('%d', credentials).replaceAll('%S', state);
  const [file = ''] = valuesOf('EnvironmentFile');
  const ofFile = readFileSync(here(file), 'utf8')
    .split('\n')
    .filter((line) => /^[A-Z]/.test(line));
  const [, ...args] = (valuesOf('ExecStart')[0] ?? '').replace('/opt/opentill', CHECKOUT).split(' ');
  const env = { ...Object.fromEntries(pairs(settings.map(places))), ...Object.fromEntries(pairs(ofFile)) };
  const unit = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  for (const stream of [unit.stdout, unit.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (journal += text));
  units.push(unit);
}

it("the guide's commands set up a machine with a gateway that stops cleanly", async () => {
  const at = (name: string): string => join(folder, 'here', name);
  const file = readFileSync(join(CHECKOUT, 'deploy', 'networks', 'local.json'), 'utf8');
  const { networks } = JSON.parse(file) as { networks: { chain: string }[] };
  const sepolia = networks.filter((one) => one.chain === CHAIN);
  writeFileSync(at('networks.json'), JSON.stringify({ networks: sepolia }));
  writeFileSync(at('policy.json'), JSON.stringify(POLICY));
  writeFileSync(at('passphrase'), 'a passphrase of the tests\n', { mode: 0o600 });
  await run(block('keys').replace('keys init', 'keys init --words-to words'));
  await run(block('policy'));

  await run(block('units-files'));
  configure({
    DATABASE_URL: `postgres://127.0.0.1:${postgres.port}/opentill`,
    AMQP_URL: `amqp://127.0.0.1:${rabbitMq.port}`,
    AMQP_MANAGEMENT_URL: `http://${new URL(rabbitMq.managementUrl ?? '').host}`,
    NETWORKS_FILE: etc('networks.json'),
    PUBLIC_KEYS_FILE: etc('public-keys.json'),
    [`${CHAIN}_RPC_URLS`]: `${chain.rpcUrl}/${KEY}`,
    [`${CHAIN}_WS_URL`]: '',
    PORT: `${ports.api}`,
    OPS_PORT: `${ports.ops}`,
    HEALTH_PORT: `${ports.gateway}`,
    PAYOUT_SIGNER_HEALTH_PORT: `${ports.signer}`,
  });
  const password = readFileSync(etc('secrets', 'database_admin_password'), 'utf8');
  const statements = block('units-database').replace('PASSWORD', password).split(';');
  await asSuperuser(statements.filter((text) => text.trim() !== ''));
  await run(block('units-broker'));
  const output = await run(block('units-setup'));
  expect(output).toMatch(/passwords set for (\d+) of \1 roles/);
  expect(output).toContain('queues declared, canary returned');

  const [install = '', reload = '', enable = '', ...look] = block('units-start').split('\n');
  await run([install, reload, enable].join('\n'));
  const enabled = readFileSync(join(folder, 'enabled'), 'utf8').trim().split('\n');
  expect(enabled).toEqual(['opentill-gateway', 'opentill-signer']);
  enabled.forEach(startUnit);
  expect(await run(look.join('\n'))).toMatch(/Deployment[^]* 0 fail/);
  expect(units.map(({ exitCode }) => exitCode)).toEqual([null, null]);

  // `opentill` finds the gateway, the database and the wallet.
  const made = await run(
    'opentill merchant create --id shop-1 --callback-url https://shop.example.com/callbacks',
  );
  expect(made).toMatch(/^token +\S{16,}$/m);
  expect(await run('opentill backup --out monday')).toContain('Contains the sealed keystore');

  for (const unit of units) unit.kill('SIGTERM');
  const ended = units.map(
    async (unit) => unit.exitCode ?? new Promise((resolve) => unit.once('close', resolve)),
  );
  expect(await Promise.all(ended)).toEqual([0, 0]);
});

it('runs all blocks for units', () => {
  expect(book.left()).toEqual([]);
});
