import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { waitUntil } from '@opentill/testkit/wait-until';
import { CHECKOUT } from './read-markdown.ts';
import { WAIT_MS } from './time-limits.ts';

export type WebServerName = 'nginx' | 'caddy';

export interface WebServerUnderTest {
  stop(): Promise<void>;
}

interface WebServerOptions {
  /** For its files. The caller creates and removes it. */
  readonly folder: string;
  /** On 127.0.0.1; the same as in `configuration`. */
  readonly port: number;
  /** For nginx the content of `http`, for Caddy the whole Caddyfile. */
  readonly configuration: string;
}

/** Debian's packages, and the path of the program in them. */
const PACKAGES: Readonly<Record<WebServerName, { readonly names: readonly string[]; readonly at: string }>> =
  {
    nginx: { names: ['nginx', 'nginx-common'], at: 'usr/sbin/nginx' },
    caddy: { names: ['caddy'], at: 'usr/bin/caddy' },
  };
const UNPACKED = join(CHECKOUT, 'node_modules', '.cache', 'web-servers');
const FETCH_DEADLINE_MS = 60_000;
const IMPATIENT = '-qq -o Acquire::http::Timeout=10 -o Acquire::https::Timeout=10 -o Acquire::Retries=0';

/**
 * Returns the root folder of the program: `/` if it is installed, else a folder with Debian's package unpacked, which
 * starts no system service. Returns undefined and writes to standard error if the package cannot be fetched.
 */
export function findWebServer(name: WebServerName): string | undefined {
  const { names, at } = PACKAGES[name];
  const unpacked = join(UNPACKED, name);
  const found = ['/', unpacked].find((root) => existsSync(join(root, at)));
  if (found !== undefined) return found;
  mkdirSync(UNPACKED, { recursive: true });
  const fresh = mkdtempSync(join(UNPACKED, 'fetching-'));
  const fetch = `apt-get download ${IMPATIENT} ${names.join(' ')} 9<&-`;
  // The lock prevents parallel runs of apt-get.
  const script = `exec 9</var/lib/dpkg && flock 9; ${fetch} || { apt-get update ${IMPATIENT} 9<&- && ${fetch}; }
    for package in *.deb; do dpkg-deb -x "$package" unpacked && rm "$package"; done`;
  try {
    execFileSync('bash', ['-euc', script], { cwd: fresh, stdio: 'ignore', timeout: FETCH_DEADLINE_MS });
    renameSync(join(fresh, 'unpacked'), unpacked);
  } catch {
    // Another process may have unpacked it at the same time.
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
  if (existsSync(join(unpacked, at))) return unpacked;
  process.stderr.write(
    `NOT RUN: the configuration of ${name}. It is not installed, and apt-get cannot fetch it.\n`,
  );
  return undefined;
}

export async function startNginx(root: string, options: WebServerOptions): Promise<WebServerUnderTest> {
  const { folder, configuration } = options;
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  writeFileSync(
    join(folder, 'nginx.conf'),
    [
      `daemon off; master_process off; pid ${folder}/nginx.pid; error_log stderr; events {}`,
      `http { access_log off; include ${join(root, 'etc/nginx/mime.types')};`,
      ...temporary.map((one) => `${one}_temp_path ${folder}/${one};`),
      configuration,
      '}',
    ].join('\n'),
  );
  const args = ['-e', 'stderr', '-p', folder, '-c', join(folder, 'nginx.conf')];
  return start(join(root, PACKAGES.nginx.at), args, options);
}

export async function startCaddy(root: string, options: WebServerOptions): Promise<WebServerUnderTest> {
  const file = join(options.folder, 'Caddyfile');
  writeFileSync(file, `{\n  admin off\n}\n${options.configuration}\n`);
  return start(join(root, PACKAGES.caddy.at), ['run', '--config', file, '--adapter', 'caddyfile'], options);
}

async function start(
  program: string,
  args: readonly string[],
  { folder, port }: WebServerOptions,
): Promise<WebServerUnderTest> {
  const env = { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  const server = spawn(program, args, { cwd: folder, env, stdio: ['ignore', 'ignore', 'pipe'] });
  let output = '';
  server.stderr.setEncoding('utf8').on('data', (text: string) => (output += text));
  let hasEnded = false;
  const ended = new Promise<void>((resolve) => {
    const end = (): void => {
      hasEnded = true;
      resolve();
    };
    server.once('close', end).once('error', end);
  });
  const stop = async (): Promise<void> => {
    server.kill('SIGTERM');
    await ended;
  };
  await waitUntil(`${program} listens`, async () => hasEnded || listens(port), WAIT_MS).catch(
    async (error: unknown) => {
      await stop();
      throw error;
    },
  );
  if (hasEnded) throw new Error(`${program} exited: ${output}`);
  return { stop };
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
