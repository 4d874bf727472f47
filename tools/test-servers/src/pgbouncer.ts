import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { GatewayError } from '@opentill/domain/gateway-error';
import { libraryPath, unpackDebianPackages } from './debian-packages.ts';
import { acceptsTcp } from './probe-server.ts';
import { startProcessGroup } from './process-group.ts';
import { chooseServiceUser, makeUserDirectory } from './service-user.ts';

export type PgBouncerErrorCode = 'PGBOUNCER_MISSING';

export interface PgBouncerOptions {
  readonly dir: string;
  readonly port: number;
  readonly postgresPort: number;
  /** Connections to Postgres for each database and user. */
  readonly poolSize: number;
  readonly users: readonly string[];
  readonly ignoredParameters: readonly string[];
  /** Pause after a failed connection to Postgres. @default 15, as PgBouncer's */
  readonly loginRetrySeconds?: number;
}

export interface PgBouncer {
  readonly port: number;
  readonly logFile: string;
  /** Of its console, which any listed user may use. */
  readonly adminUrl: string;
  /** Changes the server in the configuration. The command RELOAD of the console makes it take effect. */
  configureServer(postgresPort: number): void;
  stop(): Promise<void>;
}

const INSTALLED = '/usr/sbin/pgbouncer';

/** PgBouncer in transaction mode on 127.0.0.1. It asks for no password, as the test servers do. */
export async function startPgBouncer(options: PgBouncerOptions): Promise<PgBouncer> {
  const { command, env } = await findOrUnpackPgBouncer();
  const user = chooseServiceUser(['postgres', 'nobody']);
  makeUserDirectory(options.dir, user);
  const configuration = join(options.dir, 'pgbouncer.ini');
  const users = join(options.dir, 'users.txt');
  writeFileSync(users, options.users.map((name) => `"${name}" ""\n`).join(''), { mode: 0o644 });
  const configureServer = (postgresPort: number): void => {
    const lines = [
      '[databases]',
      `* = host=127.0.0.1 port=${postgresPort}`,
      '[pgbouncer]',
      'listen_addr = 127.0.0.1',
      `listen_port = ${options.port}`,
      'unix_socket_dir =',
      'auth_type = trust',
      `auth_file = ${users}`,
      `admin_users = ${options.users.join(',')}`,
      'pool_mode = transaction',
      `default_pool_size = ${options.poolSize}`,
      'max_client_conn = 500',
      `server_login_retry = ${options.loginRetrySeconds ?? 15}`,
      `ignore_startup_parameters = ${options.ignoredParameters.join(',')}`,
      '',
    ];
    writeFileSync(configuration, lines.join('\n'), { mode: 0o644 });
  };
  configureServer(options.postgresPort);
  const logFile = join(options.dir, 'pgbouncer.log');
  const group = await startProcessGroup(
    {
      name: `PgBouncer on port ${options.port}`,
      command,
      args: [configuration],
      env: { PATH: '/usr/bin:/bin', ...env },
      cwd: options.dir,
      logFile,
      stopSignal: 'SIGINT',
      ...(user !== undefined && { uid: user.uid, gid: user.gid }),
    },
    { isReady: async () => acceptsTcp(options.port), deadlineMs: 60_000 },
  );
  const adminUrl = `postgres://${options.users[0] ?? ''}@127.0.0.1:${options.port}/pgbouncer`;
  return { port: options.port, logFile, adminUrl, configureServer, stop: () => group.stop() };
}

async function findOrUnpackPgBouncer(): Promise<{
  readonly command: string;
  readonly env: Readonly<Record<string, string>>;
}> {
  if (existsSync(INSTALLED)) return { command: INSTALLED, env: {} };
  const unpacked = await unpackDebianPackages({
    name: 'pgbouncer',
    bare: ['pgbouncer'],
    complete: ['libc-ares2', 'libevent-2.1-7'],
  });
  if (unpacked.ok)
    return { command: join(unpacked.root, 'usr/sbin/pgbouncer'), env: libraryPath(unpacked.root) };
  throw new GatewayError<PgBouncerErrorCode>(
    'PGBOUNCER_MISSING',
    `PgBouncer is not installed, and Debian's package could not be unpacked${unpacked.reason === undefined ? '' : `: ${unpacked.reason}`}. Install pgbouncer.`,
    { retryable: false },
  );
}
