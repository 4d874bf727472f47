import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findFreePort } from '@opentill/test-servers/free-port';
import { CHECKOUT } from './read-markdown.ts';

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

export interface ComposeSource {
  readonly checkout: string;
  readonly imageTag: string;
}

/** docker-compose.yml with its devnet, and with its own project name, secrets and ports. */
export interface ComposeUnderTest {
  readonly project: string;
  readonly ports: Readonly<
    Record<
      | 'API_PORT'
      | 'OPS_PORT'
      | 'SHOP_PORT'
      | 'ETH_SEPOLIA_PORT'
      | 'BSC_TEST_PORT'
      | 'TRON_TEST_PORT'
      | 'SUI_TEST_PORT',
      number
    >
  >;
  secret(name: string): string;
  /** Runs compose with docker-compose.yml and further `files` of deploy/compose. Returns its output. */
  compose(args: readonly string[], files?: readonly string[], timeoutMs?: number): Promise<string>;
  /** Runs a line of a document unchanged in `folder`. `docker compose run` uses this project, without a terminal. */
  type(line: string, folder: string): Promise<string>;
  pipe(args: readonly string[], input?: Buffer): Promise<Buffer>;
  inspect(service: string): Promise<ContainerFacts>;
  running(files?: readonly string[]): Promise<readonly string[]>;
  /** Runs a program in a service's container. Does not throw when it fails. */
  exec(
    service: string,
    command: readonly string[],
  ): Promise<{ readonly code: number; readonly output: string }>;
  /** Switches the project to another version's files and images. Keeps its secrets, and creates missing ones. */
  moveTo(source: ComposeSource): Promise<ComposeUnderTest>;
  /** Kills and removes services and removes volumes, like the loss of a disk. */
  lose(services: readonly string[], volumes: readonly string[]): Promise<void>;
  remove(): Promise<void>;
}

const run = promisify(execFile);
const OUTPUT_MAX = 64 * 1024 * 1024;
const COMMAND_TIMEOUT_MS = 300_000;

async function findCompose(): Promise<readonly string[] | undefined> {
  const answers = async (command: string, ...args: string[]): Promise<boolean> =>
    run(command, args, { timeout: COMMAND_TIMEOUT_MS }).then(
      () => true,
      () => false,
    );
  if (!(await answers('docker', 'info'))) return undefined;
  if (await answers('docker', 'compose', 'version')) return ['docker', 'compose'];
  return (await answers('docker-compose', 'version')) ? ['docker-compose'] : undefined;
}

/** Unchanged when a project moves from one version to another. */
interface Project {
  readonly command: string;
  readonly before: readonly string[];
  readonly name: string;
  readonly directory: string;
  readonly secrets: string;
  readonly ports: ComposeUnderTest['ports'];
}

/** Prepares the project without building or starting it. Throws without a Docker engine or compose. */
export async function prepareCompose(
  source: ComposeSource = { checkout: CHECKOUT, imageTag: 'latest' },
): Promise<ComposeUnderTest> {
  const [command, ...before] = (await findCompose()) ?? [];
  if (command === undefined)
    throw new Error(
      'This test needs a running Docker engine, and docker compose or docker-compose. Install them, or skip the test.',
    );
  const directory = mkdtempSync(join(tmpdir(), 'opentill-compose-'));
  chmodSync(directory, 0o711);
  const name = `opentill-test-${randomBytes(3).toString('hex')}`;
  const secrets = join(directory, 'secrets');
  const project = { command, before, name, directory, secrets, ports: await findPorts() };
  await prepareFiles(project, source);
  return useProject(project, source);
}

async function engine(args: readonly string[]): Promise<string> {
  return (await run('docker', args, { maxBuffer: OUTPUT_MAX, timeout: COMMAND_TIMEOUT_MS })).stdout;
}

async function idOf(project: string, service: string): Promise<string> {
  const filters = ['project', 'service'].map(
    (name, i) => `label=com.docker.compose.${name}=${[project, service][i]}`,
  );
  const ids = await engine(['ps', '-aq', ...filters.flatMap((filter) => ['--filter', filter])]);
  const [id = ''] = ids.split('\n');
  if (id === '') throw new Error(`${service} has no container`);
  return id;
}

