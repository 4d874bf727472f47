import { spawn } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { unpackDebianPackages } from '@opentill/test-servers/debian-packages';
import { waitUntil } from '@opentill/testkit/wait-until';
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

/**
 * Returns the root folder of the program: `/` if it is installed, else a folder with Debian's package unpacked, which
 * starts no system service. Returns undefined and writes to standard error if the package cannot be fetched.
 */
export async function findWebServer(name: WebServerName): Promise<string | undefined> {
  const { names, at } = PACKAGES[name];
  if (existsSync(join('/', at))) return '/';
  const unpacked = await unpackDebianPackages({ name, bare: names });
  if (unpacked.ok) return unpacked.root;
  process.stderr.write(
    `SKIPPED: the configuration of ${name}. It is not installed, and Debian's package cannot be fetched. ${unpacked.reason ?? ''}\n`,
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
