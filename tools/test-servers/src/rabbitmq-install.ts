import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { GatewayError } from '@opentill/domain/gateway-error';
import { libraryPath, readSystem, unpackDebianPackages } from './debian-packages.ts';

export type RabbitMqInstallErrorCode = 'RABBITMQ_MISSING';

export interface RabbitMqBinaries {
  readonly server: string;
  readonly ctl: string;
  readonly epmd: string;
  /** Variables that the programs need in addition. */
  readonly env: Readonly<Record<string, string>>;
}

/** Searched first, because Debian's /usr/sbin/rabbitmq-server is a wrapper that changes user and directory. */
const SCRIPT_DIRECTORIES = ['/usr/lib/rabbitmq/bin', '/opt/homebrew/sbin', '/usr/local/sbin'];
const ERLANG_DIRECTORIES = ['/usr/lib/erlang/bin', '/opt/homebrew/bin', '/usr/local/lib/erlang/bin'];

/** Erlang packages that Debian's rabbitmq-server needs. Excludes programs of its installation scripts, such as Python. */
const ERLANG_PACKAGES = [
  'base',
  'crypto',
  'eldap',
  'inets',
  'mnesia',
  'os-mon',
  'parsetools',
  'public-key',
  'runtime-tools',
  'ssl',
  'syntax-tools',
  'tools',
  'xmerl',
].map((name) => `erlang-${name}`);

/** Debian's script sets ROOTDIR to /usr/lib/erlang even if ERL_ROOTDIR is given. */
const RELOCATE_ERLANG = `sed -i 's|=/usr/lib/erlang$|=$ERL_ROOTDIR|' usr/lib/erlang/bin/erl`;

/** Finds an installed RabbitMQ. Otherwise unpacks Debian's packages into the cache, on systems with apt. */
export async function findOrUnpackRabbitMq(
  say: (line: string) => void,
  signal?: AbortSignal,
): Promise<RabbitMqBinaries> {
  const installed = findInstalled();
  if (installed !== undefined) return installed;
  const unpacked = await unpackDebianPackages({
    name: 'rabbitmq-server',
    bare: ['rabbitmq-server'],
    complete: ERLANG_PACKAGES,
    always: 'erlang-',
    adapt: RELOCATE_ERLANG,
    say,
    signal,
  });
  if (unpacked.ok) return binariesIn(unpacked.root);
  throw new GatewayError<RabbitMqInstallErrorCode>(
    'RABBITMQ_MISSING',
    [
      unpacked.reason === undefined
        ? 'RabbitMQ is not installed.'
        : `RabbitMQ is not installed, and Debian's packages could not be unpacked: ${unpacked.reason}`,
      `Do one of these: ${installAdvice(readSystem().families)}; start Docker; set AMQP_URL to a broker of your own.`,
    ].join('\n'),
    { retryable: false },
  );
}

function findInstalled(path: string = process.env['PATH'] ?? ''): RabbitMqBinaries | undefined {
  const searchPath = path.split(delimiter).filter((directory) => directory.startsWith('/'));
  const find = (name: string, directories: readonly string[]): string | undefined =>
    directories.map((directory) => join(directory, name)).find((file) => existsSync(file));
  const server = find('rabbitmq-server', [...SCRIPT_DIRECTORIES, ...searchPath]);
  const ctl = find('rabbitmqctl', [...SCRIPT_DIRECTORIES, ...searchPath]);
  const epmd = find('epmd', [...ERLANG_DIRECTORIES, ...searchPath, '/usr/bin']);
  return server && ctl && epmd ? { server, ctl, epmd, env: {} } : undefined;
}

function binariesIn(root: string): RabbitMqBinaries {
  const [scripts, erlang] = [join(root, 'usr/lib/rabbitmq/bin'), join(root, 'usr/lib/erlang')];
  return {
    server: join(scripts, 'rabbitmq-server'),
    ctl: join(scripts, 'rabbitmqctl'),
    epmd: join(erlang, 'bin', 'epmd'),
    env: { ERL_ROOTDIR: erlang, ...libraryPath(root) },
  };
}

const INSTALL_COMMANDS: readonly (readonly [family: string, command: string])[] = [
  ['darwin', 'brew install rabbitmq'],
  ['debian', 'sudo apt-get install rabbitmq-server'],
  ['ubuntu', 'sudo apt-get install rabbitmq-server'],
  ['fedora', 'sudo dnf install rabbitmq-server'],
  ['rhel', 'sudo dnf install rabbitmq-server'],
  ['suse', 'sudo zypper install rabbitmq-server'],
  ['arch', 'sudo pacman -S rabbitmq'],
];

/** @param families of System */
export function installAdvice(families: readonly string[]): string {
  const command = INSTALL_COMMANDS.find(([family]) => families.includes(family))?.[1];
  return command === undefined ? 'install RabbitMQ' : `run "${command}"`;
}
