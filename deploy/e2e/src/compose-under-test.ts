import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { appendFileSync, chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findFreePort } from '@opentill/devnet/free-port';
import { CHECKOUT } from './read-markdown.ts';

/** What an engine says of a container; the part that tests look at. */
export interface ContainerFacts {
  readonly Id: string;
  readonly Name: string;
  readonly Image: string;
  readonly State: {
    readonly Status: string;
    readonly ExitCode: number;
    readonly Health?: { readonly Status: string };
  };
  readonly Config: { readonly User: string; readonly Env: readonly string[]; readonly Image: string };
  readonly HostConfig: {
    readonly ReadonlyRootfs: boolean;
    readonly CapDrop: readonly string[] | null;
    readonly Memory: number;
  };
  readonly NetworkSettings: {
    readonly Networks: Readonly<Record<string, { readonly IPAddress: string }>>;
    readonly Ports: Readonly<Record<string, readonly { readonly HostIp: string }[] | null>>;
  };
}

/** docker-compose.yml with its devnet, under a project name, secrets and ports of its own. */
export interface ComposeUnderTest {
  readonly project: string;
  readonly ports: Readonly<
    Record<
      'API_PORT' | 'OPS_PORT' | 'SHOP_PORT' | 'ETH_SEPOLIA_PORT' | 'BSC_TEST_PORT' | 'TRON_TEST_PORT',
      number
    >
  >;
  secret(name: string): string;
  /** Runs compose, with further files (of deploy/compose) after the first; what it wrote. */
  compose(args: readonly string[], files?: readonly string[], timeoutMs?: number): Promise<string>;
  /** Runs compose with bytes for its standard input; the bytes that it wrote. */
  pipe(args: readonly string[], input?: Buffer): Promise<Buffer>;
  /** The container of a service that is there. */
  inspect(service: string): Promise<ContainerFacts>;
  /** The services that have a running container. */
  running(files?: readonly string[]): Promise<readonly string[]>;
  /** Runs a program in a service's container; its output, also of one that failed. */
  exec(
    service: string,
    command: readonly string[],
  ): Promise<{ readonly code: number; readonly output: string }>;
  /** Kills and removes services at once, and removes volumes, as when a disk is lost. */
  lose(services: readonly string[], volumes: readonly string[]): Promise<void>;
  /** Takes everything down, volumes included. */
  remove(): Promise<void>;
}

const run = promisify(execFile);
const OUTPUT_MAX = 64 * 1024 * 1024;
const COMMAND_TIMEOUT_MS = 300_000;

/** Whichever compose answers; nothing when there is no engine. */
async function findCompose(): Promise<readonly string[] | undefined> {
  const answers = async (command: string, ...args: string[]): Promise<boolean> =>
    run(command, args, { timeout: 15_000 }).then(
      () => true,
      () => false,
    );
  if (!(await answers('docker', 'info'))) return undefined;
  if (await answers('docker', 'compose', 'version')) return ['docker', 'compose'];
  return (await answers('docker-compose', 'version')) ? ['docker-compose'] : undefined;
}

