import { createHash } from 'node:crypto';
import { chownSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { findFreePort } from './free-port.ts';
import { acceptsTcp, answersAmqp } from './probe-server.ts';
import { startProcessGroup, type ProcessGroup } from './process-group.ts';
import { findOrUnpackRabbitMq, type RabbitMqBinaries } from './rabbitmq-install.ts';
import { chooseServiceUser, makeUserDirectory, type ServiceUser } from './service-user.ts';

/** `graceful` closes queues and tables. `kill` sends SIGKILL to the node, like a crash. Both end epmd. */
export type RabbitMqStopMode = 'graceful' | 'kill';

export interface RabbitMqOptions {
  /** Contains data, logs and configuration. Starting again here continues with the data. */
  readonly dir: string;
  readonly port: number;
  /** Port on 127.0.0.1 for the management plugin's HTTP API, which adds about a second to the start. */
  readonly managementPort?: number;
  /** Makes it a node of a cluster, whose nodes start at the same time. */
  readonly cluster?: ClusterMembership;
  readonly say?: (line: string) => void;
  readonly signal?: AbortSignal | undefined;
}

export interface ClusterMembership {
  /** Without host. */
  readonly name: string;
  /** All nodes of the cluster. */
  readonly names: readonly string[];
  readonly cookie: string;
  /** Knows the ports of the nodes. Its owner stops it. */
  readonly portMapperPort: number;
  readonly distributionPort: number;
  /** A node that answers no other one for this long is declared down. RabbitMQ's default is 60. */
  readonly netTickSeconds: number;
}

export interface RabbitMqServer {
  /** URL of the user guest, who has all permissions. */
  readonly url: string;
  readonly managementUrl?: string;
  readonly port: number;
  /** Process id of the start script, which leads the broker's process group. */
  readonly pid: number;
  readonly logFile: string;
  /** Path of rabbitmqctl and its environment for this node. */
  readonly ctl: { readonly command: string; readonly env: Readonly<Record<string, string>> };
  readonly exited: Promise<unknown>;
  isRunning(): boolean;
  lastLogLines(count: number): string;
  /** Leaves no process, including epmd. @default graceful */
  stop(mode?: RabbitMqStopMode): Promise<void>;
}

/** For a busy machine; the end of the process is reported at once. Nodes of a cluster wait for each other. */
const START_DEADLINE_MS = 600_000;
const EPMD_DEADLINE_MS = 60_000;
/** The stop takes a second, or five with an open connection to the HTTP API. Queues survive the kill. */
const STOP_DEADLINE_MS = 4_000;
/** Printed when listeners are open and queues recovered. */
const STARTED = 'Server startup complete';

/** Uses its own epmd, because Erlang's would remain as a daemon. Under root it runs as another user. */
export async function startRabbitMq(options: RabbitMqOptions): Promise<RabbitMqServer> {
  const binaries = await findOrUnpackRabbitMq(options.say ?? (() => {}), options.signal);
  const user = chooseServiceUser(['rabbitmq', 'nobody']);
  makeUserDirectory(options.dir, user);
  const env = await writeConfiguration(options, binaries);
  if (options.cluster !== undefined) writeCookie(options.dir, options.cluster.cookie, user);
  const epmd = options.cluster === undefined ? await startEpmd(binaries, options.dir, env, user) : undefined;
  try {
    const node = await startNode(binaries, options, env, user);
    const stop = async (mode: RabbitMqStopMode = 'graceful'): Promise<void> => {
      await node.stop(mode === 'kill' ? { signal: 'SIGKILL' } : {});
      await epmd?.stop();
    };
    return {
      url: `amqp://guest:guest@127.0.0.1:${options.port}`,
      ...(options.managementPort === undefined
        ? {}
        : { managementUrl: `http://guest:guest@127.0.0.1:${options.managementPort}` }),
      port: options.port,
      pid: node.pid,
      logFile: node.logFile,
      ctl: { command: binaries.ctl, env },
      exited: node.exited,
      isRunning: node.isRunning,
      lastLogLines: node.lastLogLines,
      stop,
    };
  } catch (error) {
    await epmd?.stop();
    throw error;
  }
}

/** The node name depends only on the directory, because data contain it. */
async function writeConfiguration(
  options: RabbitMqOptions,
  binaries: RabbitMqBinaries,
): Promise<Record<string, string>> {
  const { dir, port, managementPort, cluster } = options;
  const configFile = join(dir, 'rabbitmq.conf');
  const pluginsFile = join(dir, 'enabled_plugins');
  const management =
    managementPort === undefined
      ? []
      : [
          `management.tcp.port = ${managementPort}`,
          'management.tcp.ip = 127.0.0.1',
          'management_agent.disable_metrics_collector = true', // only its HTTP API is needed
        ];
  const listener = `listeners.tcp.1 = 127.0.0.1:${port}`;
  const common = [listener, 'loopback_users = none', 'log.console = true', 'log.file = false'];
  const lines = [...common, ...management, ...(cluster === undefined ? [] : clusterLines(cluster))];
  writeFileSync(configFile, `${lines.join('\n')}\n`, { mode: 0o644 });
  writeFileSync(pluginsFile, managementPort === undefined ? '[].\n' : '[rabbitmq_management].\n', {
    mode: 0o644,
  });
  return {
    ...binaries.env,
    PATH: [dirname(binaries.epmd), process.env['PATH'] ?? '/usr/bin:/bin'].join(delimiter), // of erl
    HOME: dir, // Erlang stores its cookie there
    LANG: 'C.UTF-8',
    ERL_EPMD_ADDRESS: '127.0.0.1',
    ERL_EPMD_PORT: `${cluster?.portMapperPort ?? (await findFreePort())}`,
    RABBITMQ_NODENAME: `${cluster?.name ?? ownName(dir)}@localhost`,
    RABBITMQ_DIST_PORT: `${cluster?.distributionPort ?? (await findFreePort())}`,
    RABBITMQ_CONF_ENV_FILE: '/dev/null', // ignores /etc/rabbitmq/rabbitmq-env.conf
    RABBITMQ_CONFIG_FILE: configFile,
    RABBITMQ_ENABLED_PLUGINS_FILE: pluginsFile,
    RABBITMQ_MNESIA_BASE: join(dir, 'mnesia'),
    RABBITMQ_LOG_BASE: join(dir, 'log'),
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: [
      '-kernel inet_dist_use_interface {127,0,0,1}',
      ...(cluster === undefined ? [] : [`-kernel net_ticktime ${cluster.netTickSeconds}`]),
    ].join(' '),
  };
}

function ownName(dir: string): string {
  return `opentill-${createHash('sha256').update(dir).digest('hex').slice(0, 12)}`;
}

/** With `pause_minority` the smaller side of a partition stops serving clients. RabbitMQ 4.3 ignores it. */
function clusterLines({ names }: ClusterMembership): string[] {
  return [
    'cluster_partition_handling = pause_minority',
    'cluster_formation.peer_discovery_backend = classic_config',
    ...names.map((name, place) => `cluster_formation.classic_config.nodes.${place + 1} = ${name}@localhost`),
  ];
}

/** Erlang requires that only the owner can read it. */
function writeCookie(dir: string, cookie: string, user: ServiceUser | undefined): void {
  const file = join(dir, '.erlang.cookie');
  rmSync(file, { force: true });
  writeFileSync(file, cookie, { mode: 0o400 });
  if (user !== undefined) chownSync(file, user.uid, user.gid);
}

async function startEpmd(
  binaries: RabbitMqBinaries,
  dir: string,
  env: Readonly<Record<string, string>>,
  user: ServiceUser | undefined,
): Promise<ProcessGroup> {
  const port = Number(env['ERL_EPMD_PORT']);
  return startProcessGroup(
    {
      name: `Erlang's port mapper on port ${port}`,
      command: binaries.epmd,
      args: ['-port', `${port}`, '-address', '127.0.0.1'],
      env,
      cwd: dir,
      logFile: join(dir, 'epmd.log'),
      stopDeadlineMs: 2_000,
      ...(user === undefined ? {} : { uid: user.uid, gid: user.gid }),
    },
    { isReady: async () => acceptsTcp(port), deadlineMs: EPMD_DEADLINE_MS, pollIntervalMs: 10 },
  );
}

async function startNode(
  binaries: RabbitMqBinaries,
  options: RabbitMqOptions,
  env: Readonly<Record<string, string>>,
  user: ServiceUser | undefined,
): Promise<ProcessGroup> {
  const logFile = join(options.dir, 'rabbitmq.log');
  const earlierLogBytes = statSync(logFile, { throwIfNoEntry: false })?.size ?? 0;
  return startProcessGroup(
    {
      name: `RabbitMQ on port ${options.port}`,
      command: binaries.server,
      args: [],
      env,
      cwd: options.dir,
      logFile,
      stopDeadlineMs: STOP_DEADLINE_MS,
      ...(user === undefined ? {} : { uid: user.uid, gid: user.gid }),
    },
    {
      isReady: async () =>
        readFileSync(logFile).subarray(earlierLogBytes).includes(STARTED) &&
        (await answersAmqp(options.port)),
      deadlineMs: START_DEADLINE_MS,
      signal: options.signal,
    },
  );
}
