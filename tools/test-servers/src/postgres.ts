import { spawn } from 'node:child_process';
import { existsSync, readFileSync, readlinkSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { GatewayError } from '@opentill/domain/gateway-error';
import { findPostgresBinaries, type PostgresBinaries } from './postgres-binaries.ts';
import { startProcessGroup } from './process-group.ts';
import { chooseServiceUser, makeUserDirectory, type ServiceUser } from './service-user.ts';
import { waitUntil } from './poll-until.ts';

export type PostgresErrorCode = 'POSTGRES_INIT_FAILED';

/**
 * `smart` waits for clients. `fast` rolls back their transactions and writes a checkpoint. `immediate` drops everything
 * and needs recovery at the next start. `kill` sends SIGKILL to the postmaster.
 */
export type PostgresStopMode = 'smart' | 'fast' | 'immediate' | 'kill';

export interface PostgresOptions {
  /** Contains data, log and possibly a copy of the binaries. Starting here again continues with the data. */
  readonly dir: string;
  readonly port: number;
  /** False skips syncing to disk. Data then survive killed processes, but not a crash of the machine. @default true */
  readonly durable?: boolean;
  readonly settings?: Readonly<Record<string, string>>;
  /** Directory for a copy of the binaries that later runs reuse. @default inside `dir` */
  readonly binariesDir?: string;
  readonly signal?: AbortSignal | undefined;
}

export interface PostgresServer {
  /** Superuser `opentill`, database `opentill`, no password. */
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  readonly logFile: string;
  readonly exited: Promise<unknown>;
  isRunning(): boolean;
  lastLogLines(count: number): string;
  /** Leaves no process. @default fast */
  stop(mode?: PostgresStopMode): Promise<void>;
}

const SUPERUSER = 'opentill';
const DATABASE = 'opentill';
const START_DEADLINE_MS = 60_000;
const STOP_SIGNALS = {
  smart: 'SIGTERM',
  fast: 'SIGINT',
  immediate: 'SIGQUIT',
  kill: 'SIGKILL',
} as const satisfies Record<PostgresStopMode, NodeJS.Signals>;

const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '300',
  shared_buffers: '128MB',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_line_prefix: '%m [%p] %q%u@%d ',
  jit: 'off',
};
const NOT_DURABLE = { fsync: 'off', full_page_writes: 'off', synchronous_commit: 'off' };

/** Listens on 127.0.0.1 and trusts every connection. Under root it runs as an unprivileged user. */
export async function startPostgres(options: PostgresOptions): Promise<PostgresServer> {
  const user = chooseServiceUser(['postgres', 'nobody']);
  makeUserDirectory(options.dir, user);
  const binaries = findPostgresBinaries(user, options.binariesDir ?? join(options.dir, 'binaries'));
  const dataDir = join(options.dir, 'data');
  if (existsSync(dataDir)) await waitForPredecessor(dataDir);
  else await initialise(binaries, dataDir, user);

  const settings = {
    ...SETTINGS,
    ...(options.durable === false ? NOT_DURABLE : {}),
    port: `${options.port}`,
    ...options.settings,
  };
  const logFile = join(options.dir, 'postgres.log');
  const group = await startProcessGroup(
    {
      name: `Postgres on port ${options.port}`,
      command: binaries.postgres,
      args: [
        '-D',
        dataDir,
        ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
      ],
      env: serverEnvironment(),
      cwd: options.dir,
      logFile,
      stopSignal: STOP_SIGNALS.fast,
      ...(user === undefined ? {} : { uid: user.uid, gid: user.gid }),
    },
    {
      isReady: (pid) => isReady(dataDir, pid),
      deadlineMs: START_DEADLINE_MS,
      pollIntervalMs: 20,
      signal: options.signal,
    },
  );
  return {
    url: `postgres://${SUPERUSER}@127.0.0.1:${options.port}/${DATABASE}`,
    port: options.port,
    pid: group.pid,
    logFile,
    exited: group.exited,
    isRunning: group.isRunning,
    lastLogLines: group.lastLogLines,
    stop: async (mode = 'fast') => group.stop({ signal: STOP_SIGNALS[mode] }),
  };
}

/** Initialises under a temporary name, so that an interrupted directory is not used as a database. */
async function initialise(
  binaries: PostgresBinaries,
  dataDir: string,
  user: ServiceUser | undefined,
): Promise<void> {
  const partial = `${dataDir}.partial`;
  rmSync(partial, { recursive: true, force: true });
  await run(
    binaries.initdb,
    // prettier-ignore
    ['-D', partial, '-U', SUPERUSER, '-A', 'trust', '-E', 'UTF8', '--locale-provider=builtin', '--locale=C.UTF-8', '--no-sync'],
    user,
  );
  await run(
    binaries.postgres,
    ['--single', '-D', partial, '-c', 'fsync=off', 'postgres'],
    user,
    `create database ${DATABASE}\n`,
  );
  renameSync(partial, dataDir);
}

async function run(
  command: string,
  args: readonly string[],
  user: ServiceUser | undefined,
  input = '',
): Promise<void> {
  const child = spawn(command, args, {
    env: serverEnvironment(),
    cwd: '/',
    stdio: 'pipe',
    ...(user === undefined ? {} : { uid: user.uid, gid: user.gid }),
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (output = (output + text).slice(-4_000)));
  }
  child.stdin.on('error', () => {}).end(input);
  const code = await new Promise<number | string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (status, signal) => resolve(status ?? signal ?? 'unknown'));
  });
  if (code === 0) return;
  throw new GatewayError<PostgresErrorCode>(
    'POSTGRES_INIT_FAILED',
    `The database could not be created (${code}): ${output.trim()}`,
    { retryable: false },
  );
}

/** A server whose parent died is stopped by its guard within seconds. */
async function waitForPredecessor(dataDir: string): Promise<void> {
  await waitUntil(() => !isServedBy(dataDir, readPidFile(dataDir).pid), {
    deadlineMs: 15_000,
    pollIntervalMs: 50,
  });
}

function isServedBy(dataDir: string, pid: number): boolean {
  try {
    return pid > 0 && readlinkSync(`/proc/${pid}/cwd`) === dataDir;
  } catch {
    return false; // ended, or no /proc; Postgres itself then rejects a directory in use
  }
}

/** Like pg_ctl: line 1 has the postmaster's pid, line 8 its status (PostgreSQL, miscadmin.h, LOCK_FILE_LINE_*). */
function isReady(dataDir: string, pid: number): boolean {
  const { pid: owner, status } = readPidFile(dataDir);
  return owner === pid && status === 'ready';
}

function readPidFile(dataDir: string): { pid: number; status: string } {
  let lines: string[] = [];
  try {
    lines = readFileSync(join(dataDir, 'postmaster.pid'), 'utf8').split('\n');
  } catch {
    // not started, or stopped cleanly
  }
  return { pid: Number(lines[0] ?? 0), status: (lines[7] ?? '').trim() };
}

function serverEnvironment(): Record<string, string> {
  return { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };
}