/** Prepares the project; nothing is built or started. Throws when no engine answers, or no compose is there. */
export async function prepareCompose(): Promise<ComposeUnderTest> {
  const [command, ...before] = (await findCompose()) ?? [];
  if (command === undefined)
    throw new Error(
      'This test needs a Docker engine that answers, and docker compose or docker-compose: none is here.',
    );
  const directory = mkdtempSync(join(tmpdir(), 'opentill-compose-'));
  chmodSync(directory, 0o711);
  const project = `opentill-test-${randomBytes(3).toString('hex')}`;
  const ports = await findPorts();
  const secrets = await prepareFiles(directory, ports);
  const engine = async (args: readonly string[]) =>
    (await run('docker', args, { maxBuffer: OUTPUT_MAX, timeout: COMMAND_TIMEOUT_MS })).stdout;
  const argumentsOf = (args: readonly string[], files: readonly string[] = []) => {
    const given = ['docker-compose.yml', ...files.map((file) => `deploy/compose/${file}`)];
    const options = ['--project-directory', CHECKOUT, '--env-file', join(directory, '.env'), '-p', project];
    return [...before, ...given.flatMap((file) => ['-f', join(CHECKOUT, file)]), ...options, ...args];
  };
  const compose: ComposeUnderTest['compose'] = async (args, files, timeoutMs = COMMAND_TIMEOUT_MS) => {
    const options = { cwd: CHECKOUT, maxBuffer: OUTPUT_MAX, timeout: timeoutMs };
    return (await run(command, argumentsOf(args, files), options)).stdout;
  };
  const idOf = async (service: string): Promise<string> => {
    const filters = ['project', 'service'].map(
      (name, i) => `label=com.docker.compose.${name}=${[project, service][i]}`,
    );
    const [id = ''] = (
      await engine(['ps', '-aq', ...filters.flatMap((filter) => ['--filter', filter])])
    ).split('\n');
    if (id === '') throw new Error(`${service} has no container`);
    return id;
  };
  return {
    project,
    ports,
    compose,
    pipe: async (args, input = Buffer.alloc(0)) => {
      const options = { cwd: CHECKOUT, maxBuffer: OUTPUT_MAX, timeout: COMMAND_TIMEOUT_MS };
      const running = run(command, argumentsOf(args), { ...options, encoding: 'buffer' });
      running.child.stdin?.end(input);
      return (await running).stdout;
    },
    secret: (name) => readFileSync(join(secrets, name), 'utf8'),
    inspect: async (service) =>
      (JSON.parse(await engine(['inspect', await idOf(service)])) as [ContainerFacts])[0],
    running: async (files) => {
      const names = await compose(['ps', '--services', '--filter', 'status=running'], files);
      return names.split('\n').filter((name) => name !== '');
    },
    exec: async (service, program) =>
      run('docker', ['exec', await idOf(service), ...program], { timeout: 30_000 }).then(
        ({ stdout, stderr }) => ({ code: 0, output: stdout + stderr }),
        (error: { code?: number; stdout?: string; stderr?: string }) => ({
          code: error.code ?? -1,
          output: `${error.stdout ?? ''}${error.stderr ?? ''}`,
        }),
      ),
    lose: async (services, volumes) => {
      await compose(['kill', ...services]);
      await compose(['rm', '--force', ...services]);
      await engine(['volume', 'rm', ...volumes.map((volume) => `${project}_${volume}`)]);
    },
    remove: async () => {
      await compose(['down', '--volumes', '--remove-orphans', '--timeout', '15']);
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

async function findPorts(): Promise<ComposeUnderTest['ports']> {
  return {
    API_PORT: await findFreePort(),
    OPS_PORT: await findFreePort(),
    SHOP_PORT: await findFreePort(),
    ETH_SEPOLIA_PORT: await findFreePort(),
    BSC_TEST_PORT: await findFreePort(),
    TRON_TEST_PORT: await findFreePort(),
  };
}

/** As a newcomer does it: `prepare devnet`; then the ports of this run, and secrets away from the checkout. */
async function prepareFiles(directory: string, ports: ComposeUnderTest['ports']): Promise<string> {
  mkdirSync(join(directory, 'deploy/compose'), { recursive: true });
  for (const file of ['prepare', 'devnet.env'])
    cpSync(join(CHECKOUT, 'deploy/compose', file), join(directory, 'deploy/compose', file));
  const secrets = join(directory, 'secrets');
  await run('sh', [join(directory, 'deploy/compose/prepare'), 'devnet'], {
    env: { ...process.env, SECRETS_DIR: secrets },
  });
  const changes = {
    ...ports,
    SECRETS_DIR: secrets,
    CHECKOUT_BASE_URL: `http://localhost:${ports.API_PORT}/checkout`,
  };
  const lines = readFileSync(join(directory, '.env'), 'utf8').split('\n');
  const kept = lines.filter((line) => !Object.keys(changes).includes(line.split('=', 1)[0] ?? ''));
  rmSync(join(directory, '.env'));
  const set = Object.entries(changes).map(([name, value]) => `${name}=${value}`);
  appendFileSync(join(directory, '.env'), `${[...kept, ...set].join('\n')}\n`);
  return secrets;
}