function useProject(project: Project, source: ComposeSource): ComposeUnderTest {
  const { command, before, name, directory, secrets, ports } = project;
  const { checkout, imageTag } = source;
  const argumentsOf = (args: readonly string[], files: readonly string[] = []) => {
    const given = ['docker-compose.yml', ...files.map((file) => `deploy/compose/${file}`)];
    const options = ['--project-directory', checkout, '--env-file', join(directory, '.env'), '-p', name];
    return [...before, ...given.flatMap((file) => ['-f', join(checkout, file)]), ...options, ...args];
  };
  const options = {
    cwd: checkout,
    maxBuffer: OUTPUT_MAX,
    timeout: COMMAND_TIMEOUT_MS,
    env: { ...process.env, IMAGE_TAG: imageTag },
  };
  const compose: ComposeUnderTest['compose'] = async (args, files, timeout = COMMAND_TIMEOUT_MS) =>
    (await run(command, argumentsOf(args, files), { ...options, timeout })).stdout;
  return {
    project: name,
    ports,
    compose,
    type: async (line, folder) => {
      const own = [command, ...argumentsOf(['run', '-T'])].map((word) => `'${word}'`).join(' ');
      const typed = line.replace(/^docker compose run(?= )/, own);
      return (await run('bash', ['-euc', typed], { ...options, cwd: folder })).stdout;
    },
    pipe: async (args, input = Buffer.alloc(0)) => {
      const running = run(command, argumentsOf(args), { ...options, encoding: 'buffer' });
      running.child.stdin?.end(input);
      return (await running).stdout;
    },
    secret: (file) => readFileSync(join(secrets, file), 'utf8'),
    inspect: async (service) =>
      (JSON.parse(await engine(['inspect', await idOf(name, service)])) as [ContainerFacts])[0],
    running: async (files) => {
      const names = await compose(['ps', '--services', '--filter', 'status=running'], files);
      return names.split('\n').filter((service) => service !== '');
    },
    exec: async (service, program) => execute(await idOf(name, service), program),
    moveTo: async (next) => {
      await prepareFiles(project, next);
      return useProject(project, next);
    },
    lose: async (services, volumes) => {
      await compose(['kill', ...services]);
      await compose(['rm', '--force', ...services]);
      await engine(['volume', 'rm', ...volumes.map((volume) => `${name}_${volume}`)]);
    },
    remove: async () => {
      await compose(['down', '--volumes', '--remove-orphans', '--timeout', '15']);
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

async function execute(
  container: string,
  program: readonly string[],
): Promise<{ readonly code: number; readonly output: string }> {
  return run('docker', ['exec', container, ...program], { timeout: COMMAND_TIMEOUT_MS }).then(
    ({ stdout, stderr }) => ({ code: 0, output: stdout + stderr }),
    (error: { code?: number; stdout?: string; stderr?: string }) => ({
      code: error.code ?? -1,
      output: `${error.stdout ?? ''}${error.stderr ?? ''}`,
    }),
  );
}

async function findPorts(): Promise<ComposeUnderTest['ports']> {
  return {
    API_PORT: await findFreePort(),
    OPS_PORT: await findFreePort(),
    SHOP_PORT: await findFreePort(),
    ETH_SEPOLIA_PORT: await findFreePort(),
    BSC_TEST_PORT: await findFreePort(),
    TRON_TEST_PORT: await findFreePort(),
    SUI_TEST_PORT: await findFreePort(),
  };
}

/** Runs `prepare devnet`. The first time, also sets the ports of this run and a secrets folder outside the checkout. */
async function prepareFiles(
  { directory, secrets, ports }: Project,
  { checkout }: ComposeSource,
): Promise<void> {
  mkdirSync(join(directory, 'deploy/compose'), { recursive: true });
  for (const file of ['prepare', 'devnet.env'])
    cpSync(join(checkout, 'deploy/compose', file), join(directory, 'deploy/compose', file));
  const file = join(directory, '.env');
  const isThere = existsSync(file);
  await run('sh', [join(directory, 'deploy/compose/prepare'), 'devnet'], {
    env: { ...process.env, SECRETS_DIR: secrets },
  });
  if (isThere) return;
  const changes = {
    ...ports,
    SECRETS_DIR: secrets,
    CHECKOUT_BASE_URL: `http://localhost:${ports.API_PORT}/checkout`,
  };
  // The environment sets IMAGE_TAG, which depends on the version.
  const dropped = [...Object.keys(changes), 'IMAGE_TAG'];
  const lines = readFileSync(file, 'utf8').split('\n');
  const kept = lines.filter((line) => !dropped.includes(line.split('=', 1)[0] ?? ''));
  const set = Object.entries(changes).map(([name, value]) => `${name}=${value}`);
  writeFileSync(file, `${[...kept, ...set].join('\n')}\n`);
}
