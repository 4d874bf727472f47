import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { GatewayError } from '@opentill/domain/gateway-error';

export type RabbitMqInstallErrorCode = 'RABBITMQ_MISSING';

export interface RabbitMqBinaries {
  readonly server: string;
  readonly ctl: string;
  readonly epmd: string;
}

/** Searched first, because Debian's /usr/sbin/rabbitmq-server is a wrapper that changes user and directory. */
const SCRIPT_DIRECTORIES = ['/usr/lib/rabbitmq/bin', '/opt/homebrew/sbin', '/usr/local/sbin'];
const ERLANG_DIRECTORIES = ['/usr/lib/erlang/bin', '/opt/homebrew/bin', '/usr/local/lib/erlang/bin'];

/** policy-rc.d(8) keeps the package from starting its own broker. Concurrent installers wait for the lock. */
const INSTALL_SCRIPT = `
exec 9</var/lib/dpkg && flock 9
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\\nexit 101\\n' >"$policy" && chmod 755 "$policy" && trap 'rm -f "$policy"' EXIT
fi
export DEBIAN_FRONTEND=noninteractive
install() { apt-get install -y -qq --no-install-recommends rabbitmq-server 9<&-; }
install || { apt-get update -qq && install; } || exit 1
systemctl disable rabbitmq-server.service >/dev/null 2>&1 || true`;

const INSTALL_DEADLINE_MS = 300_000;
/** dpkg's states between unpacked and installed. */
const HALF_INSTALLED: ReadonlySet<string> = new Set([
  'half-installed',
  'unpacked',
  'half-configured',
  'triggers-awaited',
  'triggers-pending',
]);

function findRabbitMq(path: string = process.env['PATH'] ?? ''): RabbitMqBinaries | undefined {
  const searchPath = path.split(delimiter).filter((directory) => directory.startsWith('/'));
  const find = (name: string, directories: readonly string[]): string | undefined =>
    directories.map((directory) => join(directory, name)).find((file) => existsSync(file));
  const server = find('rabbitmq-server', [...SCRIPT_DIRECTORIES, ...searchPath]);
  const ctl = find('rabbitmqctl', [...SCRIPT_DIRECTORIES, ...searchPath]);
  const epmd = find('epmd', [...ERLANG_DIRECTORIES, ...searchPath, '/usr/bin']);
  return server && ctl && epmd ? { server, ctl, epmd } : undefined;
}

/** Under root or with passwordless sudo, installs a missing package on Debian-like systems. */
export async function findOrInstallRabbitMq(say: (line: string) => void): Promise<RabbitMqBinaries> {
  const found = findRabbitMq();
  if (found !== undefined && !(await isHalfInstalled())) return found;
  if (existsSync('/usr/bin/apt-get')) {
    const isRoot = process.getuid?.() === 0;
    if (isRoot || (await succeeds('sudo', ['-n', 'true'], 5_000))) {
      say('installing the Debian package rabbitmq-server');
      const shell = ['-c', INSTALL_SCRIPT];
      await (isRoot
        ? succeeds('sh', shell, INSTALL_DEADLINE_MS)
        : succeeds('sudo', ['-n', 'sh', ...shell], INSTALL_DEADLINE_MS));
      const installed = findRabbitMq();
      if (installed !== undefined) return installed;
    }
  }
  throw new GatewayError<RabbitMqInstallErrorCode>(
    'RABBITMQ_MISSING',
    'RabbitMQ is not installed: run "sudo apt-get install rabbitmq-server", or set AMQP_URL to a broker of your own.',
    { retryable: false },
  );
}

/** True while another process is installing the package: its files exist but are not configured. */
async function isHalfInstalled(): Promise<boolean> {
  return new Promise((resolve) => {
    execFile(
      'dpkg-query',
      ['--show', '--showformat=${db:Status-Status}', 'rabbitmq-server'],
      { timeout: 5_000 },
      (error, status) => resolve(error === null && HALF_INSTALLED.has(status)),
    );
  });
}

async function succeeds(command: string, args: readonly string[], deadlineMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: 'ignore', timeout: deadlineMs });
    child.once('error', () => resolve(false));
    child.once('exit', (code) => resolve(code === 0));
  });
}
